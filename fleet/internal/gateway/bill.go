package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/model"
)

type reasonError struct{ Reason }

func (e reasonError) Error() string { return string(e.Reason) }

// bill is the estimated and the actual cost of one request. Costs are in millionths of a US dollar.
type bill struct {
	g *Gateway
	v *guest

	tokens   int64 // reserved
	cost     int64
	minute   string // of the reserved tokens
	reserved bool
	sent     bool

	rest []byte // an incomplete line of the answer
	used model.Usage
	// answered means that the server began an answer. If it is cut off before the usage, everything that was reserved
	// counts.
	answered bool
}

// answerTokens are reserved for the answer if the request has no limit.
const answerTokens = 32_000

// bill returns an upper bound for a request: a token has at least two bytes.
func (g *Gateway) bill(v *guest, body []byte) *bill {
	var limits struct {
		A int `json:"max_tokens"`
		B int `json:"max_completion_tokens"`
		C int `json:"max_output_tokens"`
	}
	_ = json.Unmarshal(body, &limits)
	output := max(limits.A, limits.B, limits.C)
	if output == 0 {
		output = answerTokens
	}
	input := len(body)/2 + 1
	p := v.Upstream.Price
	p.Input = max(p.Input, p.CacheWrite, p.CacheRead)
	cost := models.Cost(model.Usage{Input: input, Output: output}, p)
	return &bill{g: g, v: v, tokens: int64(len(body)/4 + 1), cost: micros(cost)}
}

func micros(dollars float64) int64 { return int64(math.Ceil(dollars * 1e6)) }

// SpentCounter returns the name of the counter of a run's cost so far, in millionths of a US dollar.
func SpentCounter(run string) string { return "spent." + run }

// LimitCounter returns the name of the counter of a run's cost, including the reserved cost of running requests. It doesn't
// exceed the run's limit. Reservations of a killed worker stay in it.
func LimitCounter(run string) string { return "cost." + run }

// TaskCounter returns the name of the counter of a task's cost.
func TaskCounter(run, token string) string { return "task." + run + "." + token }

// reserve takes the request's possible cost from the limits. It waits for the rate limit, and for the cost limit while
// running requests may leave enough.
func (b *bill) reserve(ctx context.Context) error {
	if err := b.reserveCost(ctx); err != nil {
		return err
	}
	if err := b.awaitRate(ctx); err != nil {
		b.settle()
		return err
	}
	return nil
}

// retryTime is the pause before another request to the queue.
const retryTime = 200 * time.Millisecond

func (b *bill) reserveCost(ctx context.Context) error {
	if b.v.TaskCost > 0 {
		spent, err := b.g.counters.Add(ctx, TaskCounter(b.v.Run, b.v.Token), 0)
		if err != nil {
			return err
		}
		if spent+b.cost > micros(b.v.TaskCost) {
			return reasonError{TaskCap}
		}
	}
	var w wait
	for {
		limit, err := b.maxCost(ctx)
		if err != nil {
			return err
		}
		sum, err := b.tryCost(ctx, limit)
		if err != nil || b.reserved {
			return err
		}
		spent, err := b.g.counters.Add(ctx, SpentCounter(b.v.Run), 0)
		switch {
		case err != nil:
			return err
		case b.v.isStopped():
			return reasonError{Stopped}
		case spent+b.cost > limit, w.over(sum, b.g.stuck):
			return reasonError{RunCap}
		}
		if err := sleep(ctx, retryTime); err != nil {
			return err
		}
	}
}

// maxCost returns the limit of the run in millionths of a US dollar. It waits while the queue can't be reached.
func (b *bill) maxCost(ctx context.Context) (int64, error) {
	for {
		limit, err := b.v.MaxCost(ctx)
		if err == nil {
			return micros(limit), nil
		}
		if sleep(ctx, retryTime) != nil {
			return 0, err
		}
	}
}

// tryCost reserves the cost if it is within the limit, and otherwise returns the counter's value.
func (b *bill) tryCost(ctx context.Context, limit int64) (int64, error) {
	if b.cost == 0 {
		b.reserved = true
		return 0, nil
	}
	c, name := b.g.counters, LimitCounter(b.v.Run)
	if limit > 0 { // read first: a request that doesn't fit must not block others that do
		if sum, err := c.Add(ctx, name, 0); err != nil || sum+b.cost > limit {
			return sum, err
		}
	}
	sum, err := c.Add(ctx, name, b.cost)
	if err != nil {
		return 0, err // if it was counted, the run stops a little early
	}
	if limit == 0 || sum <= limit {
		b.reserved = true
		return sum, nil
	}
	return c.Add(ctx, name, -b.cost)
}

// wait is the wait for reservations of other requests.
type wait struct {
	sum   int64
	since time.Time
}

// stuckTime is how long to wait while no reservation changes: those of killed workers never do.
const stuckTime = 2 * time.Minute

// over reports whether the counter hasn't changed for a while.
func (w *wait) over(sum int64, stuck time.Duration) bool {
	if sum != w.sum || w.since.IsZero() {
		w.sum, w.since = sum, time.Now()
	}
	return time.Since(w.since) > stuck
}

