package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/tool"
)

// wrapper is an Around that records what it sees.
type wrapper struct {
	mu  sync.Mutex
	log []string
}

func (l *wrapper) note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, s)
}

func (l *wrapper) around(ctx context.Context, r tool.Request, d tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
	l.note("before " + r.Call.By + " " + r.Description + " " + d.Verdict.String())
	o := run(ctx)
	l.note("after " + o.Call.By + " " + o.Name + " " + string(o.Status))
	return o
}

// Around sees every call that runs, with its access and decision, and none that doesn't.
func TestAroundSeesWhatRuns(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	x := w.executor()
	l := &wrapper{}
	x.Around = l.around
	x.Policy = func(r tool.Request) tool.Decision {
		if r.Access[0].Target == "b" {
			return tool.Decision{Reason: "rule"}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	out := begin(t.Context(), x, "edit a 0 1", "write b x", "edit a 9 1", "read a").Wait()
	wantSame(t, "last", "success: <1>", says(out)[3])
	wantSame(t, "log", []string{"before  edit a allow", "after  edit success", "before  read a allow", "after  read success"}, l.log)
}

// The outcome that Around gets is the one that the call ends with: cut, with the notes for the model.
func TestAroundGetsTheWholeOutcome(t *testing.T) {
	f := fake("noted", tool.Think, tool.Invocation{
		Access: []tool.Access{tool.Nothing}, Notes: []string{"one"},
		Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("text"), nil },
	})
	x := newWorld(nil).executor(f)
	var seen tool.Outcome
	x.Around = func(ctx context.Context, _ tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
		seen = run(ctx)
		return seen
	}
	out := begin(t.Context(), x, "noted").Wait()
	wantSame(t, "outcome", out[0], seen)
	wantSame(t, "text", "text\nNote: one", seen.Result.Text())
}

func TestAroundMisbehaves(t *testing.T) {
	type around = func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome
	for name, tt := range map[string]struct {
		around around
		ran    bool
		want   string
	}{
		"it stops the call": {func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
			return tool.Outcome{Status: tool.StatusError, Error: &tool.Failure{Type: tool.ExecutionFailed, Message: "no journal"}}
		}, false, "error: no journal"},
		"it stops the call without a reason": {func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
			return tool.Outcome{Status: tool.StatusError}
		}, false, "error: write a: it was stopped before it ran"},
		"it returns nothing": {func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
			return tool.Outcome{}
		}, false, "error: write a: Around returned no outcome"},
		"it panics before": {func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
			panic("oops")
		}, false, "error: write a: Around failed: oops"},
		"it panics after": {func(ctx context.Context, _ tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
			run(ctx)
			panic("oops")
		}, true, "error: write a: Around failed: oops"},
		"it exits its goroutine": {func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
			runtime.Goexit()
			return tool.Outcome{}
		}, false, "error: write: the call's goroutine exited without an outcome. This is a bug in the tool, a policy or a hook."},
		"it runs the call twice": {func(ctx context.Context, _ tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
			run(ctx)
			return run(ctx)
		}, true, "error: write a: Around can run a call once, before it returns"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "0"})
			x := w.executor()
			x.Limit = 1 // a slot that is lost blocks the next call
			x.Around = tt.around
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			wantSame(t, "outcome", []string{tt.want}, says(begin(ctx, x, "write a 1").Wait()))
			wantSame(t, "ran", tt.ran, w.did("run write a"))
			wantSame(t, "next", []string{tt.want}, says(begin(ctx, x, "write a 1").Wait()))
		})
	}
}

// The run function does nothing after Around has returned.
func TestAroundCannotRunLater(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	x := w.executor()
	var later func(context.Context) tool.Outcome
	x.Around = func(_ context.Context, _ tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
		later = run
		return tool.Outcome{Status: tool.StatusError}
	}
	begin(t.Context(), x, "write a 1").Wait()
	wantSame(t, "later", tool.StatusError, later(t.Context()).Status)
	wantSame(t, "ran", false, w.did("run write a"))
}

