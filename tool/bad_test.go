package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/tool"
)

// Whatever a tool, a policy, a hook or a front end does, the call has one outcome, and the others continue.
func TestBadTools(t *testing.T) {
	run := func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil }
	prepares := func(kind tool.Kind, p func() (*tool.Invocation, error)) *fakeTool {
		f := fake("bad", kind, tool.Invocation{})
		f.prepare = func(context.Context, json.RawMessage) (*tool.Invocation, error) { return p() }
		return f
	}
	runs := func(r func(context.Context, *tool.Live) (tool.Result, error)) *fakeTool {
		return fake("bad", tool.Think, tool.Invocation{Description: "be bad", Access: []tool.Access{tool.Nothing}, Run: r})
	}
	writes := tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "f"}}, Run: run}
	for name, tt := range map[string]struct {
		bad  *fakeTool
		want string
		kind tool.ErrorType
	}{
		"panic in Prepare": {prepares(tool.Other, func() (*tool.Invocation, error) { panic("oops") }),
			"error: bad: the tool failed while preparing: oops", tool.UnhandledException},
		"goexit in Prepare": {prepares(tool.Other, func() (*tool.Invocation, error) { runtime.Goexit(); return nil, nil }),
			"error: bad: the call's goroutine exited without an outcome. This is a bug in the tool, a policy or a hook.", tool.UnhandledException},
		"nil from Prepare": {prepares(tool.Other, func() (*tool.Invocation, error) { return nil, nil }),
			"error: bad: the tool prepared nothing to run. This is a bug in the tool.", tool.UnhandledException},
		"nil Run": {fake("bad", tool.Think, tool.Invocation{Access: []tool.Access{tool.Nothing}}),
			"error: bad: the tool prepared nothing to run. This is a bug in the tool.", tool.UnhandledException},
		"nil beside an error": {prepares(tool.Other, func() (*tool.Invocation, error) { return nil, fs.ErrNotExist }),
			"error: file does not exist", tool.FileNotFound},
		"a bad parameter that no schema knows": {prepares(tool.Other, func() (*tool.Invocation, error) { return nil, tool.BadParam("n", "must be %s", "even") }),
			"error: bad: n: must be even", tool.InvalidParams},
		"a reader that writes": {fake("bad", tool.Read, writes),
			"error: bad: a tool of kind read that writes f. This is a bug in the tool. Nothing was run.", tool.UnhandledException},
		"a thinker that writes": {fake("bad", tool.Think, writes),
			"error: bad: a tool of kind think that writes f. This is a bug in the tool. Nothing was run.", tool.UnhandledException},
		"panic in Run": {runs(func(context.Context, *tool.Live) (tool.Result, error) { panic(errors.New("oops")) }),
			"error: the tool failed: oops", tool.UnhandledException},
		"nil dereference in Run": {runs(func(_ context.Context, l *tool.Live) (tool.Result, error) { return tool.Result{}, *(*error)(nil) }),
			"error: the tool failed: runtime error: invalid memory address or nil pointer dereference", tool.UnhandledException},
		"goexit in Run": {runs(func(context.Context, *tool.Live) (tool.Result, error) { runtime.Goexit(); return tool.Result{}, nil }),
			"error: the tool exited its goroutine instead of returning", tool.UnhandledException},
		"a result beside an error": {runs(func(context.Context, *tool.Live) (tool.Result, error) {
			return tool.TextResult("half"), tool.Errorf("edit_no_occurrence_found", "edit f: nothing there")
		}), "error: edit f: nothing there\n\nhalf", "edit_no_occurrence_found"},
		"a result that says the error itself": {runs(func(context.Context, *tool.Live) (tool.Result, error) {
			return tool.TextResult("so: no luck"), errors.New("no luck")
		}), "error: so: no luck", tool.ExecutionFailed},
		"no output": {runs(func(context.Context, *tool.Live) (tool.Result, error) { return tool.Result{}, nil }),
			"success: (bad returned no output)", ""},
		"blank output": {runs(func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult(" \n"), nil }),
			"success: (bad returned no output)", ""},
		"refused in Run": {runs(func(context.Context, *tool.Live) (tool.Result, error) { return tool.Result{}, tool.ErrDenied }),
			"denied: permission denied", tool.ExecutionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"f": "0"})
			out := begin(t.Context(), w.executor(tt.bad), "read f", "bad", "edit f 0 1").Wait()
			wantSame(t, "outcomes", []string{"success: <0>", tt.want, `success: f holds "1"`}, says(out))
			var kind tool.ErrorType
			if out[1].Error != nil {
				kind = out[1].Error.Type
			}
			wantSame(t, "type", tt.kind, kind)
		})
	}
}

