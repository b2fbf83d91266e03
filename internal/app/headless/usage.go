package headless

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

type usageRequest struct {
	Range string `json:"range"`
}

// usageInfo reports the tokens of recorded sessions, in the format of Qwen Code's dashboard.
func (h *host) usageInfo(ctx context.Context, r usageRequest) (response, error) {
	now := time.Now()
	since, ok := rangeStart(cmp.Or(r.Range, "today"), now)
	if !ok {
		return nil, errors.New("range: expected today, week, month or all")
	}
	var total used
	models, days, sessions := map[string]*used{}, map[string]*used{}, map[string]bool{}
	for s, err := range record.Of(h.session.Directory).Spent(since) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // the others count
		}
		sessions[s.Session] = true
		total.add(s)
		of(models, s.Model).add(s)
		of(days, s.At.Local().Format(time.DateOnly)).add(s)
	}
	byModel, daily := []any{}, []any{}
	byTotal := func(a, b string) int {
		return cmp.Or(cmp.Compare(models[b].Total(), models[a].Total()), cmp.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(models), byTotal) {
		m := models[name]
		byModel = append(byModel, map[string]any{
			"model": name, "totalTokens": m.Total(), "cacheReadRate": rate(m.CacheRead, m.Input),
			"share": rate(m.Total(), total.Total()),
		})
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		d := days[day]
		daily = append(daily, map[string]any{"date": day, "tokens": d.Total(), "sessions": len(d.sessions)})
	}
	return response{
		"generatedAt": now.UTC().Format(time.RFC3339Nano), "range": cmp.Or(r.Range, "today"),
		"summary": map[string]any{
			"totalTokens": total.Total(), "inputTokens": total.Input, "outputTokens": total.Output,
			"cachedTokens":   total.CacheRead,
			"thoughtsTokens": total.Reasoning, "requests": total.requests, "sessions": len(sessions),
			"toolCalls":     total.calls,
			"cacheReadRate": rate(total.CacheRead, total.Input),
		},
		"models": byModel, "daily": daily, "skills": []any{},
	}, nil
}

// rangeStart returns the start of a range.
func rangeStart(name string, now time.Time) (time.Time, bool) {
	before, ok := map[string]int{"today": 0, "week": 6, "month": 29}[name] // days
	if !ok {
		return time.Time{}, name == "all"
	}
	return time.Date(now.Year(), now.Month(), now.Day()-before, 0, 0, 0, 0, time.Local), true
}

// used is the total of tokens, requests and calls.
type used struct {
	model.Usage
	requests, calls int
	sessions        map[string]bool
}

func (u *used) add(s journal.Spent) {
	u.Usage, u.requests, u.calls = u.Plus(s.Usage), u.requests+1, u.calls+s.Calls
	if u.sessions == nil {
		u.sessions = map[string]bool{}
	}
	u.sessions[s.Session] = true
}

func of(all map[string]*used, key string) *used {
	if all[key] == nil {
		all[key] = &used{}
	}
	return all[key]
}

func rate(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
