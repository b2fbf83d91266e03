package tool_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// Prompts of parallel calls used to be in the order in which their calls were prepared.
func TestAskInTurnFollowsTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "0", "c": "0"}), &desk{}
		slow := w.gate("prepare edit a")
		x := w.executor()
		x.Ask, x.Policy, x.AskInTurn = d.ask, askAbout, true
		b := begin(t.Context(), x, "edit a 0 1", "edit b 0 1", "edit c 0 1")
		synctest.Wait()
		wantSame(t, "questions while the first call is prepared", nil, d.questions())
		slow()
		for _, name := range []string{"edit a", "edit b", "edit c"} {
			synctest.Wait()
			wantSame(t, "question", name, d.only(t))
			d.yes(t, name)
		}
		wantSame(t, "outcomes", []string{`success: a holds "1"`, `success: b holds "1"`, `success: c holds "1"`}, says(b.Wait()))
	})
}

// An earlier call that needs no approval, fails or is denied doesn't delay a prompt once that is known, and neither does a
// running one.
func TestAskInTurnWaitsOnlyForCallsThatMayAsk(t *testing.T) {
	for name, earlier := range map[string]string{"runs": "read a", "fails": "edit a 7 8", "invalid": "edit", "denied": "edit secret 0 1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, d := newWorld(map[string]string{"a": "0", "b": "0", "secret": "0"}), &desk{}
				open := w.gate("run read a")
				x := w.executor()
				x.Ask, x.AskInTurn = d.ask, true
				x.Policy = func(r tool.Request) tool.Decision {
					if r.Access[0].Target == "secret" {
						return tool.Decision{Reason: "secret"}
					}
					return askAbout(r)
				}
				b := begin(t.Context(), x, earlier, "edit b 0 1")
				synctest.Wait()
				wantSame(t, "question", "edit b", d.only(t))
				d.yes(t, "edit b")
				open()
				wantSame(t, "outcome", `success: b holds "1"`, says(b.Wait())[1])
			})
		})
	}
}

// A rule that the user chose answers the waiting questions: they are not asked.
func TestAskInTurnIsRejudgedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "0", "c": "0"}), &desk{}
		always := false
		x := w.executor()
		x.Ask, x.AskInTurn = d.ask, true
		x.Policy = func(r tool.Request) tool.Decision {
			if always && r.Access[0].Target == "b" {
				return tool.Decision{Verdict: tool.Allow}
			}
			return askAbout(r)
		}
		var told []tool.Stage
		x.Observe = func(e tool.Event) {
			if e.Stage == tool.Asking || e.Stage == tool.Withdrawn {
				told = append(told, e.Stage)
			}
		}
		b := begin(t.Context(), x, "edit a 0 1", "edit b 0 1", "edit c 0 1")
		synctest.Wait()
		always = true
		d.answer(t, d.only(t), tool.Decision{Verdict: tool.Allow, Remember: "edit"})
		synctest.Wait()
		d.no(t, d.only(t))
		wantSame(t, "outcomes", []string{`success: a holds "1"`, `success: b holds "1"`, "denied: Permission denied: edit c: denied by the user. Don't retry it. Ask what they want instead, or continue without it."}, says(b.Wait()))
		asked, gone := d.history()
		wantSame(t, "asked", []string{"edit a", "edit c"}, asked)
		wantSame(t, "withdrawn", nil, gone)
		wantSame(t, "told", []tool.Stage{tool.Asking, tool.Asking}, told)
	})
}

