package tool_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

func (w *world) trying(deny ...string) *tool.Executor {
	x := w.executor(w.try())
	x.Policy = w.effects(deny...)
	return x
}

// user returns a user with one answer.
func user(d tool.Decision) tool.Asker {
	return func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) { return d, nil }
}

var (
	yes = tool.Decision{Verdict: tool.Allow}
	no  = tool.Decision{Verdict: tool.Deny}
)

// asks has the user approve what changes something.
func asks(w *world, answer tool.Asker) *tool.Executor {
	x := w.trying()
	x.Ask = answer
	x.Policy = func(r tool.Request) tool.Decision {
		d := tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"}}
		switch r.Access[0].Verb {
		case tool.Execs:
			d.Try = true
		case tool.Nothing.Verb:
			d = tool.Decision{Verdict: tool.Allow}
		}
		return d
	}
	return x
}

// trialCase is a call that may be tried, and the expected result.
type trialCase struct {
	x     func(w *world) *tool.Executor
	line  string
	want  string
	file  string
	steps []string
}

var trialCases = map[string]trialCase{
	"no effects": {
		func(w *world) *tool.Executor { return asks(w, nil) }, "try cat a", "success: tried: <0>, kept 0", "0",
		[]string{"trial try cat a", "keep try cat a"},
	},
	"effects that are allowed": {
		func(w *world) *tool.Executor { return w.trying() }, "try append 1 a", "success: tried: ok, kept 1", "01",
		[]string{"trial try append 1 a", "keep try append 1 a"},
	},
	"effects that are denied": {
		func(w *world) *tool.Executor { return w.trying("a") }, "try append 1 a",
		"denied: tried: ok\nThe call ran, but its changes (1 changed file) were discarded. Permission denied: try append 1 a: writes a. Continue without it, or tell the user what you need.", "0",
		[]string{"trial try append 1 a", "drop try append 1 a"},
	},
	"the user keeps": {
		func(w *world) *tool.Executor { return asks(w, user(yes)) }, "try append 1 a", "success: tried: ok, kept 1", "01",
		[]string{"trial try append 1 a", "keep try append 1 a"},
	},
	"the user discards": {
		func(w *world) *tool.Executor { return asks(w, user(no)) }, "try append 1 a",
		"denied: tried: ok\nThe call ran, but the user discarded its changes (1 changed file). Don't retry it. Ask what they want instead, or continue without it.", "0",
		[]string{"trial try append 1 a", "drop try append 1 a"},
	},
	"nobody to ask": {
		func(w *world) *tool.Executor { return asks(w, nil) }, "try append 1 a",
		"denied: tried: ok\nThe call ran, but its changes (1 changed file) were discarded. Permission denied: try append 1 a: mode: default. " +
			"It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need.", "0",
		[]string{"trial try append 1 a", "drop try append 1 a"},
	},
	"the user runs it directly": {
		func(w *world) *tool.Executor { return asks(w, user(tool.Decision{Verdict: tool.Allow, Direct: true})) }, "try append 1 a",
		"success: directly: ok", "01",
		[]string{"trial try append 1 a", "drop try append 1 a", "run try append 1 a"},
	},
	"plan mode": {
		func(w *world) *tool.Executor {
			x := w.trying()
			x.Policy = func(r tool.Request) tool.Decision {
				plan := tool.Cause{Kind: tool.ByMode, Mode: "plan"}
				if r.Access[0] == tool.Nothing {
					return tool.Decision{Verdict: tool.Allow}
				}
				return tool.Decision{Verdict: tool.Deny, Cause: plan, Try: r.Access[0].Verb == tool.Execs}
			}
			return x
		}, "try append 1 a",
		"denied: tried: ok\nThe call ran, but its changes (1 changed file) were discarded. Permission denied: try append 1 a: mode: plan. Only read-only calls are allowed in plan mode. Finish the plan and present it for approval.", "0",
		[]string{"trial try append 1 a", "drop try append 1 a"},
	},
	"a failed command that changed nothing": {
		func(w *world) *tool.Executor { return asks(w, nil) }, "try fail",
		"error: fail: exit status 1\n\ntried: half an output, kept 0", "0", []string{"trial try fail", "keep try fail"},
	},
	"a policy that allows it": {
		func(w *world) *tool.Executor {
			x := w.trying()
			x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow, Try: true} }
			return x
		}, "try append 1 a", "success: directly: ok", "01", []string{"run try append 1 a"},
	},
	"a policy that doesn't let it": {
		func(w *world) *tool.Executor {
			x := w.trying()
			x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }
			x.Ask = user(yes)
			return x
		}, "try append 1 a", "success: directly: ok", "01", []string{"run try append 1 a"},
	},
	"a hook that asks": {
		func(w *world) *tool.Executor {
			x := w.trying()
			x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Ask}, nil
			}
			x.Ask = user(yes)
			return x
		}, "try append 1 a", "success: directly: ok", "01", []string{"run try append 1 a"},
	},
	"a hook that approves": {
		func(w *world) *tool.Executor {
			x := w.trying()
			x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Allow, Approve: true}, nil
			}
			return x
		}, "try append 1 a", "success: directly: ok", "01", []string{"run try append 1 a"},
	},
}

