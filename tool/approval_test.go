package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// A saved approval answers the other waiting questions.
func TestAlwaysWithdrawsSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "0", "c": "0"}), &desk{}
		var always, judged atomic.Int32
		x := w.executor()
		x.Ask = d.ask
		x.Policy = func(r tool.Request) tool.Decision {
			judged.Add(1)
			if always.Load() == 1 && r.Access[0].Target != "c" {
				return tool.Decision{Verdict: tool.Allow}
			}
			return askAbout(r)
		}
		b := begin(t.Context(), x, "edit a 0 1", "edit b 0 1", "edit c 0 1")
		synctest.Wait()
		wantSame(t, "questions", []string{"edit a", "edit b", "edit c"}, d.questions())
		always.Store(1) // the front end saves the rule, then answers
		d.answer(t, "edit a", tool.Decision{Verdict: tool.Allow, Remember: "edit"})
		synctest.Wait()
		wantSame(t, "questions left", []string{"edit c"}, d.questions())
		_, gone := d.history()
		wantSame(t, "withdrawn", []string{"edit b"}, gone)
		d.no(t, "edit c")
		wantSame(t, "outcomes", []string{
			`success: a holds "1"`, `success: b holds "1"`, "denied: Permission denied: edit c: denied by the user. Don't retry it. Ask what they want instead, or continue without it.",
		}, says(b.Wait()))
		if n := judged.Load(); n > 12 {
			t.Errorf("%d judgments for 3 calls", n)
		}
	})
}

func TestRejudgeRefusesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		x := w.executor()
		x.Ask = d.ask
		x.Policy = func(r tool.Request) tool.Decision {
			if p := w.policy(r); p.Verdict == tool.Deny {
				return p
			}
			return askAbout(r)
		}
		b := begin(t.Context(), x, "edit a 0 1")
		synctest.Wait()
		w.setMode("plan")
		x.Rejudge()
		wantSame(t, "outcomes", []string{"denied: Permission denied: edit a: plan mode. Continue without it, or tell the user what you need."}, says(b.Wait()))
	})
}

// The rules change after a call was judged and before its question is open. It used to stay unanswered.
func TestRejudgeIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		x := w.executor()
		x.Ask = d.ask
		var changed atomic.Bool
		x.Policy = func(r tool.Request) tool.Decision {
			if changed.Swap(true) {
				return tool.Decision{Verdict: tool.Allow}
			}
			x.Rejudge()
			return tool.Decision{Verdict: tool.Ask}
		}
		b := begin(t.Context(), x, "edit a 0 1")
		synctest.Wait()
		wantSame(t, "questions", nil, d.questions())
		for range d.questions() {
			d.no(t, "edit a")
		}
		wantSame(t, "outcomes", []string{`success: a holds "1"`}, says(b.Wait()))
	})
}

// A front end that ignores the context of its question doesn't block the turn.
func TestCancelInsideConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "0"}), &desk{}
		forgetful := make(chan struct{})
		x := w.executor()
		x.Policy = askAbout
		x.Ask = func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
			if r.Description == "edit b" {
				<-forgetful
			}
			return d.ask(ctx, r, why)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := begin(ctx, x, "edit a 0 1", "edit b 0 1", "edit a 1 2", "read b")
		synctest.Wait()
		cancel()
		wantSame(t, "outcomes", []string{
			"cancelled: edit a: cancelled while waiting for approval",
			"cancelled: edit b: cancelled while waiting for approval",
			"cancelled: edit: cancelled while waiting for earlier calls",
			"cancelled: read: cancelled while waiting for earlier calls",
		}, says(b.Wait()))
		close(forgetful)
		wantSame(t, "files", map[string]string{"a": "0", "b": "0"}, w.snapshot())
	})
}

// An approval doesn't apply when a new Prepare shows something else.
func TestQuestionIsAskedAgainWhenItShowsSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0 x", "b": "0"}), &desk{}
		x := w.executor()
		x.Ask, x.Policy = d.ask, func(r tool.Request) tool.Decision {
			if r.Call.Name == "write" { // by another batch, without approval
				return tool.Decision{Verdict: tool.Allow}
			}
			return askAbout(r)
		}
		b := begin(t.Context(), x, "edit a x y")
		synctest.Wait()
		begin(t.Context(), x, "write a 1-x").Wait()
		synctest.Wait()
		asked, gone := d.history()
		wantSame(t, "asked", []string{"edit a", "edit a"}, asked)
		wantSame(t, "withdrawn", []string{"edit a"}, gone)
		wantSame(t, "shown", "1-y", d.find(t, "edit a").Confirm.(tool.FileDiff).New)
		d.yes(t, "edit a")
		wantSame(t, "outcomes", []string{`success: a holds "1-y"`}, says(b.Wait()))
	})
}