// A running call that asks does not wait for an earlier call, which may wait for it to end.
func TestAskInTurnOfARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		question := tool.Invocation{Description: "which?", Access: []tool.Access{tool.Nothing}, MustAsk: true}
		asking := fake("asking", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing},
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				_, err := l.Ask(ctx, question)
				return tool.TextResult("asked"), err
			},
		})
		slow := w.gate("prepare edit a")
		x := w.executor(asking)
		x.Ask, x.AskInTurn = d.ask, true
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "asking" && !r.MustAsk {
				return tool.Decision{Verdict: tool.Allow}
			}
			return askAbout(r)
		}
		b := begin(t.Context(), x, "edit a 0 1", "asking")
		synctest.Wait()
		wantSame(t, "question", "which?", d.only(t))
		slow()
		synctest.Wait()
		wantSame(t, "question", "which?", d.only(t)) // one at a time
		d.yes(t, "which?")
		synctest.Wait()
		d.yes(t, "edit a")
		wantSame(t, "outcomes", []string{`success: a holds "1"`, "success: asked"}, says(b.Wait()))
	})
}

// A read after a call that is tried runs at the same time. If the trial keeps what was read, it runs again, and its outcome
// is that of the calls one by one. It used to wait for the end of the trial.
func TestReadsAheadOfTrial(t *testing.T) {
	for name, tt := range map[string]struct {
		first, read string
		runs        int
		want        string
	}{
		"no effects":    {"try cat a", "read b", 1, "success: <0>"},
		"other effects": {"try append 1 a", "read b", 1, "success: <0>"},
		"same file":     {"try append 1 b", "read b", 2, "success: <01>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]string{"a": "0", "b": "0"})
				trial := w.gate("copied " + tt.first)
				x := w.trying()
				var around atomic.Int32
				x.Around = func(ctx context.Context, r tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
					if r.Call.Name == "read" {
						around.Add(1)
					}
					return run(ctx)
				}
				b := begin(t.Context(), x, tt.first, tt.read)
				synctest.Wait()
				if !w.did("end " + tt.read) {
					t.Errorf("the read waits for the trial: %q", w.log)
				}
				if around.Load() != 0 {
					t.Error("the read has an outcome before the trial has effects")
				}
				trial()
				wantSame(t, "outcome", tt.want, says(b.Wait())[1])
				wantSame(t, "runs", tt.runs, w.count("run "+tt.read))
				wantSame(t, "calls of Around", 1, int(around.Load()))
			})
		})
	}
}

// A read that still runs when a trial keeps what it reads is stopped: keeping doesn't wait for it.
func TestReadAheadIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		trial, read := w.gate("copied try append 1 a"), w.gate("run read a")
		b := begin(t.Context(), w.trying(), "try append 1 a", "read a")
		synctest.Wait()
		trial()
		synctest.Wait()
		if !w.did("keep try append 1 a") {
			t.Errorf("keeping waits for the read: %q", w.log)
		}
		read()
		wantSame(t, "outcome", "success: <01>", says(b.Wait())[1])
	})
}

// Calls that write, ask or aren't allowed wait for the trial, and a turn that is cancelled ends.
func TestOthersWaitForTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		trial := w.gate("copied try cat a")
		x := w.trying()
		policy := x.Policy
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "read" {
				return tool.Decision{Verdict: tool.Ask}
			}
			return policy(r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := begin(ctx, x, "try cat a", "read b", "write b 1")
		synctest.Wait()
		if w.did("run read b") || w.did("run write b 1") {
			t.Errorf("they don't wait: %q", w.log)
		}
		cancel()
		synctest.Wait()
		trial()
		for _, o := range b.Wait() {
			wantSame(t, o.Name, tool.StatusCancelled, o.Status)
		}
	})
}

// The outcome of a truncated result has the path of the full text, so that it needn't be parsed from the text.
func TestOutcomeHasSavedPaths(t *testing.T) {
	long := strings.Repeat("0123456789\n", 1000)
	for name, tt := range map[string]struct {
		text string
		err  error
		want []string
	}{
		"short":     {"x", nil, nil},
		"long":      {long, nil, []string{"/state/1"}},
		"not saved": {long, errors.New("disk full"), nil},
	} {
		x := budgeted(saying(tool.Text(tt.text)), 500)
		x.Spill = func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{Path: "/state/1"}, tt.err }
		batch := x.Batch(t.Context())
		batch.Add(tool.Call{Name: "say"})
		wantSame(t, name, tt.want, batch.Wait()[0].Saved)
	}
}