func TestTrial(t *testing.T) {
	for name, tt := range trialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(map[string]string{"a": "0"})
			out := begin(t.Context(), tt.x(w), tt.line).Wait()
			wantSame(t, "outcome", tt.want, says(out)[0])
			wantSame(t, "file", tt.file, w.snapshot()["a"])
			wantSame(t, "steps", tt.steps, w.steps("trial", "keep", "drop", "run"))
		})
	}
}

// Around sees what is kept, with its access, and never a Trial; Tries sees every trial.
func TestAroundSeesNoTrial(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	x := w.trying("b")
	var log []string
	x.Around = func(ctx context.Context, r tool.Request, d tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
		log = append(log, fmt.Sprintf("around %s %v", r.Description, r.Access))
		return run(ctx)
	}
	x.Tries = func(r tool.Request, d tool.Decision) {
		log = append(log, fmt.Sprintf("tries %s %v %v", r.Description, r.Access, d.Verdict))
	}
	for _, line := range []string{"try append 1 a", "try cat a", "try append 1 b"} {
		begin(t.Context(), x, line).Wait()
	}
	wantSame(t, "log", []string{
		"tries try append 1 a [{execs append 1 a}] ask", "around try append 1 a [{writes a}]",
		"tries try cat a [{execs cat a}] ask", "around try cat a [{nothing }]",
		"tries try append 1 b [{execs append 1 b}] ask",
	}, log)
}

// If Around doesn't run the call, the effects are dropped.
func TestAroundStopsKeeping(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	x := w.trying()
	x.Around = func(context.Context, tool.Request, tool.Decision, func(context.Context) tool.Outcome) tool.Outcome {
		return tool.Outcome{Status: tool.StatusError}
	}
	begin(t.Context(), x, "try append 1 a").Wait()
	wantSame(t, "steps", []string{"trial try append 1 a", "drop try append 1 a"}, w.steps("trial", "keep", "drop", "run"))
}

// Two trials of one turn overlap. The second is repeated if the first keeps something.
func TestTrialsOverlap(t *testing.T) {
	for name, tt := range map[string]struct {
		first  string
		trials int
		want   string
	}{
		"no effects": {"try cat a", 1, "success: tried: <0>, kept 0"},
		"effects":    {"try append 1 a", 2, "success: tried: <01>, kept 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]string{"a": "0"})
				first, second := w.gate("copied "+tt.first), w.gate("copied try cat a ")
				x := w.trying()
				b := x.Batch(t.Context())
				b.Add(call(tt.first))
				b.Add(call("try cat a "))
				synctest.Wait()
				if n := len(w.steps("copied")); n != 2 {
					t.Errorf("%d trials run", n)
				}
				first()
				synctest.Wait()
				second()
				wantSame(t, "outcome", tt.want, says(b.Wait())[1])
				wantSame(t, "trials", tt.trials, w.count("trial try cat a "))
			})
		})
	}
}

// A trial overlaps with earlier reads, and with those of other agents.
func TestTrialOverlapsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		read, other, trial := w.gate("run read a"), w.gate("run read b"), w.gate("copied try cat a")
		x := w.trying()
		elsewhere := begin(t.Context(), x.Child(nil, "other", nil), "read b")
		b := begin(t.Context(), x, "read a", "try cat a")
		synctest.Wait()
		if !w.did("copied try cat a") || !w.did("run read a") || !w.did("run read b") {
			t.Errorf("they don't overlap: %q", w.log)
		}
		read()
		other()
		trial()
		wantSame(t, "outcomes", []string{"success: <0>", "success: tried: <0>, kept 0"}, says(b.Wait()))
		elsewhere.Wait()
	})
}

