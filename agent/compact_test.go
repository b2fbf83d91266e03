package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

// worker is a model that calls look for something new in every turn, and returns a summary on request.
type worker struct {
	turns    int                               // until it is done
	usage    func(model.Request) model.Usage   // nil: it doesn't count
	limit    int                               // bytes of a request from which on it is too long; 0: none
	summary  func(model.Request) []model.Event // nil: a short one
	requests []model.Request
	asked    []model.Request // for summaries
	done     int
}

func (*worker) Name() string { return "worker" }

func (w *worker) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if w.limit > 0 && size(r) > w.limit {
			yield(nil, model.Errorf(model.ErrContextLength, "too long"))
			return
		}
		for _, e := range w.answer(r) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (w *worker) answer(r model.Request) []model.Event {
	var es []model.Event
	if last := r.Messages[len(r.Messages)-1]; strings.HasPrefix(last.Text(), "Your context window is nearly full.") {
		w.asked = append(w.asked, r)
		es = []model.Event{model.Text("Task: look at everything."), call("s", "look", `{"name":"ignored"}`), model.End{Reason: model.Stop}}
		if w.summary != nil {
			es = w.summary(r)
		}
	} else {
		w.requests = append(w.requests, r)
		w.done++
		es = []model.Event{model.Sealed{API: "x", Model: "worker", JSON: json.RawMessage(`"sealed"`)},
			call("", "look", fmt.Sprintf(`{"name":"%d"}`, w.done)), callsEnd}
		if w.done > w.turns {
			es = []model.Event{model.Text("all seen"), model.End{Reason: model.Stop}}
		}
	}
	if w.usage != nil {
		es = slices.Insert(es, len(es)-1, model.Event(w.usage(r)))
	}
	return es
}

// size returns the length of a request, as a server would see it.
func size(r model.Request) int {
	b, err := json.Marshal(r.Messages)
	if err != nil {
		panic(err)
	}
	n := len(b) + len(r.System)
	for _, d := range r.Tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return n
}

func counting(r model.Request) model.Usage { return model.Usage{Input: size(r) / 4, Output: 20} }

// long has a look tool with long results.
type long struct {
	bench
	saved  map[string]string
	events []agent.Event
}

func (l *long) executor(result int) *tool.Executor {
	x := l.bench.executor()
	x.Registry = tool.NewRegistry(l.tool("look", tool.Read, tool.Access{Verb: tool.Reads}, func(_ context.Context, s string) (string, error) {
		return s + " " + strings.Repeat("0123456789 abcd\n", result/16), nil
	}))
	l.saved = map[string]string{}
	x.Spill = func(c tool.Call, text string) (tool.Spilled, error) {
		path := "/spill/" + c.ID
		l.saved[path] = text
		return tool.Spilled{Path: path}, nil
	}
	return x
}

func (l *long) options(m model.Model, result, window int) agent.Options {
	return agent.Options{
		Model: m, Executor: l.executor(result), System: "Work.", Unattended: true,
		Window:  func(string) agent.Window { return agent.Window{Tokens: window, Threshold: 0.85} },
		Observe: func(e agent.Event) { l.events = append(l.events, e) },
	}
}

func compactions(es []agent.Event) []agent.Compacted {
	var out []agent.Compacted
	for _, e := range es {
		if c, ok := e.(agent.Compacted); ok {
			out = append(out, c)
		}
	}
	return out
}

// A long task finishes in a small window, whether or not the server counts tokens, and the task is still in the context.
func TestCompaction(t *testing.T) {
	serial.Test(t)
	for _, tt := range []struct {
		name   string
		result int
		usage  func(model.Request) model.Usage
	}{
		{"small results, counted", 100, counting}, {"small results, estimated", 100, nil},
		{"bulky results, counted", 3000, counting}, {"bulky results, estimated", 3000, nil},
		{"huge results, estimated", 24_000, nil}, {"huge results, counted", 24_000, counting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l long
			w := &worker{turns: 100, usage: tt.usage, limit: 8000 * 4}
			a := agent.New(l.options(w, tt.result, 8000))
			answer, err := a.Run(t.Context(), model.Text("Look at 100 things, please."))
			if err != nil || answer.Text != "all seen" {
				t.Fatalf("%q, %v", answer.Text, err)
			}
			checkHistory(t, a.History())
			if len(compactions(l.events)) == 0 || len(w.asked) == 0 {
				t.Errorf("%d compactions, %d summaries", len(compactions(l.events)), len(w.asked))
			}
			for i, r := range w.requests {
				if text := show(r.Messages[:1]); !strings.Contains(text, "Look at 100 things, please.") {
					t.Fatalf("request %d has lost the task: %s", i, text)
				}
				checkHistory(t, r.Messages)
			}
			if tokens, window := a.Context(); tokens <= 0 || tokens > window || window > 8000 {
				t.Errorf("%d tokens of %d", tokens, window)
			}
		})
	}
}

