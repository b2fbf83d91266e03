// Package spending adds up what models used in recorded sessions: adze usage.
package spending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Row is what a model used on a day.
type Row struct {
	Day      string   `json:"day"`
	Model    string   `json:"model"`
	Requests int      `json:"requests"`
	Input    int      `json:"inputTokens"`
	Cached   int      `json:"cachedTokens"` // of the input
	Output   int      `json:"outputTokens"`
	Cost     *float64 `json:"cost,omitempty"` // in US dollars; nil: the model has no price

	usage model.Usage
}

// Since returns what the sessions of all directories used since the beginning of a day, the last days first. The error
// is about journals that can't be read to their ends; the others count.
func Since(ctx context.Context, directory project.Directory, day time.Time) ([]*Row, error) {
	set, _, err := directory.Settings()
	if err != nil {
		return nil, err
	}
	rows, errs := []*Row{}, []error{}
	index := map[[2]string]*Row{}
	for s, err := range record.Of(directory).Spent(day) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key := [2]string{s.At.Local().Format(time.DateOnly), s.Model}
		if index[key] == nil {
			index[key] = &Row{Day: key[0], Model: key[1]}
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
	sorted.By(rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Input+b.Output, a.Input+a.Output),
			cmp.Compare(a.Model, b.Model))
	})
	return rows, errors.Join(errs...)
}

// Print prints rows as a table, with their total.
func Print(out io.Writer, rows []*Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DAY\tMODEL\tREQUESTS\tINPUT\tCACHED\tOUTPUT\tCOST")
	total, sum := &Row{Day: "total"}, 0.0
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
