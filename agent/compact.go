package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// errNothingOld reports a conversation without anything that could be compacted.
var errNothingOld = errors.New("nothing to compact yet: the conversation has only its last turn")

// occasion is why a conversation is compacted.
type occasion int

const (
	overThreshold occasion = iota
	rejectedLength
	requested // by the user: a summary is written in any case
)

// maxFutile is how many compactions in a row may free too little.
const maxFutile = 2

// room is the result of the compactions of a conversation.
type room struct {
	futile int   // compactions in a row that freed too little
	cause  error // why the last one failed; nil: it didn't
	open   bool  // the last one isn't judged: the server hasn't counted what it left

	before, after int // tokens; after is an estimate
	input         int // tokens of the last request before it, as the server counted them; 0: unknown
	fixed         int // tokens of system prompt and declarations
}

// freed reports whether a compaction that left this many tokens freed enough: 10 %. If system prompt and declarations
// fill most of the window, a quarter of the rest is enough too, unless the server counts about as much as before.
func (r *room) freed(left int) bool {
	freed := r.before - left
	return freed*10 >= r.before || freed*4 >= r.before-r.fixed && (r.input == 0 || left*50 <= r.input*49)
}

// judge records how many tokens the last compaction left.
func (r *room) judge(left int) {
	switch {
	case !r.open:
		return
	case r.freed(left):
		r.futile = 0
	default:
		r.futile++
	}
	r.open = false
}

// full returns the error for a conversation that can't be compacted further; nil: it can.
func (r *room) full(w Window) error {
	if r.futile < maxFutile {
		return nil
	}
	why := ""
	if r.cause != nil {
		why = ": " + r.cause.Error()
	}
	return fmt.Errorf("%w: %d compactions in a row freed less than 10 %%%s\n"+
		"Use a model with a larger context window (this one: %s tokens), or split the task.", ErrContextFull, r.futile,
		why, humanize.Number(w.Tokens))
}

// window returns the window of the current model, or less if its server rejected a shorter request.
func (a *Agent) window() Window {
	var w Window
	if a.o.Window != nil {
		w = a.o.Window(a.settings().model.Name())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.meter.ceiling; c > 0 && (w.Tokens == 0 || c < w.Tokens) {
		w.Tokens = c
	}
	return w
}

// makeRoom compacts the conversation if the next request would be over the threshold.
func (a *Agent) makeRoom(ctx context.Context, t *turn, out *Answer) error {
	a.mu.Lock()
	a.meter.check(a.current().model.Name(), a.history)
	a.meter.fixed = fixedTokens(a.view.system(a.now.system), t.tools)
	total := a.meter.total()
	a.mu.Unlock()
	w := a.window()
	if limit := w.limit(); limit == 0 || total < limit {
		return nil
	}
	a.room.judge(a.room.after) // if the server doesn't count
	if err := a.full(w); err != nil {
		return err
	}
	if _, err := a.compact(ctx, t.tools, overThreshold, "", out); ctx.Err() != nil {
		return err
	}
	return a.full(w)
}

// full returns the error for a conversation that can't be compacted further. If only a rejected request says that it is
// too long, it is sent: the server decides.
func (a *Agent) full(w Window) error {
	err := a.room.full(w)
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.meter.ceiling == w.Tokens {
		a.meter.forget()
		a.room = room{}
		return nil
	}
	return err
}

// fits checks the limit of a request's tokens. The first request of a conversation is always sent: nothing is counted
// yet.
func (a *Agent) fits() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.o.Limits.Request
	if limit <= 0 || a.meter.counted == 0 && a.turns == 1 || a.meter.total() <= limit {
		return nil
	}
	return fmt.Errorf("the next request has about %s of %s tokens (model.sessionTokenLimit): %w",
		humanize.Number(a.meter.total()), humanize.Number(limit), ErrTokenLimit)
}

// shorten compacts the conversation after the server rejected it as too long. It returns the error to stop with; nil:
// the request can be sent again.
func (a *Agent) shorten(ctx context.Context, t *turn, out *Answer, rejected error) error {
	a.mu.Lock()
	a.meter.reject()
	a.mu.Unlock()
	if _, err := a.compact(ctx, t.tools, rejectedLength, "", out); err != nil {
		if errors.Is(err, model.ErrContextLength) { // it says the same
			return rejected
		}
		return fmt.Errorf("%w\nThe conversation could not be compacted: %v", rejected, err)
	}
	return nil
}