// First old bulky results become paths, without a request. The remaining messages lose their sealed data.
func TestBulkyResultsBecomePaths(t *testing.T) {
	var l long
	w := &worker{turns: 9}
	a := agent.New(l.options(w, 3000, 8000))
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	cs := compactions(l.events)
	if len(cs) == 0 || cs[0].Summary != "" || cs[0].Results < 2 || cs[0].After*10 > cs[0].Before*9 || cs[0].Err != nil {
		t.Fatalf("compactions %+v", cs)
	}
	if d := cmp.Diff(w.requests[cs[0].Turn-1].Messages, cs[0].Messages); d != "" {
		t.Errorf("the event has other messages than the next request (-request +event):\n%s", d)
	}
	got := show(cs[0].Messages)
	for path, text := range l.saved {
		if !strings.Contains(text, "abcd\n0123456789") || len(text) < 2900 {
			t.Errorf("%s has %q", path, text)
		}
		if !strings.Contains(show(a.History()), "It is saved in "+path+": read it if you need it again.]") {
			t.Errorf("%s is not in the history", path)
		}
	}
	if strings.Contains(got, "sealed") || !strings.Contains(got, "look gives: [Result removed to save context (") {
		t.Errorf("got:\n%s", got)
	}
	if last := cs[0].Messages[len(cs[0].Messages)-1]; !strings.Contains(show([]model.Message{last}), "abcd\n") {
		t.Errorf("the last result was removed: %s", show([]model.Message{last}))
	}
	if want := fmt.Sprintf("replaced %d old results by saved files", cs[0].Results); !strings.Contains(cs[0].String(), want) {
		t.Errorf("line %q", cs[0])
	}
}

// A result that the executor truncated already has a file; one that can't be saved stays as it is.
func TestSavedResults(t *testing.T) {
	for name, broken := range map[string]bool{"truncated before": false, "not saved": true} {
		var l long
		w := &worker{turns: 9}
		o := l.options(w, 40_000, 30_000)
		saves := 0
		o.Executor.Spill = func(tool.Call, string) (tool.Spilled, error) {
			if saves++; broken {
				return tool.Spilled{}, errors.New("disk full")
			}
			return tool.Spilled{Path: fmt.Sprintf("/full/%d", saves)}, nil
		}
		a := agent.New(o)
		if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
			t.Fatal(err)
		}
		cs := compactions(l.events)
		if broken {
			if len(cs) == 0 || cs[0].Results != 0 || cs[0].Summary == "" {
				t.Errorf("%s: %+v", name, cs)
			}
			continue
		}
		if len(cs) == 0 || cs[0].Results == 0 || saves != w.turns || !strings.Contains(show(cs[0].Messages), "It is saved in /full/1: ") {
			t.Errorf("%s: %d saves, %+v", name, saves, cs)
		}
	}
}

// The request for a summary begins like the one before it, so that a server's cache has it. Calls in its answer don't run.
func TestSummaryHasTheSamePrefix(t *testing.T) {
	var l long
	w := &worker{turns: 80}
	a := agent.New(l.options(w, 100, 4000))
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	ask := w.asked[0]
	c := compactions(l.events)[0]
	before := w.requests[c.Turn-2]
	n := len(before.Messages)
	if d := cmp.Diff(before.Messages, ask.Messages[:n]); d != "" || ask.System != before.System || len(ask.Tools) != len(before.Tools) || n < 10 {
		t.Errorf("the start of the request differs: %s", d)
	}
	if i := slices.IndexFunc(l.ran, func(s string) bool { return s == "look ignored" }); i >= 0 {
		t.Error("a call in the summary ran")
	}
	if c.Summary != "Task: look at everything." || c.Usage != (model.Usage{}) || c.After >= c.Before {
		t.Errorf("event %+v", c)
	}
	first := show(c.Messages[:1])
	for _, want := range []string{"This conversation was compacted", "<prompt>\ngo\n</prompt>", "Your summary of the work so far:\nTask: look at everything."} {
		if !strings.Contains(first, want) {
			t.Errorf("lacks %q:\n%s", want, first)
		}
	}
	if len(c.Messages) < 3 || c.Messages[1].Role != model.Assistant || strings.Contains(show(c.Messages), "sealed") {
		t.Errorf("the last turns are gone:\n%s", show(c.Messages))
	}
}

