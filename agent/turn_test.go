package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

// Every call has its response, in order, whatever its outcome.
func TestOneResponsePerCall(t *testing.T) {
	var b bench
	a, _, answer, err := run(t, &b, agent.Options{},
		says(model.Thought("h"), model.Thought("m"), model.Text("a"), model.Text("b"),
			call("1", "look", `{"name":"x"}`), call("2", "lok", `{}`), call("3", "look", `{"nam`), call("4", "look", `{"nme":"x"}`),
			call("5", "odd", `{"name":"x"}`), call("6", "boom", `{"name":"x"}`), call("7", "look", `{"name":"y"}`),
			model.Usage{Input: 10, Output: 2}, callsEnd),
		says(model.Text("done"), model.Usage{Input: 20, Output: 1}, model.End{Reason: model.Stop}))
	if err != nil {
		t.Fatal(err)
	}
	got := show(a.History())
	for _, want := range []string{
		"user: go\nassistant thinks: hm\nassistant: ab\nassistant calls 1 look {\"name\":\"x\"}\n",
		"\n1 look gives: saw x\n2 lok fails: unknown tool \"lok\"",
		"\n3 look fails: ", "\n4 look fails: ", "\n5 odd fails: ", "odd things are not done here",
		"\n6 boom fails: ", "\n7 look gives: saw y\nassistant: done\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if answer.Text != "done" || answer.Turns != 2 || answer.Reason != model.Stop || answer.Usage != (model.Usage{Input: 30, Output: 3}) {
		t.Errorf("answer %+v", answer)
	}
	if len(answer.Denied) != 1 || answer.Denied[0].Call.ID != "5" {
		t.Errorf("denied %+v", answer.Denied)
	}
}

// A call starts before the model's answer is complete.
func TestCallBeginsAtOnce(t *testing.T) {
	var b bench
	_, _, _, err := run(t, &b, agent.Options{}, func(_ context.Context, say func(...model.Event)) error {
		say(call("1", "look", `{"name":"x"}`))
		select {
		case <-b.looked:
		case <-time.After(time.Minute):
			t.Error("the call waits for the end of the answer")
		}
		say(callsEnd)
		return nil
	}, stop("done"))
	if err != nil {
		t.Fatal(err)
	}
}

// From the first edit on, calls wait for the end of the answer. An edit from a truncated answer never runs.
func TestEditWaitsForTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  model.End
		err  error
		ran  []string
		want string
	}{
		{"whole", callsEnd, nil, []string{"change b", "look a", "look c"},
			"1 look gives: saw a\n2 change gives: changed b\n3 look gives: saw c\n"},
		{"cut", cutEnd, nil, []string{"look a", "look c"},
			"1 look gives: saw a\n2 change fails: change: not executed: your response hit the output token limit, so the arguments may be incomplete. " +
				"Split the change into smaller calls: write the first part with one call and add the rest with further calls.\n3 look gives: saw c\n"},
		{"broken", model.End{}, model.Errorf(model.ErrWire, "broken"), []string{"look a"},
			"1 look gives: saw a\n2 change fails: change: not executed: the connection broke in the middle of your response. Repeat the call if it is still needed.\n" +
				"3 look fails: look: not executed: the connection broke in the middle of your response. Repeat the call if it is still needed.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bench
				a, _, _, err := run(t, &b, agent.Options{}, func(_ context.Context, say func(...model.Event)) error {
					say(call("1", "look", `{"name":"a"}`), call("2", "change", `{"name":"b"}`), call("3", "look", `{"name":"c"}`))
					<-b.looked
					synctest.Wait() // until nothing runs that doesn't wait
					b.mu.Lock()
					if len(b.ran) != 1 {
						t.Errorf("before the end there ran %q", b.ran)
					}
					b.mu.Unlock()
					if tt.err == nil {
						say(tt.end)
					}
					return tt.err
				}, stop("done"))
				if !errors.Is(err, tt.err) {
					t.Errorf("got %v", err)
				}
				slices.Sort(b.ran) // what touches different things may run in any order
				if d := cmp.Diff(tt.ran, b.ran); d != "" {
					t.Errorf("ran (-want +got):\n%s", d)
				}
				if got := show(a.History()[2:3]); got != tt.want {
					t.Errorf("want:\n%sgot:\n%s", tt.want, got)
				}
			})
		})
	}
}