// A writer of another agent that finishes while the user reviews the effects invalidates them: the call is tried again, and
// after that it needs approval without a trial.
func TestTrialIsRepeatedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		writes []string // while the nth question is open
		asked  []string // "effects" or "command"
		file   string
	}{
		"nothing":        {nil, []string{"effects"}, "01"},
		"another file":   {[]string{"write b 1"}, []string{"effects"}, "01"},
		"the same":       {[]string{"write a 5"}, []string{"effects", "effects"}, "51"},
		"the same twice": {[]string{"write a 5", "write a 6"}, []string{"effects", "effects", "command"}, "61"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]string{"a": "0"})
				x := w.trying()
				allowed := x.Policy
				x.Policy = func(r tool.Request) tool.Decision {
					d := allowed(r)
					if r.Call.Name == "try" && r.Access[0].Verb == tool.Writes {
						d = tool.Decision{Verdict: tool.Ask}
					}
					return d
				}
				var asked []string
				x.Ask = func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
					kind := "effects"
					if _, ok := r.Confirm.(tool.Command); ok {
						kind = "command"
						if !strings.Contains(why.Reason, "changed files while it was tried, 2 times") {
							t.Errorf("the reason is %q", why.Reason)
						}
					}
					n := len(asked)
					asked = append(asked, kind)
					if n < len(tt.writes) {
						begin(t.Context(), x.Child(nil, fmt.Sprint("other", n), nil), tt.writes[n]).Wait()
						if n+1 < len(tt.asked) {
							<-ctx.Done() // it is withdrawn; the next question may come first, and waits too
						} else {
							synctest.Wait()
						}
					}
					return yes, ctx.Err()
				}
				out := begin(t.Context(), x, "try append 1 a").Wait()
				wantSame(t, "status", tool.StatusSuccess, out[0].Status)
				wantSame(t, "asked", tt.asked, asked)
				wantSame(t, "file", tt.file, w.snapshot()["a"])
				wantSame(t, "trials", min(len(tt.asked), 2), w.count("trial try append 1 a"))
				wantSame(t, "kept or run", 1, len(w.steps("keep"))+len(w.steps("run"))-len(tt.writes)*boolean(len(tt.writes) > 0))
			})
		})
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A call whose trial can't be made needs approval like one without a trial, and the question says why.
func TestTrialFails(t *testing.T) {
	type trial = func(context.Context, *tool.Live) (*tool.Tried, error)
	const asked = "success: ran after it can't be tried first: no overlay"
	for name, tt := range map[string]struct {
		trial trial
		want  string
	}{
		"it can't be made":   {func(context.Context, *tool.Live) (*tool.Tried, error) { return nil, errors.New("no overlay") }, asked},
		"it panics":          {func(context.Context, *tool.Live) (*tool.Tried, error) { panic("oops") }, "error: the tool failed: oops"},
		"it returns nothing": {func(context.Context, *tool.Live) (*tool.Tried, error) { return nil, nil }, "error: the tool's trial returned nothing. This is a bug in the tool."},
		"it has nothing to run": {func(context.Context, *tool.Live) (*tool.Tried, error) { return &tool.Tried{}, nil },
			"error: toy: the tool prepared nothing to run. This is a bug in the tool."},
		"it asks": {func(ctx context.Context, l *tool.Live) (*tool.Tried, error) {
			_, err := l.Ask(ctx, tool.Invocation{Description: "more", Access: []tool.Access{tool.Nothing}})
			if !errors.Is(err, tool.ErrDenied) {
				return nil, errors.New("it was allowed")
			}
			return nil, errors.New("no overlay")
		}, asked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := ""
			f := fake("toy", tool.Execute, tool.Invocation{
				Access: []tool.Access{{Verb: tool.Execs, Target: "x"}}, Trial: tt.trial,
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult("ran after " + why), nil
				},
			})
			x := &tool.Executor{Registry: tool.NewRegistry(f), Limit: 1}
			x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask, Try: true} }
			x.Ask = func(_ context.Context, _ tool.Request, d tool.Decision) (tool.Decision, error) {
				why = d.Reason
				return yes, nil
			}
			wantSame(t, "outcome", []string{tt.want}, says(begin(t.Context(), x, "toy").Wait()))
		})
	}
}

