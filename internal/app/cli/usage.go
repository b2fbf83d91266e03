package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// usageRow is what a model used on a day.
type usageRow struct {
	Day      string   `json:"day"`
	Model    string   `json:"model"`
	Requests int      `json:"requests"`
	Input    int      `json:"inputTokens"`
	Cached   int      `json:"cachedTokens"` // of the input
	Output   int      `json:"outputTokens"`
	Cost     *float64 `json:"cost,omitempty"` // in US dollars; nil: the model has no price

	usage model.Usage
}

// runUsage prints what recorded sessions of all directories used, by day and model.
func runUsage(ctx context.Context, env Env, o *options, _ []string) error {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	set, _, err := directory.Settings()
	if err != nil {
		return err
	}
	days := cmp.Or(o.record.days, 30)
	now := time.Now()
	since := time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, time.Local)
	rows := []*usageRow{}
	index := map[[2]string]*usageRow{}
	for s, err := range record.Of(directory).Spent(since) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		key := [2]string{s.At.Local().Format(time.DateOnly), s.Model}
		if index[key] == nil {
			index[key] = &usageRow{Day: key[0], Model: key[1]}
			rows = append(rows, index[key])
		}
		index[key].Requests++
		index[key].usage = index[key].usage.Plus(s.Usage)
	}
	for _, r := range rows {
		r.Input, r.Cached, r.Output = r.usage.Input, r.usage.CacheRead, r.usage.Output
		if p, ok := set.Model.Pricing[r.Model]; ok {
			cost := models.Cost(r.usage, p)
			r.Cost = &cost
		}
	}
	sorted.By(rows, func(a, b *usageRow) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Input+b.Output, a.Input+a.Output),
			cmp.Compare(a.Model, b.Model))
	})
	if o.json {
		return printJSON(env.Stdout, rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "No requests in the last %s.\n", humanize.Count(days, "day"))
		return err
	}
	return usageTable(env.Stdout, rows)
}

// usageTable prints the rows and their total.
func usageTable(out io.Writer, rows []*usageRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DAY\tMODEL\tREQUESTS\tINPUT\tCACHED\tOUTPUT\tCOST")
	total, sum := &usageRow{Day: "total"}, 0.0
	for _, r := range append(rows, total) {
		cost := "–"
		if r.Cost != nil {
			cost = fmt.Sprintf("$%.2f", *r.Cost)
			sum, total.Cost = sum+*r.Cost, &sum
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Day, tool.Visible(r.Model), humanize.Number(r.Requests),
			humanize.Number(r.Input), humanize.Number(r.Cached), humanize.Number(r.Output), cost)
		total.Requests, total.Input = total.Requests+r.Requests, total.Input+r.Input
		total.Cached, total.Output = total.Cached+r.Cached, total.Output+r.Output
	}
	return w.Flush()
}
