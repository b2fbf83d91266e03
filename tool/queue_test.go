package tool_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// Prompts of parallel calls came in the order in which their calls were prepared: the second call's came first if it had
// less to look at.
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

// An earlier call that needs no approval, fails or is denied holds up no prompt once that is known, and neither does one
// that runs.
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