// counter returns a tool that always shows the same but changes what it would do, or the reverse.
func counter(n *atomic.Int32, describe func(int32) tool.Invocation) *fakeTool {
	f := fake("count", tool.Edit, tool.Invocation{})
	f.prepare = func(context.Context, json.RawMessage) (*tool.Invocation, error) {
		inv := describe(n.Load())
		inv.Access = []tool.Access{{Verb: tool.Writes, Target: "a"}}
		inv.Run = func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil }
		return &inv, nil
	}
	return f
}

// An approval applies only while a fresh Prepare shows the same, even if only the description is shown.
func TestApprovalAppliesToWhatWasShown(t *testing.T) {
	for name, tt := range map[string]struct {
		describe func(int32) tool.Invocation
		asked    int
	}{
		"the same": {func(int32) tool.Invocation { return tool.Invocation{Description: "count"} }, 1},
		"another diff": {func(n int32) tool.Invocation {
			return tool.Invocation{Description: "count", Confirm: tool.FileDiff{Diff: string('0' + n)}}
		}, 2},
		"another description": {func(n int32) tool.Invocation { return tool.Invocation{Description: "count " + string('0'+n)} }, 2},
		"another form": {func(n int32) tool.Invocation {
			return tool.Invocation{Description: "count", Form: json.RawMessage(string('0' + n))}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				w, d := newWorld(map[string]string{"a": "0"}), &desk{}
				x := w.executor(counter(&n, tt.describe))
				x.Ask, x.Policy = d.ask, func(r tool.Request) tool.Decision {
					if r.Call.Name == "count" {
						return tool.Decision{Verdict: tool.Ask}
					}
					return tool.Decision{Verdict: tool.Allow}
				}
				// Another batch edits the file, so that the approval comes while the call must wait.
				running := w.gate("run edit a")
				other := begin(t.Context(), x, "edit a 0 1")
				synctest.Wait()
				b := begin(t.Context(), x, "count")
				synctest.Wait()
				d.yes(t, d.only(t))
				synctest.Wait()
				n.Store(1)
				running()
				synctest.Wait()
				asked, _ := d.history()
				wantSame(t, "times asked", tt.asked, len(asked))
				if tt.asked == 2 {
					d.yes(t, d.only(t))
				}
				wantSame(t, "outcomes", []string{"success: ran"}, says(b.Wait()))
				other.Wait()
			})
		})
	}
}

func TestPersonEditsArguments(t *testing.T) {
	edited := func(s string) tool.Decision {
		return tool.Decision{Verdict: tool.Allow, Args: json.RawMessage(s)}
	}
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "0", "secret": "0"}), &desk{}
		x := w.executor()
		x.Ask, x.Policy = d.ask, func(r tool.Request) tool.Decision {
			if r.Access[0].Target == "secret" {
				return tool.Decision{Reason: "secret"}
			}
			return askAbout(r)
		}
		ask := func(args string) *tool.Batch {
			b := begin(t.Context(), x, "write a 1")
			synctest.Wait()
			d.answer(t, "write a", edited(args))
			synctest.Wait()
			return b
		}
		b := ask(`{"path":"a","text":"mine"}`) // same access: the yes holds
		out := b.Wait()
		wantSame(t, "outcomes", []string{"success: a holds \"mine\"\nNote: the user edited this call. New arguments: {\"path\":\"a\",\"text\":\"mine\"}"}, says(out))
		wantSame(t, "arguments", `{"path":"a","text":"mine"}`, string(out[0].Call.Args))

		b = ask(`{"path":"b","text":"mine"}`) // another file: another question
		wantSame(t, "questions", []string{"write b"}, d.questions())
		d.no(t, "write b")
		b.Wait()
		wantSame(t, "file", "0", w.snapshot()["b"])

		out = ask(`{"path":"secret","text":"mine"}`).Wait() // a deny rule wins over the user's edit
		wantSame(t, "outcomes", []string{"denied: Permission denied: write secret: secret. Continue without it, or tell the user what you need.\nNote: the user edited this call. New arguments: {\"path\":\"secret\",\"text\":\"mine\"}"}, says(out))
		out = ask(`{"path":3,"text":[]}`).Wait()
		wantSame(t, "status", tool.StatusError, out[0].Status)
		out = ask(`{ "path": "a", "text": "1" }`).Wait() // not an edit
		wantSame(t, "outcomes", []string{`success: a holds "1"`}, says(out))
	})
}

