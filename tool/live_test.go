package tool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// sandboxed returns a command that finds in the middle of its Run that it needs more than it was granted.
func sandboxed(w *world, q tool.Invocation) *fakeTool {
	return fake("sandboxed", tool.Execute, tool.Invocation{
		Description: "make", Access: []tool.Access{{Verb: tool.Execs, Target: "make"}},
		Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
			w.at(ctx, "run sandboxed")
			d, err := l.Ask(ctx, q)
			if err != nil {
				return tool.TextResult("half an output"), err
			}
			w.at(ctx, "end sandboxed")
			return tool.TextResult("made " + string(d.Answer)), nil
		},
	})
}

func TestAskInTheMiddleOfRun(t *testing.T) {
	outside := tool.Invocation{Description: "make outside the sandbox", Access: []tool.Access{{Verb: tool.Execs, Target: "make"}}}
	elicit := tool.Invocation{Description: "which one?", Access: []tool.Access{tool.Nothing}, MustAsk: true}
	allow := func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }
	widen := func(v tool.Verdict) tool.Policy { // allows the command itself, and has its say on what comes on top
		return func(r tool.Request) tool.Decision {
			if r.Description == "make" {
				return tool.Decision{Verdict: tool.Allow}
			}
			return tool.Decision{Verdict: v, Reason: "rule"}
		}
	}
	yes := reply{Decision: tool.Decision{Verdict: tool.Allow, Answer: []byte("it")}}
	for name, tt := range map[string]struct {
		q      tool.Invocation
		policy tool.Policy
		reply  *reply
		asked  int
		want   string
	}{
		"yolo is not asked":         {outside, allow, nil, 0, "success: made "},
		"default is asked once":     {outside, widen(tool.Ask), &yes, 1, "success: made it"},
		"no":                        {outside, widen(tool.Ask), &reply{}, 1, "denied: Permission denied: make outside the sandbox: denied by the user. Don't retry it. Ask what they want instead, or continue without it.\n\nhalf an output"},
		"a deny rule holds":         {outside, widen(tool.Deny), nil, 0, "denied: Permission denied: make outside the sandbox: rule. Continue without it, or tell the user what you need.\n\nhalf an output"},
		"headless is refused":       {outside, widen(tool.Ask), nil, 0, "denied: Permission denied: make outside the sandbox: rule. It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need.\n\nhalf an output"},
		"elicitation in yolo":       {elicit, allow, &yes, 1, "success: made it"},
		"the user cancels":          {outside, widen(tool.Ask), &reply{err: context.Canceled}, 1, "denied: make outside the sandbox: cancelled by the user\n\nhalf an output"},
		"the front end has no hand": {outside, widen(tool.Ask), &reply{err: errors.New("gone")}, 1, "denied: Permission denied: make outside the sandbox: rule. It requires approval, and asking the user failed: gone. Continue without it, or tell the user what you need.\n\nhalf an output"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, d := newWorld(nil), &desk{}
				x := w.executor(sandboxed(w, tt.q))
				x.Policy = tt.policy
				if tt.reply != nil {
					x.Ask = d.ask
				}
				b := begin(t.Context(), x, "sandboxed")
				synctest.Wait()
				for _, q := range d.questions() {
					d.find(t, q).reply <- *tt.reply
				}
				wantSame(t, "outcome", []string{tt.want}, says(b.Wait()))
				asked, _ := d.history()
				wantSame(t, "times asked", tt.asked, len(asked))
			})
		})
	}
}

// A tool from outside may not dress up what it asks for as something harmless.
func TestForeignQuestionIsAnything(t *testing.T) {
	w := newWorld(nil)
	f := sandboxed(w, tool.Invocation{Description: "more", Access: []tool.Access{tool.Nothing, {Verb: tool.Reads, Target: "secret"}}})
	f.decl.Origin = "mcp:x"
	x := w.executor()
	if err := x.Registry.Set("mcp:x", []tool.Tool{f}); err != nil {
		t.Fatal(err)
	}
	var judged []tool.Access
	x.Policy = func(r tool.Request) tool.Decision {
		if r.Description == "more" {
			judged = r.Access
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	begin(t.Context(), x, "sandboxed").Wait()
	wantSame(t, "judged as", []tool.Access{tool.Anything}, judged)
}

// While a running call asks, its place is free for others; it takes it again, and only while it runs.
func TestSlotIsFreeWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		question := tool.Invocation{Description: "which?", Access: []tool.Access{tool.Nothing}, MustAsk: true}
		// hasty returns and leaves its question to a goroutine of its own.
		hasty := fake("hasty", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing},
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				asked := make(chan struct{})
				go func() {
					close(asked)
					if _, err := l.Ask(context.WithoutCancel(ctx), question); err != nil {
						t.Error(err)
					}
				}()
				<-asked
				synctest.Wait()
				return tool.TextResult("done"), nil
			},
		})
		asking := fake("asking", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing},
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				_, err := l.Ask(ctx, question)
				return tool.TextResult("asked"), err
			},
		})
		x := w.executor(asking, hasty)
		x.Ask, x.Limit = d.ask, 1
		b := begin(t.Context(), x, "asking", "read a")
		synctest.Wait()
		if !w.did("end read a") {
			t.Error("a question took the only place")
		}
		d.yes(t, "which?")
		wantSame(t, "outcomes", []string{"success: asked", "success: <0>"}, says(b.Wait()))

		b = begin(t.Context(), x, "hasty")
		wantSame(t, "outcomes", []string{"success: done"}, says(b.Wait()))
		d.yes(t, "which?")
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		b = begin(ctx, x, "read a")
		synctest.Wait()
		cancel()
		wantSame(t, "outcomes after the late answer", []string{"success: <0>"}, says(b.Wait()))
	})
}
