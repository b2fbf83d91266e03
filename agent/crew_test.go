package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// script is a model for several agents: its answer depends on the first words of the conversation and on the number of its
// answers.
type script struct {
	mu       sync.Mutex
	says     map[string][]func(context.Context, func(...model.Event)) error // the last one again and again
	requests []model.Request
}

func (*script) Name() string { return "script" }

func (s *script) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		turns := s.says[r.Messages[0].Text()]
		s.mu.Unlock()
		n := 0
		for _, m := range r.Messages {
			if m.Role == model.Assistant {
				n++
			}
		}
		if len(turns) == 0 {
			yield(nil, fmt.Errorf("nothing is written for %q", r.Messages[0].Text()))
			return
		}
		err := turns[min(n, len(turns)-1)](ctx, func(es ...model.Event) {
			for _, e := range es {
				yield(e, nil)
			}
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// first returns the first request of the conversation that begins with the prompt.
func (s *script) first(t *testing.T, prompt string) model.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Messages[0].Text() == prompt {
			return r
		}
	}
	t.Fatalf("nobody was told %q", prompt)
	return model.Request{}
}

func toolNames(r model.Request) []string {
	var names []string
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return names
}

type delegated struct {
	Prompt     string `json:"prompt" description:"what"`
	Type       string `json:"type,omitempty" description:"who"`
	Background bool   `json:"background,omitempty" description:"when"`
}

// delegate returns the tool that gives tasks to a crew.
func delegate(do func(context.Context, agent.Task) (tool.Result, error)) tool.Tool {
	return tool.Define(tool.Def[delegated]{Name: "task", Description: "Delegates.", Aliases: []string{"agent"},
		Prepare: func(_ context.Context, a delegated) (*tool.Invocation, error) {
			return &tool.Invocation{Description: "task " + a.Prompt, Access: []tool.Access{tool.Nothing},
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					return do(ctx, agent.Task{Description: "to " + a.Prompt, Prompt: a.Prompt, Type: a.Type, Background: a.Background, Live: l})
				}}, nil
		}})
}

func gives(prompts ...string) func(context.Context, func(...model.Event)) error {
	var es []model.Event
	for i, p := range prompts {
		es = append(es, call(fmt.Sprintf("c%d", i), "task", p))
	}
	return says(append(es, callsEnd)...)
}

// office is an agent with a crew.
type office struct {
	bench bench
	model *script
	crew  *agent.Crew
	agent *agent.Agent
	seen  []tool.Event
}

func newOffice(t *testing.T, o agent.CrewOptions, written map[string][]func(context.Context, func(...model.Event)) error) *office {
	t.Helper()
	f := &office{model: &script{says: written}}
	x := f.bench.executor()
	own := tool.Define(tool.Def[thing]{Name: "own", Description: "A toy.", Kind: tool.Think, Personal: true,
		Prepare: func(context.Context, thing) (*tool.Invocation, error) { return &tool.Invocation{}, nil }})
	ts := []tool.Tool{own, delegate(func(ctx context.Context, task agent.Task) (tool.Result, error) { return f.crew.Do(ctx, task) })}
	for _, d := range x.Registry.All() {
		tl, err := x.Registry.Lookup(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, tl)
	}
	x.Registry = tool.NewRegistry(ts...)
	o.Model, o.Executor = f.model, x
	f.crew = agent.NewCrew(o)
	t.Cleanup(f.crew.Close)
	f.agent = agent.New(agent.Options{Model: f.model, Executor: x, News: func(context.Context) []string { return f.crew.News() }, Budget: o.Budget, Observe: func(e agent.Event) {
		if s, ok := e.(agent.Step); ok {
			f.seen = append(f.seen, s.Event)
		}
	}})
	return f
}

func (f *office) run(t *testing.T) (string, agent.Answer, error) {
	t.Helper()
	answer, err := f.agent.Run(t.Context(), model.Text("go"))
	checkHistory(t, f.agent.History())
	return show(f.agent.History()), answer, err
}

type turns = map[string][]func(context.Context, func(...model.Event)) error