// A later prompt is kept beside the first one.
func TestLatestPromptIsKept(t *testing.T) {
	var l long
	w := &worker{turns: 10}
	a := agent.New(l.options(w, 100, 4000))
	if _, err := a.Run(t.Context(), model.Text("first task")); err != nil {
		t.Fatal(err)
	}
	w.turns = 200
	if _, err := a.Run(t.Context(), model.Text("second task")); err != nil {
		t.Fatal(err)
	}
	cs := compactions(l.events)
	if len(cs) < 3 {
		t.Fatalf("%d compactions", len(cs))
	}
	for _, c := range cs[1:] {
		text := show(c.Messages[:1])
		if !strings.Contains(text, "<prompt>\nfirst task\n</prompt>\n\n<prompt>\nsecond task\n</prompt>") {
			t.Errorf("got %s", text)
		}
	}
}

// A server that rejects the conversation as too long is asked again, once, after a compaction.
func TestContextLengthCompactsOnce(t *testing.T) {
	var l long
	w := &worker{turns: 60, limit: 20_000}
	a := agent.New(l.options(w, 300, 1_000_000)) // the window is wrong
	answer, err := a.Run(t.Context(), model.Text("Look at 60 things, please."))
	if err != nil || answer.Text != "all seen" {
		t.Fatalf("%q, %v", answer.Text, err)
	}
	cs := compactions(l.events)
	if len(cs) == 0 || cs[0].Err != nil || cs[0].Summary == "" {
		t.Fatalf("compactions %+v", cs)
	}
	if !strings.Contains(show(a.History()[:1]), "Look at 60 things, please.") {
		t.Error("the task is lost")
	}

	tiny := &worker{turns: 3, limit: 10}
	l = long{}
	_, err = agent.New(l.options(tiny, 100, 8000)).Run(t.Context(), model.Text("go"))
	if !errors.Is(err, model.ErrContextLength) || !strings.Contains(err.Error(), "nothing to compact yet") || len(compactions(l.events)) != 0 {
		t.Errorf("got %v", err)
	}
}

// One request that was rejected as too long, for whatever reason, doesn't end the session: the next prompt is sent, and
// the window is the model's again. The estimate of that request used to be the window permanently, also after a reset.
func TestOneRejectionIsForgotten(t *testing.T) {
	for name, summary := range map[string][]model.Event{
		"":           nil,
		"no summary": {call("1", "look", `{}`), model.End{Reason: model.Calls}}, // which makes every compaction fail
	} {
		for _, usage := range []func(model.Request) model.Usage{nil, counting} {
			var l long
			w := &worker{usage: usage}
			if summary != nil {
				w.summary = func(model.Request) []model.Event { return summary }
			}
			a := agent.New(l.options(w, 100, 100_000))
			say := func(text string) error {
				w.done = 0
				_, err := a.Run(t.Context(), model.Text(text))
				return err
			}
			if err := say("hello"); err != nil {
				t.Fatal(err)
			}
			w.limit = 10
			if err := say("x"); !errors.Is(err, model.ErrContextLength) || strings.Count(err.Error(), "too long") > 2 {
				t.Errorf("%s: %v", name, err)
			}
			w.limit = 0
			for range 3 {
				if err := say("again"); err != nil {
					t.Errorf("%s: after a rejected prompt: %v", name, err)
				}
			}
			if tokens, window := a.Context(); window != 100_000 || tokens > 10_000 {
				t.Errorf("%s: %d of %d tokens", name, tokens, window)
			}
			w.limit = 10
			_ = say("x")
			w.limit = 0
			a.Reset("", nil)
			if _, window := a.Context(); window != 100_000 {
				t.Errorf("%s: a window of %d after a reset", name, window)
			}
		}
	}
}

// A summary that is empty, refused, truncated or longer than what it replaces loses nothing. Two in a row end the run.
func TestBadSummaryEndsTheRun(t *testing.T) {
	end := func(r model.Reason) model.Event { return model.End{Reason: r} }
	for want, events := range map[string][]model.Event{
		"worker returned an empty summary":                        {end(model.Stop)},
		"worker called tools in place of":                         {call("1", "look", `{}`), end(model.Calls)},
		"worker refused to write a summary":                       {model.Text("I can't"), end(model.Filter)},
		"the summary by worker was truncated at its length limit": {model.Text("Task: l"), end(model.Length)},
		"the summary is longer than what it replaces (":           {model.Text(strings.Repeat("long ", 9000)), end(model.Stop)},
		"response from worker ended early":                        {model.Text("Task")},
	} {
		t.Run(want, func(t *testing.T) {
			var l long
			w := &worker{turns: 300, summary: func(model.Request) []model.Event { return events }}
			a := agent.New(l.options(w, 100, 4000))
			_, err := a.Run(t.Context(), model.Text("go"))
			if !errors.Is(err, agent.ErrContextFull) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			cs := compactions(l.events)
			if len(cs) != 2 || len(w.asked) != 2 && !strings.Contains(want, "called tools") {
				t.Fatalf("%d compactions, %d requests for a summary", len(cs), len(w.asked))
			}
			for _, c := range cs {
				if c.Err == nil || !strings.Contains(c.String(), want) || c.Summary != "" {
					t.Errorf("event %+v", c)
				}
			}
			checkHistory(t, a.History())
			if text := show(a.History()); !strings.HasPrefix(text, "user: go\n") || strings.Count(text, "look gives") != w.done {
				t.Errorf("%d calls, and the history is:\n%s", w.done, text)
			}
		})
	}
}