func TestCutArgumentsGetAdvice(t *testing.T) {
	var b bench
	a, _, _, err := run(t, &b, agent.Options{}, says(call("1", "look", `{"name":"x`), cutEnd), stop("done"))
	if got := show(a.History()[2:3]); err != nil || !strings.Contains(got, "\nNote: your response hit the output token limit") {
		t.Errorf("%v: %s", err, got)
	}
}

func TestIDsAreUnique(t *testing.T) {
	var b bench
	again := says(call("call_0", "look", `{"name":"x"}`), call("call_0", "look", `{"name":"y"}`), call("", "look", `{"name":"z"}`), callsEnd)
	a, m, _, err := run(t, &b, agent.Options{History: []model.Message{
		model.Prompt("earlier"),
		{Role: model.Assistant, Parts: []model.Part{call("t00001c01", "look", `{"name":"x"}`)}},
		{Role: model.Tool, Parts: []model.Part{model.Response{ID: "t00001c01", Name: "look", Content: []tool.Part{tool.Text("saw x")}}}},
	}}, again, again, stop("done"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, msg := range a.History() {
		for _, c := range msg.Calls() {
			got = append(got, c.ID)
		}
	}
	want := []string{"t00001c01", "call_0", "t00001c101", "t00001c02", "t00002c00", "t00002c01", "t00002c02"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(b.ran) != 6 || len(m.requests[2].Messages) != 8 {
		t.Errorf("%d calls ran, the last request has %d messages", len(b.ran), len(m.requests[2].Messages))
	}
}

func TestCancelWhileCallsRun(t *testing.T) {
	var b bench
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		says(call("1", "wait", `{"name":"x"}`), call("2", "change", `{"name":"y"}`), callsEnd), stop("never"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: b.executor()})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-b.waiting; cancel() }()
	_, err := a.Run(ctx, model.Text("go"))
	if !errors.Is(err, context.Canceled) || len(m.requests) != 1 {
		t.Errorf("got %v after %d requests", err, len(m.requests))
	}
	checkHistory(t, a.History())
	if got := show(a.History()[2:]); !strings.Contains(got, "1 wait fails: ") {
		t.Error(got)
	}
	// The conversation continues normally.
	if answer, err := a.Run(t.Context(), model.Text("and now?")); answer.Text != "never" || err != nil {
		t.Errorf("%q, %v", answer.Text, err)
	}
}

func TestCancelWhileTheModelTalks(t *testing.T) {
	var b bench
	ctx, cancel := context.WithCancel(t.Context())
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		func(ctx context.Context, say func(...model.Event)) error {
			say(model.Text("half"), call("1", "wait", `{"name":"x"}`), call("2", "change", `{"name":"y"}`))
			cancel()
			<-ctx.Done()
			return ctx.Err()
		},
	}}
	a := agent.New(agent.Options{Model: m, Executor: b.executor()})
	_, err := a.Run(ctx, model.Text("go"))
	checkHistory(t, a.History())
	got := show(a.History())
	if !errors.Is(err, context.Canceled) || !strings.Contains(got, "assistant: half\n") || strings.Contains(got, "changed") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestLimits(t *testing.T) {
	forever := says(call("", "look", `{"name":"x"}`), callsEnd)
	t.Run("turns", func(t *testing.T) {
		var b bench
		_, m, answer, err := run(t, &b, agent.Options{Limits: agent.Limits{Turns: 3}}, forever)
		if !errors.Is(err, agent.ErrTurnLimit) || err.Error() != "stopped after 3 turns: turn limit reached" || len(m.requests) != 3 || answer.Turns != 3 {
			t.Errorf("%v after %d requests", err, len(m.requests))
		}
	})
	t.Run("turns that are enough", func(t *testing.T) {
		var b bench
		if _, _, _, err := run(t, &b, agent.Options{Limits: agent.Limits{Turns: 2}}, forever, stop("done")); err != nil {
			t.Error(err)
		}
	})
	t.Run("time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var b bench
			_, _, answer, err := run(t, &b, agent.Options{Limits: agent.Limits{Wall: time.Minute}}, says(call("", "wait", `{"name":"x"}`), callsEnd))
			if !errors.Is(err, agent.ErrWallTime) || err.Error() != "stopped after 1m0s: time limit reached" || answer.Duration != time.Minute {
				t.Errorf("%v after %v", err, answer.Duration)
			}
		})
	})
}