// A subagent has its own history and tools; its parent gets its last answer and its usage.
func TestTaskReports(t *testing.T) {
	budget := &agent.Budget{}
	f := newOffice(t, agent.CrewOptions{System: func() string { return "Be good." }, Budget: budget}, turns{
		"go": {gives(`{"prompt":"look around","type":"Explore"}`), stop("done")},
		"look around": {says(model.Text("hm"), call("1", "look", `{"name":"x"}`), call("2", "change", `{"name":"x"}`), model.Usage{Input: 1000, Output: 200}, callsEnd),
			says(model.Text("It is x."), model.Usage{Input: 1500, Output: 34}, model.End{Reason: model.Stop})},
	})
	got, _, err := f.run(t)
	if err != nil {
		t.Fatal(err)
	}
	want := `user: go
assistant calls c0 task {"prompt":"look around","type":"Explore"}
c0 task gives: It is x.

[explore-1: 2 turns, 2 calls, 2,734 tokens; no files edited]
assistant: done
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := f.model.first(t, "look around")
	if d := cmp.Diff([]string{"boom", "look", "odd", "wait"}, toolNames(r)); d != "" { // odd runs things: which of them, policy says
		t.Errorf("tools of explore: %s", d)
	}
	if !strings.HasPrefix(r.System, "Be good.\n\nYou are the subagent explore-1.") || !strings.Contains(r.System, "You are read-only") {
		t.Errorf("it is told %q", r.System)
	}
	var steps []string
	for _, e := range f.seen {
		if e.Stage == tool.Done {
			steps = append(steps, e.Request.Call.By+" "+e.Request.Call.Name+" "+string(e.Outcome.Status))
		}
	}
	slices.Sort(steps)
	if d := cmp.Diff([]string{" task success", "explore-1 change error", "explore-1 look success"}, steps); d != "" {
		t.Errorf("steps: %s", d)
	}
	if turns, usage := budget.Spent(); turns != 4 || usage.Total() != 2734 {
		t.Errorf("spent %d turns, %+v", turns, usage)
	}
}

// The display has the documented format and shows what the subagent does.
func TestTaskDisplay(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go": {gives(`{"prompt":"p"}`), stop("done")},
		"p":  {says(call("1", "look", `{"name":"x"}`), call("2", "odd", `{"name":"x"}`), callsEnd), stop("fine")},
	})
	if _, _, err := f.run(t); err != nil {
		t.Fatal(err)
	}
	var last *tool.Outcome
	shown := 0
	for _, e := range f.seen {
		if e.Stage == tool.Showing {
			shown++
		}
		if e.Stage == tool.Done && e.Request.Call.Name == "task" {
			last = e.Outcome
		}
	}
	if shown == 0 {
		t.Error("nothing was shown while it worked")
	}
	raw, err := json.Marshal(last.Result.Display)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"task_execution","subagentName":"general-purpose","by":"general-purpose-1","taskDescription":"to p","taskPrompt":"p",` +
		`"status":"completed","result":"fine","executionSummary":{"turns":2,"toolCalls":2,"filesChanged":[]},"tokenCount":0,"toolCalls":[` +
		`{"callId":"1","name":"look","status":"success"},{"callId":"2","name":"odd","status":"denied","error":"permission denied: odd x. Odd things are not done here."}]}`
	if d := cmp.Diff(want, string(raw)); d != "" {
		t.Error(d)
	}
	if md := last.Result.Display.Markdown(); !strings.Contains(md, "- odd: denied") || !strings.HasSuffix(md, "\n\nfine") {
		t.Errorf("as Markdown: %s", md)
	}
}

// Subagents run concurrently, and nested up to the limit.
func TestConcurrentAndNestedTasks(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{Depth: 2, Limit: 2}, turns{
		"go":   {gives(`{"prompt":"a"}`, `{"prompt":"b"}`, `{"prompt":"c"}`), stop("done")},
		"a":    {gives(`{"prompt":"deep"}`), stop("A")},
		"b":    {gives(`{"prompt":"deep"}`, `{"prompt":"deep"}`, `{"prompt":"deep"}`), stop("B")},
		"c":    {stop("C")},
		"deep": {gives(`{"prompt":"deeper"}`), stop("D")},
	})
	got, _, err := f.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"c0 task gives: A\n", "c1 task gives: B\n", "c2 task gives: C\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if names := strings.Join(toolNames(f.model.first(t, "deep")), " "); strings.Contains(names, "task") {
		t.Errorf("at the depth limit there is still a task tool: %s", names)
	}
	paths := map[string]bool{}
	for _, e := range f.seen {
		paths[e.Request.Call.By] = true
	}
	deep := 0
	for path := range paths {
		deep += strings.Count(path, "/")
	}
	if deep != 4 { // one below a, three below b
		t.Errorf("steps of %v", paths)
	}
}

