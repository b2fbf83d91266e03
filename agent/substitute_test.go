package agent_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
)

// flaky is a worker that fails from the moment that fail returns an error.
type flaky struct {
	*worker
	name string
	fail func() error
}

func (f flaky) Name() string { return f.name }

func (f flaky) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	if err := f.fail(); err != nil {
		return func(yield func(model.Event, error) bool) { yield(nil, err) }
	}
	return f.worker.Stream(ctx, r)
}

// instead returns a Substitute: other takes over from the first failure on, until back reports that wanted works again.
func instead(other model.Model, back func() bool) func(context.Context, model.Model, model.Model, error) model.Model {
	resting := false
	return func(_ context.Context, wanted, asked model.Model, failed error) model.Model {
		switch {
		case failed != nil && (asked.Name() == other.Name() || errors.Is(failed, model.ErrRejected)):
			return nil
		case failed != nil:
			resting = true
		case back():
			resting = false
		}
		if resting {
			return other
		}
		return wanted
	}
}

// Another model continues where one fails, in a turn and in a compaction: no call runs twice, its smaller window is
// respected before its first request, and the first one is asked again later.
func TestSubstitute(t *testing.T) {
	var l long
	first, second := &worker{turns: 1000}, &worker{turns: 1000}
	down := model.Errorf(model.ErrServer, "status 529")
	broken, works := false, false
	a := flaky{first, "large", func() error {
		if broken = (broken || first.done == 20) && !works; broken {
			return down
		}
		return nil
	}}
	b := flaky{second, "small", func() error { return nil }}
	second.done, second.turns = 1000, 5000 // names of calls are unique
	o := l.options(a, 300, 0)
	o.Window = func(name string) agent.Window {
		return agent.Window{Tokens: map[string]int{"large": 100_000, "small": 2000}[name], Threshold: 0.85}
	}
	o.Substitute = instead(b, func() bool { return works })
	observe := o.Observe
	o.Observe = func(e agent.Event) {
		observe(e)
		if works = works || len(second.requests) >= 30; works && first.done >= 40 {
			first.turns = 0
		}
	}
	run := agent.New(o)
	answer, err := run.Run(t.Context(), model.Text("Look at everything."))
	if err != nil || answer.Text != "all seen" {
		t.Fatalf("%q, %v", answer.Text, err)
	}
	largest := 0
	for _, r := range second.requests {
		largest = max(largest, size(r))
	}
	if largest/4 > 2000 || len(second.requests) < 30 || len(second.asked) == 0 {
		t.Errorf("%d requests and %d for summaries to the second model, the largest has %d bytes", len(second.requests), len(second.asked), largest)
	}
	ran := slices.Clone(l.ran)
	slices.Sort(ran)
	if n := len(ran); len(slices.Compact(ran)) != n || n < 60 {
		t.Errorf("%d calls ran, some twice: %v", n, l.ran)
	}
	checkHistory(t, run.History())
	var models []string
	for _, e := range l.events {
		if e, ok := e.(agent.Answered); ok && e.Err == nil {
			models = append(models, e.Model)
		}
	}
	if got := strings.Join(slices.Compact(models), " "); got != "large small large" {
		t.Errorf("answers of %s", got)
	}
}

// Without another model, or for a request that is invalid, the error ends the run as before.
func TestNoSubstitute(t *testing.T) {
	for _, kind := range []model.Kind{model.ErrRejected, model.ErrServer} {
		var l long
		fail := func() error { return model.Errorf(kind, "no") }
		a, b := flaky{&worker{}, "a", fail}, flaky{&worker{}, "b", fail}
		o := l.options(a, 10, 0)
		o.Substitute = instead(b, func() bool { return false })
		if _, err := agent.New(o).Run(t.Context(), model.Text("go")); !errors.Is(err, kind) {
			t.Errorf("%v: %v", kind, err)
		}
	}
}