// A call that fails while preparing asks for no approval, and its error is shown only if the path may be read.
func TestErrorNeedsNoApproval(t *testing.T) {
	f := fake("bad", tool.Other, tool.Invocation{})
	f.prepare = func(context.Context, json.RawMessage) (*tool.Invocation, error) { panic("root:x:0:0") }
	d := &desk{}
	x := &tool.Executor{Registry: tool.NewRegistry(f), Policy: askAbout, Ask: d.ask}
	out := begin(t.Context(), x, "bad").Wait()
	wantSame(t, "outcome", []string{"error: bad: the tool failed while preparing. This is a bug in the tool. Nothing was run."}, says(out))
	asked, _ := d.history()
	wantSame(t, "asked", nil, asked)
}

// Policies, hooks and front ends may end their goroutine too, as a failing test does.
func TestGoexitAround(t *testing.T) {
	const ended = "error: read: the call's goroutine exited without an outcome. This is a bug in the tool, a policy or a hook."
	for name, tt := range map[string]struct {
		x    *tool.Executor
		want string
	}{
		"policy": {&tool.Executor{Policy: func(tool.Request) tool.Decision { runtime.Goexit(); return tool.Decision{} }}, ended},
		"hook": {&tool.Executor{Before: func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) {
			runtime.Goexit()
			return tool.Decision{}, nil
		}}, ended},
		"front end": {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			runtime.Goexit()
			return tool.Decision{}, nil
		}}, "denied: Permission denied: read a: no policy is set. It requires approval, and asking the user failed: no answer. Continue without it, or tell the user what you need."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "0"})
			tt.x.Registry = tool.NewRegistry(w.read())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			wantSame(t, "outcome", []string{tt.want}, says(begin(ctx, tt.x, "read a").Wait()))
		})
	}
}

// An error of Prepare is shown only if its targets may be read.
func TestErrorRevealsNothingDenied(t *testing.T) {
	w := newWorld(map[string]string{"shadow": "root", "mine": "x"})
	x := w.executor()
	x.Policy = func(r tool.Request) tool.Decision {
		for _, a := range r.Access {
			if a.Verb == tool.Reads && a.Target == "shadow" {
				return tool.Decision{Reason: "secret"}
			}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	out := begin(t.Context(), x, "edit shadow root x", "edit shadow nobody x", "read nothing", "edit mine 0 1").Wait()
	if s := says(out); strings.Contains(s[1], "occurs") || out[1].Status != tool.StatusDenied {
		t.Errorf("the edit tells what is in the file: %s", s[1])
	}
	wantSame(t, "other outcomes", []string{"error: read nothing: no such file", "error: edit mine: old occurs 0 times"}, says(out[2:]))

	d := &desk{} // where reading needs approval, so does the error
	synctest.Test(t, func(t *testing.T) {
		x := w.executor()
		x.Ask, x.Policy = d.ask, func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }
		b := begin(t.Context(), x, "edit shadow nobody x")
		synctest.Wait()
		q := d.only(t)
		wantSame(t, "asked for", []tool.Access{{Verb: tool.Reads, Target: "shadow"}, {Verb: tool.Writes, Target: "shadow"}}, d.find(t, q).Access)
		d.no(t, q)
		if s := says(b.Wait())[0]; strings.Contains(s, "occurs") {
			t.Errorf("refused, and told all the same: %s", s)
		}
	})
}

// A denial has the same text whether the call would have succeeded or not: otherwise it would reveal what exists.
func TestDenialRevealsNothing(t *testing.T) {
	w := newWorld(map[string]string{"shadow": "root"})
	x := &tool.Executor{Registry: tool.NewRegistry(tool.Define(tool.Def[struct {
		Old string `json:"old" description:"x"`
	}]{
		Name: "edit", Description: "Edits.", Kind: tool.Edit,
		Prepare: func(_ context.Context, a struct {
			Old string `json:"old" description:"x"`
		}) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "edit shadow", Access: []tool.Access{{Verb: tool.Reads, Target: "shadow"}, {Verb: tool.Writes, Target: "shadow"}}}
			if a.Old != w.snapshot()["shadow"] {
				return inv, errors.New("old is not there")
			}
			inv.Confirm = tool.Markdown(a.Old)
			inv.Run = func(context.Context, *tool.Live) (tool.Result, error) { return tool.Result{}, nil }
			return inv, nil
		},
	}))}
	for _, verdict := range []tool.Verdict{tool.Deny, tool.Ask} {
		x.Policy = func(r tool.Request) tool.Decision {
			reason := ""
			for _, a := range r.Access {
				reason += string(a.Verb) + " "
			}
			return tool.Decision{Verdict: verdict, Reason: reason}
		}
		b := x.Batch(t.Context())
		b.Add(tool.Call{Name: "edit", Args: []byte(`{"old":"root"}`)})
		b.Add(tool.Call{Name: "edit", Args: []byte(`{"old":"nobody"}`)})
		out := says(b.Wait())
		wantSame(t, "refusal of what cannot be done", out[0], out[1])
		var seen [2]string
		for i, old := range []string{"root", "nobody"} {
			r, d, err := x.Preview(t.Context(), tool.Call{Name: "edit", Args: []byte(`{"old":"` + old + `"}`)})
			seen[i] = fmt.Sprint(r.Description, r.Access, r.Confirm, d, err)
		}
		wantSame(t, "preview of what cannot be done", seen[0], seen[1])
	}
}