// Compact compacts the conversation now: a summary of the model replaces it, except for the user's prompts and the last
// turns. focus is what the summary must keep; "": nothing in particular. An error leaves the conversation without loss:
// at most, old results were replaced by the paths of files that have them.
func (a *Agent) Compact(ctx context.Context, focus string) (Compacted, error) {
	a.running.Lock()
	defer a.running.Unlock()
	tools, _ := a.view.next(a.dialect())
	var out Answer
	return a.compact(ctx, tools, requested, focus, &out)
}

// Context returns how many tokens the next request has, and how many the model's window; 0: unknown.
func (a *Agent) Context() (tokens, window int) {
	window = a.window().Tokens
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.meter.total(), window
}

// compact replaces old bulky results by the paths of files that have them and, if that isn't enough, everything but the
// last turns by a summary. Its error is in the event too.
func (a *Agent) compact(ctx context.Context, tools []tool.Declaration, why occasion, focus string,
	out *Answer) (Compacted, error) {
	if a.o.Compacting != nil {
		a.o.Compacting(ctx, why == requested)
	}
	old, w := a.History(), a.window()
	r := a.measured()
	cut := recent(old, w.Tokens)
	lean, results := a.withoutBulk(old, cut, w.Tokens)
	c := Compacted{Turn: a.turns, Before: r.before, Results: results}
	var spent Answer
	next, prompts := lean, a.said()
	if why == requested || results == 0 || !a.enough(lean, w) {
		answered := slices.ContainsFunc(old[:cut], func(m model.Message) bool { return m.Role == model.Assistant })
		if !answered && results == 0 {
			return c, errNothingOld
		}
		if answered {
			asked := old
			if why == rejectedLength || w.Tokens > 0 && r.before+w.Tokens/summaryShare > w.Tokens {
				asked = lean
			}
			c.Summary, c.Fallback, c.Err = a.summarize(ctx, w, asked, tools, focus, &spent)
			c.Usage = spent.Usage
			out.Usage, out.ModelTime = out.Usage.Plus(spent.Usage), out.ModelTime+spent.ModelTime
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			if c.Err == nil {
				next, prompts, c.Err = a.summarized(old, lean, cut, c.Summary, w.Tokens)
			}
		}
	}
	if c.Err != nil {
		c.Summary, c.Err = "", fmt.Errorf("compact the conversation: %w", c.Err)
		next, prompts = lean, a.said()
	}
	if c.Err == nil || results > 0 {
		a.replace(next, prompts)
	}
	left := a.measured()
	c.After, c.Messages, c.Prompts = left.before, a.History(), a.said()
	r.after, r.open, r.cause, r.futile = c.After, true, c.Err, a.room.futile
	a.room = r
	if c.Err != nil {
		a.room.judge(r.before)
	} else if !r.freed(c.After) {
		a.room.judge(c.After)
	}
	a.stuck.forget()
	if c.Summary != "" {
		a.view.forget()
	}
	a.tell(c)
	return c, c.Err
}

// measured returns the size of the conversation now.
func (a *Agent) measured() room {
	a.mu.Lock()
	defer a.mu.Unlock()
	return room{before: a.meter.total(), input: a.meter.input, fixed: a.meter.scaled(a.meter.fixed)}
}

// enough reports whether a shorter history leaves room for a while.
func (a *Agent) enough(history []model.Message, w Window) bool {
	limit := w.limit()
	if limit == 0 {
		limit = w.Tokens
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.meter.scaled(a.meter.fixed+EstimateTokens(history))*10 <= limit*7
}

// said returns the user's prompts.
func (a *Agent) said() [][]model.Part {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.prompts)
}

// replace sets the history, and the prompts that count from now on.
func (a *Agent) replace(history []model.Message, prompts [][]model.Part) {
	for i := range history {
		history[i] = unsealed(history[i])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history, a.prompts = history, prompts
	a.meter.restart(history)
	saved := map[string][]string{}
	for _, m := range history {
		for _, c := range m.Calls() {
			if paths := a.saved[c.ID]; paths != nil {
				saved[c.ID] = paths
			}
		}
	}
	a.saved = saved
}

// unsealed returns a message without sealed data, which is valid only after exactly the messages before it.
func unsealed(m model.Message) model.Message {
	isSealed := func(p model.Part) bool { _, ok := p.(model.Sealed); return ok }
	if slices.ContainsFunc(m.Parts, isSealed) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isSealed)
	}
	return m
}