// Calls of subagents are wrapped too, and a conflicting call of another agent waits until Around has returned.
func TestAroundOfSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		x := w.executor()
		l := &wrapper{}
		held := make(chan struct{})
		x.Around = func(ctx context.Context, r tool.Request, d tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
			o := l.around(ctx, r, d, run)
			if r.Call.By == "first" {
				<-held
				l.note("returns")
			}
			return o
		}
		first := begin(t.Context(), x.Child(nil, "first", nil), "write a 1")
		synctest.Wait()
		second := begin(t.Context(), x.Child(nil, "second", nil), "write a 2")
		synctest.Wait()
		close(held)
		first.Wait()
		second.Wait()
		wantSame(t, "log", []string{"before first write a allow", "after first write success", "returns",
			"before second write a allow", "after second write success"}, l.log)
	})
}

// A hook's approval answers what the policy asks, and nothing else.
func TestHookApproves(t *testing.T) {
	ask := func(c tool.Cause) tool.Policy {
		return func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask, Cause: c} }
	}
	plan := ask(tool.Cause{Kind: tool.ByMode, Mode: "plan"})
	yes := tool.Decision{Verdict: tool.Allow, Approve: true}
	const denied = "denied: Permission denied: "
	for name, tt := range map[string]struct {
		hook   tool.Decision
		policy tool.Policy
		must   bool
		want   string
	}{
		"a question":           {yes, ask(tool.Cause{Kind: tool.ByMode, Mode: "default"}), false, "success: ok"},
		"a question of a rule": {yes, ask(tool.Cause{Kind: tool.ByRule}), false, "success: ok"},
		"no policy":            {yes, nil, false, "success: ok"},
		"no opinion":           {tool.Decision{Verdict: tool.Allow}, nil, false, denied + "toy: no policy is set. It requires approval, and nobody. Continue without it, or tell the user what you need."},
		"it asks and approves": {tool.Decision{Verdict: tool.Ask, Approve: true}, nil, false, denied + "toy: a hook requires approval. It requires approval, and nobody. Continue without it, or tell the user what you need."},
		"it denies":            {tool.Decision{Approve: true}, nil, false, denied + "toy: denied by a hook. Continue without it, or tell the user what you need."},
		"a denial": {yes, func(tool.Request) tool.Decision { return tool.Decision{Reason: "rule"} }, false,
			denied + "toy: rule. Continue without it, or tell the user what you need."},
		"plan mode": {yes, plan, false, denied + "toy: mode: plan. It requires approval, and nobody. Continue without it, or tell the user what you need."},
		"a subagent in plan mode": {yes, tool.Stricter(ask(tool.Cause{Kind: tool.ByRule}), plan), false,
			denied + "toy: mode: plan. It requires approval, and nobody. Continue without it, or tell the user what you need."},
		"only the user": {yes, func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }, true,
			denied + "toy: only the user can approve this. It requires approval, and nobody. Continue without it, and put your question in your final answer."},
	} {
		t.Run(name, func(t *testing.T) {
			f := fake("toy", tool.Other, tool.Invocation{Description: "toy", MustAsk: tt.must, Run: func(context.Context, *tool.Live) (tool.Result, error) {
				return tool.TextResult("ok"), nil
			}})
			x := &tool.Executor{Registry: tool.NewRegistry(f), Policy: tt.policy}
			x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) { return tt.hook, nil }
			x.Ask = func(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
				return tool.Decision{}, tool.Unapproved(r, why, "nobody")
			}
			wantSame(t, "outcome", []string{tt.want}, says(begin(t.Context(), x, "toy").Wait()))
		})
	}
}

// A call that a hook approved asks like any other during its run.
func TestHookApprovesNoQuestionOfARun(t *testing.T) {
	f := fake("toy", tool.Other, tool.Invocation{Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		_, err := l.Ask(ctx, tool.Invocation{Description: "more", Access: []tool.Access{tool.Anything}})
		if !errors.Is(err, tool.ErrDenied) {
			t.Errorf("asking in a run: %v", err)
		}
		return tool.TextResult("ok"), nil
	}})
	x := &tool.Executor{Registry: tool.NewRegistry(f)}
	x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow, Approve: true}, nil
	}
	wantSame(t, "outcome", []string{"success: ok"}, says(begin(t.Context(), x, "toy").Wait()))
}

