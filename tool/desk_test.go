package tool_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// desk is a user who answers when the test does.
type desk struct {
	mu    sync.Mutex
	open  []*question
	asked []string // descriptions, in the order they were asked
	gone  []string // withdrawn
}

type question struct {
	tool.Request
	why   tool.Decision
	reply chan reply
}

type reply struct {
	tool.Decision
	err error
}

func (d *desk) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	q := &question{r, why, make(chan reply, 1)}
	d.mu.Lock()
	d.open = append(d.open, q)
	d.asked = append(d.asked, r.Description)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open = slices.DeleteFunc(d.open, func(o *question) bool { return o == q })
	}()
	select {
	case a := <-q.reply:
		return a.Decision, a.err
	case <-ctx.Done():
		d.mu.Lock()
		d.gone = append(d.gone, r.Description)
		d.mu.Unlock()
		return tool.Decision{}, ctx.Err()
	}
}

// questions returns the descriptions of the open ones.
func (d *desk) questions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, q := range d.open {
		out = append(out, q.Description)
	}
	slices.Sort(out)
	return out
}

// only returns the description of the one open question.
func (d *desk) only(t *testing.T) string {
	t.Helper()
	open := d.questions()
	if len(open) != 1 {
		t.Fatalf("open questions: %q", open)
	}
	return open[0]
}

func (d *desk) history() (asked, gone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked), slices.Clone(d.gone)
}

// find gives the open question with this description.
func (d *desk) find(t *testing.T, description string) *question {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.open {
		if q.Description == description {
			return q
		}
	}
	t.Fatalf("nobody asks %q", description)
	return nil
}

func (d *desk) answer(t *testing.T, description string, a tool.Decision) {
	t.Helper()
	d.find(t, description).reply <- reply{Decision: a}
}

func (d *desk) yes(t *testing.T, description string) {
	t.Helper()
	d.answer(t, description, tool.Decision{Verdict: tool.Allow})
}

func (d *desk) no(t *testing.T, description string) {
	t.Helper()
	d.answer(t, description, tool.Decision{Verdict: tool.Deny})
}

// askAbout returns a policy that asks about changes and lets the rest pass.
func askAbout(r tool.Request) tool.Decision {
	for _, a := range r.Access {
		if a.Changes() {
			return tool.Decision{Verdict: tool.Ask, Reason: "it changes something"}
		}
	}
	return tool.Decision{Verdict: tool.Allow}
}

// readOnlyGrant returns a policy that knows which commands only read, and has a sandbox to hold them to it.
func readOnlyGrant(r tool.Request) tool.Decision {
	d := tool.Decision{Verdict: tool.Allow}
	for _, a := range r.Access {
		if a.Verb == tool.Execs && len(a.Target) > 4 && a.Target[:4] == "cat " {
			d.Grant = []tool.Access{{Verb: tool.Reads, Target: "*"}}
		}
	}
	return d
}