// A task that fails, loops, or has an unknown type is an error result; the parent continues.
func TestTaskThatFails(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{Turns: 5}, turns{
		"go":   {gives(`{"prompt":"nobody wrote this"}`, `{"prompt":"loop"}`, `{"prompt":"x","type":"wizard"}`, `{"prompt":"mute"}`), stop("done")},
		"loop": {says(model.Text("still at it"), call("", "look", `{"name":"x"}`), callsEnd)},
		"mute": {says(model.End{Reason: model.Filter})},
	})
	got, answer, err := f.run(t)
	if err != nil || answer.Text != "done" {
		t.Fatal(err, answer)
	}
	for _, want := range []string{
		"c0 task fails: task: subagent general-purpose-", `failed: nothing is written for "nobody wrote this"`,
		"failed: stopped after 5 turns: turn limit reached\n\nstill at it\n\n[general-purpose-", ": 5 turns, 5 calls, ",
		`c2 task fails: task: unknown subagent type "wizard" (expected general-purpose, explore)`,
		`c3 task gives: (the subagent returned no text)` + "\n\n" + `(The report is incomplete: the model stopped with reason "filter".)`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

// All agents share one budget.
func TestOneBudget(t *testing.T) {
	loop := says(call("", "look", `{"name":"x"}`), callsEnd)
	f := newOffice(t, agent.CrewOptions{Budget: &agent.Budget{Turns: 10}}, turns{
		"go": {gives(`{"prompt":"loop"}`, `{"prompt":"loop"}`), stop("done")}, "loop": {loop},
	})
	_, _, err := f.run(t)
	if err == nil || !strings.Contains(err.Error(), "stopped after 10 turns, including subagents") {
		t.Errorf("ended with %v", err)
	}
	if n := len(f.model.requests); n != 10 {
		t.Errorf("the model was asked %d times", n)
	}
}

// The report of a background task is news in a later turn.
func TestBackgroundTask(t *testing.T) {
	release := make(chan struct{})
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go": {gives(`{"prompt":"slow","background":true}`), func(ctx context.Context, say func(...model.Event)) error {
			close(release)
			say(model.Text("meanwhile"), model.End{Reason: model.Stop})
			return nil
		}, stop("I see")},
		"slow": {func(ctx context.Context, say func(...model.Event)) error {
			<-release
			say(model.Text("found it"), model.End{Reason: model.Stop})
			return nil
		}},
	})
	got, _, err := f.run(t)
	if err != nil || !strings.Contains(got, "c0 task gives: Started general-purpose-1 in the background.") {
		t.Fatal(err, got)
	}
	news := f.crew.Await(t.Context())
	if len(news) != 1 || !strings.HasPrefix(news[0], "Background subagent general-purpose-1 (to slow) finished. Report:\n\nfound it\n\n[general-purpose-1: 1 turn,") {
		t.Errorf("news: %q", news)
	}
	if again := f.crew.Await(t.Context()); again != nil {
		t.Errorf("told twice: %q", again)
	}
}

// Closing the crew stops background subagents.
func TestCloseEndsTheBackground(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go":   {gives(`{"prompt":"wait","background":true}`, `{"prompt":"wait","background":true}`), stop("done")},
		"wait": {says(call("1", "wait", `{"name":"x"}`), callsEnd)},
	})
	if _, _, err := f.run(t); err != nil {
		t.Fatal(err)
	}
	<-f.bench.waiting
	<-f.bench.waiting
	start := time.Now()
	f.crew.Close()
	if took := time.Since(start); took > stopTime {
		t.Errorf("it took %v", took)
	}
	for _, n := range f.crew.News() {
		if !strings.Contains(n, "finished: stopped") {
			t.Errorf("news %q", n)
		}
	}
	if got := f.crew.Await(t.Context()); got != nil {
		t.Errorf("someone is left: %q", got)
	}
}

// stopTime bounds the time to stop all subagents. It finds hangs, also on a busy machine.
const stopTime = time.Minute

// Canceling a parent stops every subagent at any depth, during calls and during answers.
func TestCancelEndsEveryChild(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go":   {gives(`{"prompt":"mid"}`, `{"prompt":"mid"}`, `{"prompt":"wait"}`, `{"prompt":"talk"}`), stop("done")},
		"mid":  {gives(`{"prompt":"wait"}`, `{"prompt":"wait"}`), stop("done")},
		"wait": {says(call("1", "wait", `{"name":"x"}`), callsEnd), stop("not reached")},
		"talk": {func(ctx context.Context, say func(...model.Event)) error {
			<-ctx.Done()
			return ctx.Err()
		}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := f.agent.Run(ctx, model.Text("go"))
		ended <- err
	}()
	for range 5 {
		<-f.bench.waiting
	}
	start := time.Now()
	cancel()
	select {
	case err := <-ended:
		if err != context.Canceled {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(stopTime):
		t.Fatal("it continues after its cancellation")
	}
	t.Logf("%v from cancel to end", time.Since(start))
	checkHistory(t, f.agent.History())
}