// A hook rewrites once, however often the call is prepared.
func TestHookRewrites(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	var hooked atomic.Int32
	x := w.executor()
	x.Before = func(_ context.Context, c tool.Call, d tool.Declaration) (tool.Decision, error) {
		hooked.Add(1)
		if d.Kind != tool.Edit {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		var a editArgs
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return tool.Decision{}, err
		}
		a.New += "!"
		args, err := json.Marshal(a)
		return tool.Decision{Verdict: tool.Allow, Args: args}, err
	}
	out := begin(t.Context(), x, "edit a 0 1", "edit a 1 2", "read a").Wait()
	wantSame(t, "outcomes", []string{
		"success: a holds \"1!\"\nNote: a hook edited this call. New arguments: {\"path\":\"a\",\"old\":\"0\",\"new\":\"1!\"}",
		"success: a holds \"2!!\"\nNote: a hook edited this call. New arguments: {\"path\":\"a\",\"old\":\"1\",\"new\":\"2!\"}",
		"success: <2!!>",
	}, says(out))
	wantSame(t, "hooks run", 3, int(hooked.Load()))
	wantSame(t, "as it ran", `{"path":"a","old":"1","new":"2!"}`, string(out[1].Call.Args))
}

func TestHookMayOnlyTighten(t *testing.T) {
	deny := func(tool.Request) tool.Decision { return tool.Decision{Reason: "rule"} }
	for name, tt := range map[string]struct {
		hook   func() (tool.Decision, error)
		policy tool.Policy
		asked  int
		want   string
	}{
		"its allow grants nothing": {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Allow}, nil }, deny, 0, "denied: Permission denied: read a: rule. Continue without it, or tell the user what you need."},
		"it may have it asked":     {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Ask}, nil }, nil, 1, "success: <0>"},
		"a rule wins over its ask": {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Ask}, nil }, deny, 0, "denied: Permission denied: read a: rule. Continue without it, or tell the user what you need."},
		"it may deny":              {func() (tool.Decision, error) { return tool.Decision{Reason: "not now"}, nil }, nil, 0, "denied: Permission denied: read: denied by a hook: not now. Continue without it, or tell the user what you need."},
		"it fails":                 {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Allow}, errors.New("exit 1") }, nil, 0, "denied: Permission denied: read: exit 1. Continue without it, or tell the user what you need."},
		"it panics":                {func() (tool.Decision, error) { panic("oops") }, nil, 0, "denied: Permission denied: read: the hook failed: oops. Continue without it, or tell the user what you need."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "0"})
			x := w.executor()
			if tt.policy != nil {
				x.Policy = tt.policy
			}
			asked := 0
			x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
				asked++
				return tool.Decision{Verdict: tool.Allow}, nil
			}
			x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) { return tt.hook() }
			wantSame(t, "outcome", []string{tt.want}, says(begin(t.Context(), x, "read a").Wait()))
			wantSame(t, "times asked", tt.asked, asked)
		})
	}
}

func TestNotesAreLastLines(t *testing.T) {
	note := func(content ...tool.Part) *fakeTool {
		return fake("noted", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing}, Notes: []string{"one", "two\nlines"},
			Run: func(context.Context, *tool.Live) (tool.Result, error) {
				var err error
				if len(content) == 0 {
					err = errors.New("failed")
				}
				return tool.Result{Content: content}, err
			},
		})
	}
	for _, tt := range []struct {
		f    *fakeTool
		want []tool.Part
	}{
		{note(tool.Text("text\n")), []tool.Part{tool.Text("text\nNote: one\nNote: two lines")}},
		{note(tool.Media{MIMEType: "image/png"}), []tool.Part{tool.Media{MIMEType: "image/png"}, tool.Text("Note: one\nNote: two lines")}},
		{note(), []tool.Part{tool.Text("failed\nNote: one\nNote: two lines")}},
	} {
		out := begin(t.Context(), newWorld(nil).executor(tt.f), "noted").Wait()
		wantSame(t, fmt.Sprint(tt.want), tt.want, out[0].Result.Content)
	}
}