func TestSameMistakeThreeTimes(t *testing.T) {
	var b bench
	wrong, right := says(call("", "look", `{"nme":"x"}`), callsEnd), says(call("", "look", `{"name":"x"}`), callsEnd)
	a, _, _, err := run(t, &b, agent.Options{}, wrong, wrong, right, wrong, wrong, wrong, stop("done"))
	if err != nil {
		t.Fatal(err)
	}
	var told []bool
	for _, m := range a.History() {
		if m.Role == model.Tool {
			told = append(told, strings.Contains(show([]model.Message{m}), "\nNote: look has failed with this same error several times in a row. Stop retrying"))
		}
	}
	if d := cmp.Diff([]bool{false, false, false, false, false, true}, told); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Sealed data stays in its place: thoughts around it aren't joined. That of a call which the server repeats is kept once.
func TestSealedDataKeepsItsPlace(t *testing.T) {
	seal := func(text string) model.Sealed {
		return model.Sealed{API: "a", Model: "m", JSON: json.RawMessage(text)}
	}
	var b bench
	again := call("1", "look", `{}`)
	a, m, _, err := run(t, &b, agent.Options{Effort: "high", CacheKey: "k"},
		says(model.Thought("a"), model.Thought("b"), seal(`{"s": 1}`), model.Thought("c"), seal("2"), seal("3"),
			model.Text("x"), seal("4"), model.Text("y"), again, seal("5"), again, seal("5"), model.End{Reason: model.Calls}),
		stop("done"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range a.History()[1].Parts {
		switch p := p.(type) {
		case model.Thought:
			got = append(got, "thought "+string(p))
		case model.Text:
			got = append(got, "text "+string(p))
		case model.Call:
			got = append(got, "call "+p.ID)
		case model.Sealed:
			got = append(got, string(p.JSON))
		}
	}
	want := []string{"thought ab", `{"s": 1}`, "thought c", "2", "3", "text x", "4", "text y", "call 1", "5"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r := m.requests[1]; r.Effort != "high" || r.CacheKey != "k" {
		t.Errorf("effort %q, key %q", r.Effort, r.CacheKey)
	}
}

func TestEmptyAnswers(t *testing.T) {
	nothing := says(model.Thought("hm"), model.End{Reason: model.Stop})
	var b bench
	_, m, answer, err := run(t, &b, agent.Options{}, nothing, nothing, stop("at last"))
	if err != nil || answer.Text != "at last" || len(m.requests) != 3 {
		t.Errorf("%q, %v after %d requests", answer.Text, err, len(m.requests))
	}
	_, m, _, err = run(t, &b, agent.Options{}, nothing)
	if !errors.Is(err, agent.ErrEmptyAnswer) || err.Error() != "fake sent 3 empty responses in a row: empty answer" || len(m.requests) != 3 {
		t.Errorf("%v after %d requests", err, len(m.requests))
	}
	_, _, answer, err = run(t, &b, agent.Options{}, says(cutEnd))
	if err != nil || answer.Reason != model.Length {
		t.Errorf("an answer cut before its first word: %v, %v", answer.Reason, err)
	}
	_, m, _, err = run(t, &b, agent.Options{}, says(model.Text("a")))
	if !errors.Is(err, model.ErrCut) || len(m.requests) != 4 {
		t.Errorf("a stream that never has an end: %v after %d requests", err, len(m.requests))
	}
}

func TestEventsInOrder(t *testing.T) {
	var b bench
	var got []string
	observe := func(e agent.Event) {
		switch e := e.(type) {
		case agent.Began:
			got = append(got, "began")
		case agent.Said:
			if s, ok := e.Event.(model.Text); ok {
				got = append(got, "said "+string(s))
			}
		case agent.Called:
			got = append(got, "called "+e.ID)
		case agent.Step:
			got = append(got, string(e.Stage)+" "+e.Request.Call.ID)
		case agent.Answered:
			got = append(got, "answered "+string(e.Reason))
		case agent.Responded:
			got = append(got, "responded "+string(e.Outcomes[0].Status))
		}
	}
	_, _, _, err := run(t, &b, agent.Options{Observe: observe},
		says(model.Text("a"), call("1", "change", `{"name":"x"}`), callsEnd), stop("b"))
	want := []string{"began", "said a", "called 1", "answered calls", "prepared 1", "running 1", "done 1", "responded success", "began", "said b", "answered stop"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestThousandTurnsLeakNothing(t *testing.T) {
	var b bench
	x := b.executor()
	turns := make([]func(context.Context, func(...model.Event)) error, 0, 1001)
	for range 1000 {
		turns = append(turns, says(call("call_0", "look", `{"name":"x"}`), call("call_1", "change", `{"name":"y"}`), callsEnd))
	}
	m := &fakeModel{turns: append(turns, stop("done"))}
	before := runtime.NumGoroutine()
	a := agent.New(agent.Options{Model: m, Executor: x, Observe: func(agent.Event) {}})
	answer, err := a.Run(t.Context(), model.Text("go"))
	if err != nil || answer.Turns != 1001 || len(b.ran) != 2000 {
		t.Errorf("%d turns, %d calls, %v", answer.Turns, len(b.ran), err)
	}
	checkHistory(t, a.History())
	waittest.Until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before+1 })
}

func TestSystemPrompt(t *testing.T) {
	s := agent.SystemPrompt(agent.Surroundings{
		Workspace: "/home/me/app", Platform: "linux", Date: time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), Extra: "Use tabs.",
	})
	for _, want := range []string{"Working directory: /home/me/app. Platform: linux. Date: Tuesday, 3 February 2026.", "\nUse tabs.\n"} {
		if !strings.Contains(s, want) {
			t.Errorf("lacks %q:\n%s", want, s)
		}
	}
	const headless = "\nThis session is non-interactive: no user can answer questions or approve calls.\n"
	if strings.Contains(s, headless) || !strings.Contains(agent.SystemPrompt(agent.Surroundings{NoUser: true}), headless) {
		t.Error("only a session without a user is non-interactive")
	}
	const other = "\nCommands run with powershell, not bash. Write them for powershell.\n"
	if strings.Contains(s, "not bash") || !strings.Contains(agent.SystemPrompt(agent.Surroundings{Shell: "powershell"}), other) {
		t.Error("another shell is named, and bash isn't")
	}
	if len(s) > 2048 || strings.Contains(s, "{{") {
		t.Errorf("%d bytes:\n%s", len(s), s)
	}
}

// Edits of one turn that change what another one needs are rejected together; others run, even if they only fit after
// the edits before them.
func TestOverlappingEdits(t *testing.T) {
	type span struct {
		Start int  `json:"start"`
		End   int  `json:"end"`
		Fails bool `json:"fails,omitempty"`
	}
	var ran sync.Map // by the start
	edit := tool.Define(tool.Def[span]{Name: "edit", Description: "Edits.", Kind: tool.Edit, Dialect: tool.ReplaceDialect,
		Prepare: func(_ context.Context, a span) (*tool.Invocation, error) {
			if _, first := ran.Load(100); a.Fails && !first {
				return &tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/f"}}}, errors.New("not there yet")
			}
			return &tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/f"}},
				Replaces: []tool.Replaced{{Path: "/f", Start: a.Start, End: a.End, Changed: true}, {Path: "/f", Start: a.Start - 5, End: a.End + 5}},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					ran.Store(a.Start, true)
					return tool.TextResult("done"), nil
				}}, nil
		}})
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		says(call("1", "edit", `{"start":10,"end":20}`), call("2", "edit", `{"start":100,"end":110}`),
			call("3", "edit", `{"start":23,"end":30}`), call("4", "edit", `{"start":10,"end":20,"fails":true}`), callsEnd),
		stop("done"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: tool.NewRegistry(edit), Policy: allowed}})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.requests[1].Messages[len(m.requests[1].Messages)-1].Parts {
		r := p.(model.Response)
		got = append(got, r.ID+" "+string(r.Content[0].(tool.Text)))
	}
	const refused = " edit: not executed: it and another edit of this turn change the same text. Make one edit of them."
	if want := []string{"1" + refused, "2 done", "3" + refused, "4 done"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