// What is asked with MustAsk is never tried, and effects with MustAsk are never kept without the user.
func TestTrialAndMustAsk(t *testing.T) {
	for _, must := range []bool{true, false} {
		tried, asked := 0, 0
		f := fake("toy", tool.Execute, tool.Invocation{
			Access: []tool.Access{{Verb: tool.Execs, Target: "x"}}, MustAsk: must,
			Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil },
			Trial: func(context.Context, *tool.Live) (*tool.Tried, error) {
				tried++
				return &tool.Tried{
					Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}}, MustAsk: true,
						Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("kept"), nil }},
				}, nil
			},
		})
		x := &tool.Executor{Registry: tool.NewRegistry(f)}
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Access[0].Verb == tool.Writes {
				return yes
			}
			return tool.Decision{Verdict: tool.Ask, Try: true}
		}
		x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			asked++
			return yes, nil
		}
		out := begin(t.Context(), x, "toy").Wait()
		wantSame(t, "asked", 1, asked)
		if must {
			wantSame(t, "outcome", []string{"success: ran"}, says(out))
			wantSame(t, "tried", 0, tried)
			continue
		}
		wantSame(t, "outcome", []string{"success: kept"}, says(out))
	}
}

// Executor.Timeout applies to a trial, and what it did until then is kept only with the user.
func TestTrialTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		partial, asked := false, 0
		f := fake("toy", tool.Execute, tool.Invocation{
			Access: []tool.Access{{Verb: tool.Execs, Target: "x"}},
			Run:    func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil },
			Trial: func(ctx context.Context, l *tool.Live) (*tool.Tried, error) {
				l.Show(tool.Literal("so far"))
				<-ctx.Done()
				if !partial {
					return nil, ctx.Err()
				}
				return &tool.Tried{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}},
					Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("kept"), nil }}}, nil
			},
		})
		x := &tool.Executor{Registry: tool.NewRegistry(f), Timeout: time.Second}
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Access[0].Verb == tool.Writes {
				return yes
			}
			return tool.Decision{Verdict: tool.Ask, Try: true}
		}
		x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			asked++
			return yes, nil
		}
		var shown []tool.Stage
		x.Observe = func(e tool.Event) { shown = append(shown, e.Stage) }
		wantSame(t, "outcome", []string{"error: toy: timed out after 1s"}, says(begin(t.Context(), x, "toy").Wait()))
		wantSame(t, "stages", []tool.Stage{tool.Prepared, tool.Trying, tool.Showing, tool.Done}, shown)
		partial = true
		wantSame(t, "outcome", []string{"success: kept"}, says(begin(t.Context(), x, "toy").Wait()))
		wantSame(t, "asked", 1, asked)
	})
}

// A trial that is cancelled, or that ignores it, keeps nothing.
func TestTrialIsCancelled(t *testing.T) {
	for _, ignoresCancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "0"})
			dropped := make(chan struct{})
			f := fake("toy", tool.Execute, tool.Invocation{
				Access: []tool.Access{{Verb: tool.Execs, Target: "x"}}, Run: w.runs("toy"),
				Trial: func(ctx context.Context, l *tool.Live) (*tool.Tried, error) {
					<-ctx.Done()
					if ignoresCancel {
						time.Sleep(time.Hour)
					}
					return &tool.Tried{Invocation: tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: w.runs("keep")},
						Drop: func() tool.Result { close(dropped); return tool.TextResult("half") }}, nil
				},
			})
			x := w.executor(f)
			x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask, Try: true} }
			ctx, cancel := context.WithCancel(t.Context())
			b := begin(ctx, x, "toy")
			synctest.Wait()
			cancel()
			out := b.Wait()
			wantSame(t, "status", tool.StatusCancelled, out[0].Status)
			<-dropped
			wantSame(t, "steps", nil, w.steps("run"))
		})
	}
}

// Stricter lets a call be tried only where both policies do, or allow it.
func TestStricterTries(t *testing.T) {
	of := func(v tool.Verdict, try bool) tool.Policy {
		return func(tool.Request) tool.Decision { return tool.Decision{Verdict: v, Try: try} }
	}
	for _, v := range []tool.Verdict{tool.Deny, tool.Ask} {
		for _, a := range []bool{true, false} {
			for _, b := range []bool{true, false} {
				for _, p := range []tool.Policy{tool.Stricter(of(v, a), of(tool.Ask, b)), tool.Stricter(of(tool.Ask, b), of(v, a))} {
					if d := p(tool.Request{}); d.Try != (a && b) || d.Verdict != v {
						t.Errorf("%v and %v: %v", a, b, d)
					}
				}
			}
		}
		if !tool.Stricter(of(tool.Allow, false), of(v, true))(tool.Request{}).Try {
			t.Error("a policy that allows the call prevents a trial")
		}
	}
}