// After the user denies a call, later calls that modify something don't run. Reads continue, and so do calls after a
// failed one.
func TestDenialStopsDependentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"deploy": "old", "b": "0"}), &desk{}
		x := w.executor()
		x.Ask, x.Policy = d.ask, func(r tool.Request) tool.Decision {
			if r.Call.Name == "edit" && r.Access[0].Target == "deploy" {
				return tool.Decision{Verdict: tool.Ask}
			}
			return tool.Decision{Verdict: tool.Allow}
		}
		b := begin(t.Context(), x, "edit deploy old new", "exec echo ran > log", "read deploy", "edit b 0 1")
		synctest.Wait()
		d.no(t, "edit deploy")
		wantSame(t, "outcomes", []string{
			"denied: Permission denied: edit deploy: denied by the user. Don't retry it. Ask what they want instead, or continue without it.",
			"denied: Skipped: exec depends on an earlier call in this turn (edit) that the user denied.",
			"success: <old>", `success: b holds "1"`,
		}, says(b.Wait()))

		b = begin(t.Context(), x, "edit b 7 8", "exec fail", "exec echo ran > log", "edit b 1 2")
		wantSame(t, "outcomes", []string{
			"error: edit b: old occurs 0 times", "error: fail: exit status 1\n\nhalf an output", "success: ok", `success: b holds "2"`,
		}, says(b.Wait()))
	})
}

func TestWhoMayAllow(t *testing.T) {
	allow := func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }
	yes := func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	run := func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil }
	plain := tool.Invocation{Description: "do it", Access: []tool.Access{tool.Nothing}, Run: run}
	must := plain
	must.MustAsk = true
	for name, tt := range map[string]struct {
		x    *tool.Executor
		inv  tool.Invocation
		want string
	}{
		"a nil policy asks":          {&tool.Executor{Ask: yes}, plain, "success: ran"},
		"a nil asker refuses":        {&tool.Executor{}, plain, "denied: Permission denied: do it: no policy is set. It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need."},
		"the zero decision refuses":  {&tool.Executor{Policy: func(tool.Request) tool.Decision { return tool.Decision{} }, Ask: yes}, plain, "denied: Permission denied: do it. Continue without it, or tell the user what you need."},
		"policy may allow":           {&tool.Executor{Policy: allow}, plain, "success: ran"},
		"only a user may allow":      {&tool.Executor{Policy: allow}, must, "denied: Permission denied: do it: only the user can approve this. It requires approval, and this session is non-interactive. Continue without it, and put your question in your final answer."},
		"a user allows":              {&tool.Executor{Policy: allow, Ask: yes}, must, "success: ran"},
		"a panicking policy refuses": {&tool.Executor{Policy: func(tool.Request) tool.Decision { panic("oops") }, Ask: yes}, plain, "denied: Permission denied: do it: the policy failed: oops. Continue without it, or tell the user what you need."},
		"a panicking asker refuses":  {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) { panic("oops") }}, plain, "denied: Permission denied: do it: no policy is set. It requires approval, and asking the user failed: the front end failed: oops. Continue without it, or tell the user what you need."},
		"an asker that fails refuses": {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, errors.New("no tty")
		}}, plain, "denied: Permission denied: do it: no policy is set. It requires approval, and asking the user failed: no tty. Continue without it, or tell the user what you need."},
		"an asker knows who denied": {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, fmt.Errorf("the client: %w", tool.ErrDenied)
		}}, plain, "denied: do it: the client: permission denied"},
		"a user may cancel": {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, context.Canceled
		}}, plain, "cancelled: do it: cancelled by the user"},
		"a yes beside an error is no yes": {&tool.Executor{Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, errors.New("hm")
		}}, plain, "denied: Permission denied: do it: no policy is set. It requires approval, and asking the user failed: hm. Continue without it, or tell the user what you need."},
	} {
		t.Run(name, func(t *testing.T) {
			x := tt.x
			x.Registry = tool.NewRegistry(fake("it", tool.Think, tt.inv))
			wantSame(t, "outcome", []string{tt.want}, says(begin(t.Context(), x, "it").Wait()))
		})
	}
}

// Setting the mode or a rule before the first call used to fix the observer at that time: none, so that a terminal never
// showed a call.
func TestRejudgeBeforeTheObserver(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	x := w.executor()
	x.Rejudge()
	var seen atomic.Int64
	x.Observe = func(tool.Event) { seen.Add(1) }
	begin(t.Context(), x, "read a").Wait()
	if seen.Load() == 0 {
		t.Error("the observer saw nothing")
	}
}