// A server that counts as many tokens after a compaction as before ends the run.
func TestSummaryThatFreesNothing(t *testing.T) {
	var l long
	w := &worker{turns: 300, usage: func(model.Request) model.Usage { return model.Usage{Input: 7000, Output: 10} }}
	_, err := agent.New(l.options(w, 500, 8000)).Run(t.Context(), model.Text("go"))
	if !errors.Is(err, agent.ErrContextFull) || len(compactions(l.events)) != 2 {
		t.Errorf("after %d turns and %d compactions: %v", w.done, len(compactions(l.events)), err)
	}
}

// Compact writes a summary at any time, unless there is nothing to summarize.
func TestCompactNow(t *testing.T) {
	var l long
	w := &worker{turns: 5}
	a := agent.New(l.options(w, 2000, 1_000_000))
	if _, err := a.Compact(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "nothing to compact yet") {
		t.Errorf("got %v", err)
	}
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	c, err := a.Compact(t.Context(), "")
	if err != nil || c.Summary == "" || len(a.History()) > 5 {
		t.Errorf("%+v, %v", c, err)
	}
	checkHistory(t, a.History())
	w.turns = 7
	if _, err := a.Run(t.Context(), model.Text("more")); err != nil {
		t.Fatal(err)
	}
	checkHistory(t, a.History())
}

// The model for summaries writes them; if it fails, the agent's own does, and the event says so.
func TestSummaryModel(t *testing.T) {
	for name, failure := range map[string]error{"works": nil, "can't be opened": errors.New("no key")} {
		t.Run(name, func(t *testing.T) {
			var l long
			w, other := &worker{turns: 80}, &worker{}
			o := l.options(w, 100, 4000)
			o.Window = func(string) agent.Window {
				return agent.Window{Tokens: 4000, Threshold: 0.85, Summary: func(context.Context) (model.Model, error) { return other, failure }}
			}
			if _, err := agent.New(o).Run(t.Context(), model.Text("go")); err != nil {
				t.Fatal(err)
			}
			c := compactions(l.events)[0]
			if failure == nil && (len(other.asked) == 0 || len(w.asked) > 0 || c.Fallback != nil) {
				t.Errorf("%d and %d summaries, %+v", len(other.asked), len(w.asked), c)
			}
			if failure != nil && (len(w.asked) == 0 || !errors.Is(c.Fallback, failure) || !strings.Contains(c.String(), "no key")) {
				t.Errorf("%d summaries, %v", len(w.asked), c)
			}
		})
	}
}

// A threshold of 0 or 1 disables compaction.
func TestNoThreshold(t *testing.T) {
	for _, threshold := range []float64{0, 1} {
		var l long
		w := &worker{turns: 50}
		o := l.options(w, 1000, 0)
		o.Window = func(string) agent.Window { return agent.Window{Tokens: 2000, Threshold: threshold} }
		if _, err := agent.New(o).Run(t.Context(), model.Text("go")); err != nil || len(compactions(l.events)) > 0 {
			t.Errorf("%v: %v, %d compactions", threshold, err, len(compactions(l.events)))
		}
	}
}

// Subagents compact their conversations too.
func TestSubagentCompacts(t *testing.T) {
	var l long
	w := &worker{turns: 100}
	x := l.executor(300)
	compacted := 0
	crew := agent.NewCrew(agent.CrewOptions{
		Model: w, Executor: x, Turns: 200,
		Window: func(string) agent.Window { return agent.Window{Tokens: 4000, Threshold: 0.85} },
		Observe: func(_ agent.Member, e agent.Event) {
			if c, ok := e.(agent.Compacted); ok && c.Err == nil {
				compacted++
			}
		},
	})
	defer crew.Close()
	result, err := crew.Do(t.Context(), agent.Task{Prompt: "Look at everything."})
	if err != nil || !strings.HasPrefix(result.Text(), "all seen") || compacted == 0 {
		t.Errorf("%q, %v, %d compactions", result.Text(), err, compacted)
	}
}