// The file changes while the user is asked to approve the error: then there is another error, or none.
func TestErrorThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		x := w.executor()
		x.Ask, x.Policy = d.ask, func(r tool.Request) tool.Decision {
			if r.Access[0].Verb == tool.Reads {
				return tool.Decision{Verdict: tool.Ask}
			}
			return tool.Decision{Verdict: tool.Allow}
		}
		b := begin(t.Context(), x, "edit a 1 2")
		synctest.Wait()
		begin(t.Context(), x, "write a 1").Wait()
		synctest.Wait()
		wantSame(t, "outcomes", []string{`success: a holds "2"`}, says(b.Wait()))
	})
}

func TestUnknownAndRefusedCalls(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	b := begin(t.Context(), w.executor(), "raed a", "read a")
	b.Refuse(tool.Found{Call: call("edit a 0 1"), Err: errors.New("x")}, tool.OutputTruncated, "the answer was cut; send the call again")
	b.Add(tool.Call{Name: "read", Args: json.RawMessage(`{"path":`)})
	b.Add(tool.Call{Name: "read", Args: json.RawMessage(`{"pth":1}`)})
	out := b.Wait()
	wantSame(t, "outcomes", []string{
		"error: unknown tool \"raed\"\nDid you mean \"read\"?", "success: <0>", "error: the answer was cut; send the call again",
		"error: read: the arguments are not valid JSON: unexpected end (possibly truncated)\nSend one JSON object.",
		"error: read: 2 invalid parameters:\n- path: is required (a string)\n- pth: unknown parameter. Did you mean \"path\"?",
	}, says(out))
	wantSame(t, "types", []tool.ErrorType{tool.NotRegistered, tool.OutputTruncated, tool.InvalidParams, tool.InvalidParams},
		[]tool.ErrorType{out[0].Error.Type, out[2].Error.Type, out[3].Error.Type, out[4].Error.Type})
	for i, o := range out {
		if o.Call.ID == "" {
			t.Errorf("call %d has no id", i)
		}
	}
	x := &tool.Executor{}
	wantSame(t, "no registry", []string{"error: unknown tool \"read\"\nNo tools are registered."}, says(begin(t.Context(), x, "read a").Wait()))
}

func TestCancelWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		stubborn := make(chan struct{})
		x := w.executor(fake("stubborn", tool.Edit, tool.Invocation{
			Description: "be stubborn", Access: []tool.Access{{Verb: tool.Writes, Target: "b"}},
			Run: func(context.Context, *tool.Live) (tool.Result, error) {
				<-stubborn
				return tool.TextResult("late"), nil
			},
		}))
		w.gate("run edit a")
		ctx, cancel := context.WithCancel(t.Context())
		b := begin(ctx, x, "edit a 0 1", "edit a 1 2", "stubborn")
		synctest.Wait()
		cancel()
		began := time.Now()
		out := b.Wait()
		wantSame(t, "outcomes", []string{
			"cancelled: edit a: cancelled while running", "cancelled: edit: cancelled while waiting for earlier calls",
			"cancelled: be stubborn: cancelled while running. It didn't stop within 5s and may still be running.",
		}, says(out))
		wantSame(t, "waited", 5*time.Second, time.Since(began))

		// It still has its position: no conflicting call runs at the same time.
		b = begin(t.Context(), x, "edit b 0 1", "read a")
		synctest.Wait()
		if w.did("run edit b") || !w.did("run read a") {
			t.Errorf("an edit ran beside a call that did not stop: %q", w.log)
		}
		close(stubborn)
		b.Wait()

		dead, stop := context.WithCancel(t.Context())
		stop()
		wantSame(t, "a cancelled turn", []string{"cancelled: read: cancelled before it started"}, says(begin(dead, x, "read a").Wait()))
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &tool.Executor{Timeout: time.Second, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		x.Registry = tool.NewRegistry(fake("sleep", tool.Think, tool.Invocation{
			Description: "sleep", Access: []tool.Access{tool.Nothing},
			Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				<-ctx.Done()
				return tool.TextResult("half an output"), ctx.Err()
			},
		}))
		out := begin(t.Context(), x, "sleep").Wait()
		wantSame(t, "outcome", []string{"error: sleep: timed out after 1s\n\nhalf an output"}, says(out))
		wantSame(t, "type", tool.ExecutionTimeout, out[0].Error.Type)
		wantSame(t, "duration", time.Second, out[0].Duration)
	})
}