// awaitRate waits until the minute has room for the request.
func (b *bill) awaitRate(ctx context.Context) error {
	c, l := b.g.counters, b.g.limits
	for {
		now := c.Now()
		minute := strconv.FormatInt(now.Unix()/60, 10)
		next := now.Truncate(time.Minute).Add(time.Minute).Sub(now)
		if l.Tokens > 0 {
			name := "tokens." + b.v.key + "." + minute
			sum, err := c.Add(ctx, name, b.tokens)
			if err != nil {
				return err
			}
			if sum > l.Tokens && sum > b.tokens { // a request above the limit gets its own minute
				if _, err := c.Add(ctx, name, -b.tokens); err != nil {
					return err
				}
				if err := sleep(ctx, next); err != nil {
					return err
				}
				continue
			}
			b.minute = name
		}
		if l.Requests == 0 {
			return nil
		}
		n, err := c.Add(ctx, "requests."+b.v.key+"."+minute, 1)
		if err != nil || n <= l.Requests {
			return err
		}
		if b.minute != "" {
			if _, err := c.Add(ctx, b.minute, -b.tokens); err != nil {
				return err
			}
			b.minute = ""
		}
		if err := sleep(ctx, next); err != nil {
			return err
		}
	}
}

// settleTime is how long settling may take.
const settleTime = 30 * time.Second

// settle replaces what was reserved by what was used.
func (b *bill) settle() {
	if !b.reserved {
		return
	}
	b.reserved = false
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	cost := micros(models.Cost(b.used, b.v.Upstream.Price))
	if b.answered && b.used == (model.Usage{}) {
		cost = b.cost
	}
	if b.sent {
		b.g.count(b.used, cost)
	}
	if d := cost - b.cost; d != 0 {
		_, _ = b.g.counters.Add(ctx, LimitCounter(b.v.Run), d)
	}
	if cost != 0 {
		_, _ = b.g.counters.Add(ctx, SpentCounter(b.v.Run), cost)
		_, _ = b.g.counters.Add(ctx, TaskCounter(b.v.Run, b.v.Token), cost)
	}
	if d := int64(b.used.Input+b.used.Output) - b.tokens; b.minute != "" && d != 0 {
		_, _ = b.g.counters.Add(ctx, b.minute, d)
	}
}

// maxLine is the maximum length of a line in which the usage is searched.
const maxLine = 16 << 20

// read looks for the usage in a part of an answer: in events, or in one JSON value.
func (b *bill) read(part []byte) {
	if b == nil {
		return
	}
	b.rest = append(b.rest, part...)
	for {
		i := bytes.IndexByte(b.rest, '\n')
		if i < 0 {
			break
		}
		b.line(b.rest[:i])
		b.rest = b.rest[i+1:]
	}
	if len(b.rest) > maxLine {
		b.rest = nil
	}
	if bytes.HasSuffix(bytes.TrimSpace(b.rest), []byte("}")) {
		b.line(b.rest)
	}
}

// counts are the token counts, by the names of the APIs.
type counts struct {
	Prompt       int `json:"prompt_tokens"`
	Completion   int `json:"completion_tokens"`
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWrite   int `json:"cache_creation_input_tokens"`
	PromptCached struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	InputCached struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

func (b *bill) line(line []byte) {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")))
	if !bytes.Contains(line, []byte(`sage`)) {
		return // neither usage nor usageMetadata
	}
	var v struct {
		Usage   *counts `json:"usage"`
		Message struct {
			Usage *counts `json:"usage"`
		} `json:"message"`
		Response struct {
			Usage *counts `json:"usage"`
		} `json:"response"`
		Gemini *struct {
			Prompt   int `json:"promptTokenCount"`
			Answer   int `json:"candidatesTokenCount"`
			Thoughts int `json:"thoughtsTokenCount"`
			Cached   int `json:"cachedContentTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(line, &v) != nil {
		return
	}
	for _, c := range []*counts{v.Usage, v.Message.Usage, v.Response.Usage} {
		if c != nil {
			b.take(*c)
		}
	}
	if u := v.Gemini; u != nil {
		b.used.Input, b.used.Output, b.used.CacheRead = max(b.used.Input, u.Prompt), max(b.used.Output, u.Answer+u.Thoughts), max(b.used.CacheRead, u.Cached)
	}
}

// take keeps the largest counts: a stream repeats them.
func (b *bill) take(c counts) {
	u := &b.used
	u.CacheRead = max(u.CacheRead, c.CacheRead, c.PromptCached.Cached, c.InputCached.Cached)
	u.CacheCreation = max(u.CacheCreation, c.CacheWrite)
	input := c.Input
	if c.CacheRead+c.CacheWrite > 0 { // Anthropic doesn't include these in the input
		input += c.CacheRead + c.CacheWrite
	}
	u.Input = max(u.Input, c.Prompt, input)
	u.Output = max(u.Output, c.Completion, c.Output)
}