// A batch with trials gives the results and files of its calls one by one. No call runs or is kept twice, each is tried at
// most twice, and denied calls leave nothing.
func TestTrialsEqualOneByOne(t *testing.T) {
	batches, calls := 25+int(3000*soak.Share()), 30
	for seed := range batches {
		rnd := rand.New(rand.NewPCG(uint64(seed), 22))
		files := map[string]string{"f0": "00", "f1": "11", "f2": "22", "f3": "33"}
		var lines []string
		for i := range calls {
			line := randomLine(rnd)
			if cmd, ok := strings.CutPrefix(line, "exec "); ok && !strings.HasPrefix(cmd, "ln ") && rnd.IntN(5) > 0 {
				line = "try " + cmd + strings.Repeat(" ", i) // every line once
			}
			lines = append(lines, line)
		}
		run := func(together bool) (*world, []tool.Outcome, []string) {
			w := newWorld(files)
			maps.Copy(w.links, map[string]string{"l0": "f0", "l1": "f1"})
			x := w.trying("f3")
			var mu sync.Mutex
			var around []string
			x.Around = func(ctx context.Context, r tool.Request, d tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
				mu.Lock()
				around = append(around, r.Call.ID)
				mu.Unlock()
				return run(ctx)
			}
			if together {
				return w, begin(t.Context(), x, lines...).Wait(), around
			}
			var out []tool.Outcome
			for _, line := range lines {
				out = append(out, begin(t.Context(), x, line).Wait()...)
			}
			return w, out, around
		}
		one, want, _ := run(false)
		all, got, around := run(true)
		wantSame(t, fmt.Sprintf("outcomes of batch %d", seed), says(want), says(got))
		wantSame(t, fmt.Sprintf("files after batch %d", seed), one.snapshot(), all.snapshot())
		seen := map[string]bool{}
		for _, id := range around {
			if seen[id] {
				t.Errorf("call %s ran twice", id)
			}
			seen[id] = true
		}
		for _, line := range lines {
			if n := all.count("trial " + line); strings.HasPrefix(line, "try") && (n < 1 || n > 2) {
				t.Errorf("%q was tried %d times", line, n)
			}
			if strings.HasPrefix(line, "try") && all.count("run "+line) > 0 {
				t.Errorf("%q ran directly", line)
			}
		}
		if t.Failed() {
			t.Fatalf("the calls of batch %d: %q", seed, lines)
		}
	}
}

// Agents that try, write, read and are denied at the same time all finish, and every change was approved.
func TestTrialsOfManyAgents(t *testing.T) {
	for seed := range 10 + int(500*soak.Share()) {
		w := newWorld(map[string]string{"f0": "", "f1": "", "f2": "", "f3": "", "f4": ""})
		x := w.trying("f3")
		x.Limit = 3
		allowed := x.Policy
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "try" && r.Access[0].Verb == tool.Writes && r.Access[0].Target == "f4" {
				return tool.Decision{Verdict: tool.Ask}
			}
			return allowed(r)
		}
		x.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
			shown, command := r.Confirm.(tool.Command)
			if command && strings.Contains(shown.Line, "f3") {
				return no, nil
			}
			return tool.Decision{Verdict: tool.Allow, Direct: !command && len(r.Call.ID)%2 == 0}, nil
		}
		var agents sync.WaitGroup
		kept := make([]map[string]int, 4)
		for a := range kept {
			kept[a] = map[string]int{}
			rnd := rand.New(rand.NewPCG(uint64(seed), uint64(a)))
			var lines []string
			for range 8 {
				lines = append(lines, fmt.Sprintf("try append x f%d%s", rnd.IntN(5), strings.Repeat(" ", rnd.IntN(50))), "read f0")
			}
			agents.Go(func() {
				for i, o := range begin(t.Context(), x.Child(nil, fmt.Sprint(a), nil), lines...).Wait() {
					if o.Status == tool.StatusSuccess && strings.HasPrefix(lines[i], "try") {
						kept[a][strings.Fields(lines[i])[3]]++
					}
				}
			})
		}
		agents.Wait()
		for path, text := range w.snapshot() {
			n := 0
			for _, k := range kept {
				n += k[path]
			}
			if n != len(text) || path == "f3" && n > 0 {
				t.Fatalf("seed %d: %s has %d changes, and %d calls report one", seed, path, len(text), n)
			}
		}
	}
}
