package tool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// does returns a task that makes its calls one after another, one batch each.
func does(lines ...string) func(context.Context, *tool.Executor) (string, error) {
	return func(ctx context.Context, x *tool.Executor) (string, error) {
		var out []string
		for _, line := range lines {
			b := x.Batch(ctx)
			c := call(line)
			c.ID = "call_0" // as some servers number them
			if len(lines) > 1 {
				c.ID = ""
			}
			b.Add(c)
			out = append(out, says(b.Wait())...)
		}
		return strings.Join(out, "; "), nil
	}
}

func TestTasksNeitherDeadlockNorGainRights(t *testing.T) {
	w, d := newWorld(map[string]string{"a": "0."}), &desk{}
	appends := func(tag string) func(context.Context, *tool.Executor) (string, error) {
		return func(ctx context.Context, x *tool.Executor) (string, error) {
			for range 20 {
				o := begin(ctx, x, "edit a . "+tag+".").Wait()[0]
				if o.Status != tool.StatusSuccess {
					return "", fmt.Errorf("%v", says([]tool.Outcome{o}))
				}
			}
			return "done", nil
		}
	}
	w.tasks["x"], w.tasks["y"] = appends("x"), appends("y")
	x := w.executor()
	out := begin(t.Context(), x, "task x", "task y", "task x", "task y").Wait()
	wantSame(t, "outcomes", []string{"success: done", "success: done", "success: done", "success: done"}, says(out))
	text := w.snapshot()["a"]
	wantSame(t, "edits of x and y", []int{40, 40}, []int{strings.Count(text, "x"), strings.Count(text, "y")})

	// A subagent may do what both policies allow, and nothing is allowed without a policy.
	allow := func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }
	deny := func(tool.Request) tool.Decision { return tool.Decision{Reason: "narrow"} }
	for name, tt := range map[string]struct {
		parent, narrow tool.Policy
		want           string
	}{
		"both allow":            {allow, allow, "success: <z>"},
		"no narrowing":          {allow, nil, "success: <z>"},
		"the parent asks":       {func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }, allow, "denied: Permission denied: read z. It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need."},
		"the child is stricter": {allow, deny, "denied: Permission denied: read z: narrow. Continue without it, or tell the user what you need."},
		"nobody set a policy":   {nil, allow, "denied: Permission denied: read z: no policy is set. It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need."},
		"no policy, stricter":   {nil, deny, "denied: Permission denied: read z: narrow. Continue without it, or tell the user what you need."},
	} {
		w := newWorld(map[string]string{"z": "z"})
		x := w.executor()
		x.Policy = tt.parent
		wantSame(t, name, []string{tt.want}, says(begin(t.Context(), x.Child(nil, "c", tt.narrow), "read z").Wait()))
	}
	asked, _ := d.history()
	wantSame(t, "asked", nil, asked)
}

// IDs are unique per agent, and every event and question names its agent.
func TestTasksHaveOwnIDsAndNames(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	var mu sync.Mutex
	var by []string
	w.tasks["one"] = does("read a")
	w.tasks["two"] = does("read a")
	w.tasks["nest"] = func(ctx context.Context, x *tool.Executor) (string, error) {
		return says(begin(ctx, x.Child(nil, "2", nil), "read a").Wait())[0], nil
	}
	x := w.executor()
	x.Observe = func(ev tool.Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Stage == tool.Done {
			by = append(by, ev.Request.Call.By+" "+ev.Request.Call.Name)
		}
	}
	out := begin(t.Context(), x, "task one", "task two", "task nest").Wait()
	wantSame(t, "outcomes", []string{"success: success: <0>", "success: success: <0>", "success: success: <0>"}, says(out))
	slices.Sort(by)
	wantSame(t, "whose", []string{" task", " task", " task", "nest/2 read", "one read", "two read"}, by)

	b := x.Batch(t.Context())
	for range 2 {
		c := call("read a")
		c.ID = "call_0"
		b.Add(c)
	}
	wantSame(t, "the same id twice", []string{
		"success: <0>",
		"error: call call_0: this ID was already used in this session, and a call never runs twice. Use a new ID to run it again.",
	}, says(b.Wait()))
}

// Two tasks on one slot, both of which need a slot for their own calls.
func TestDelegatingCallGivesBackItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		w.tasks["one"] = does("edit a 0 1", "edit b 1 2")
		w.tasks["two"] = does("edit b 0 1", "edit a 1 2")
		w.tasks["outer"] = func(ctx context.Context, x *tool.Executor) (string, error) {
			return says(begin(ctx, x, "task one").Wait())[0], nil
		}
		x := w.executor()
		x.Limit = 1
		out := begin(t.Context(), x, "task one", "read a").Wait()
		wantSame(t, "statuses", []tool.Status{"success", "success"}, []tool.Status{out[0].Status, out[1].Status})
		out = begin(t.Context(), x, "task outer", "task two").Wait()
		wantSame(t, "statuses", []tool.Status{"success", "success"}, []tool.Status{out[0].Status, out[1].Status})
	})
}

// A call that drives others doesn't block them, whatever it declares.
func TestDelegatingCallBlocksNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		var x *tool.Executor
		x = w.executor(fake("greedy", tool.Other, tool.Invocation{
			Access: []tool.Access{tool.Anything},
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				b := begin(ctx, x.Child(l, "child", nil), "edit a 0 1")
				return tool.TextResult(says(b.Wait())[0]), nil
			},
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		wantSame(t, "outcomes", []string{`success: success: a holds "1"`}, says(begin(ctx, x, "greedy").Wait()))
	})
}

// An agent's edit waits for a running call of another agent, and is prepared again after it.
func TestAgentsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		w.tasks["one"] = does("exec append 1 a")
		w.tasks["two"] = does("edit a 0 2")
		w.tasks["three"] = does("edit a 1 3")
		x := w.executor()
		running := w.gate("run exec append 1 a")
		b := begin(t.Context(), x, "task one")
		synctest.Wait()
		others := begin(t.Context(), x, "task two", "task three")
		synctest.Wait()
		if w.did("run edit a") {
			t.Error("an edit ran beside another agent's command")
		}
		// The edit of "1" can't be prepared yet; its error is temporary.
		running()
		out := append(b.Wait(), others.Wait()...)
		for _, o := range out {
			if !strings.HasPrefix(o.Result.Text(), "success") {
				t.Error(says(out))
			}
		}
		wantSame(t, "file", "23", w.snapshot()["a"])
	})
}

// Trees of tasks on few slots, with edits of one file and commands: there is no deadlock, and no edit is lost.
func TestNoDeadlockInTrees(t *testing.T) {
	for seed := range soak.Count(30, 80) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		w := newWorld(map[string]string{"a": ".", "b": "."})
		x := w.executor()
		x.Limit = 1 + rnd.IntN(3)
		x.Policy = readOnlyGrant
		var mu sync.Mutex
		edits := map[string]int{}
		count := func(line string) string {
			mu.Lock()
			defer mu.Unlock()
			edits[strings.Fields(line)[1]]++
			return line
		}
		var agent func(ctx context.Context, x *tool.Executor, depth int, seed uint64) error
		agent = func(ctx context.Context, x *tool.Executor, depth int, seed uint64) error {
			rnd := rand.New(rand.NewPCG(seed, 5))
			b := x.Batch(ctx)
			for i := range 1 + rnd.IntN(4) {
				file := string("ab"[rnd.IntN(2)])
				switch n := rnd.IntN(6); {
				case n < 2 && depth < 3:
					name := fmt.Sprintf("%d-%d", seed, i)
					child := rnd.Uint64()
					w.mu.Lock()
					w.tasks[name] = func(ctx context.Context, y *tool.Executor) (string, error) {
						return "", agent(ctx, y, depth+1, child)
					}
					w.mu.Unlock()
					b.Add(call("task " + name))
				case n == 2:
					b.Add(call("exec cat " + file))
				case n == 3:
					b.Add(call("read " + file))
				default:
					b.Add(call(count("edit " + file + " . x.")))
				}
			}
			for _, o := range b.Wait() {
				if o.Status != tool.StatusSuccess {
					return fmt.Errorf("%v", says([]tool.Outcome{o}))
				}
			}
			return nil
		}
		var wg sync.WaitGroup
		for top := range 3 {
			child, root := x.Child(nil, fmt.Sprint(top), nil), rnd.Uint64()
			wg.Go(func() {
				if err := agent(t.Context(), child, 0, root); err != nil {
					t.Errorf("tree %d: %v", seed, err)
				}
			})
		}
		wg.Wait()
		files := w.snapshot()
		wantSame(t, fmt.Sprintf("edits in tree %d", seed), edits,
			nonZero(map[string]int{"a": strings.Count(files["a"], "x"), "b": strings.Count(files["b"], "x")}))
	}
}

func nonZero(m map[string]int) map[string]int {
	for k, v := range m {
		if v == 0 {
			delete(m, k)
		}
	}
	return m
}

// A subagent's sandbox is never less restrictive than either policy requires.
func TestStricterGrants(t *testing.T) {
	grant := func(as ...tool.Access) tool.Policy {
		return func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow, Grant: as} }
	}
	all, some := tool.Access{Verb: tool.Reads, Target: "*"}, tool.Access{Verb: tool.Reads, Target: "/a/"}
	for name, c := range map[string]struct {
		a, b tool.Policy
		want tool.Decision
	}{
		"one of them":    {grant(), grant(some), tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{some}}},
		"the same":       {grant(all), grant(all), tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{all}}},
		"different ones": {grant(all), grant(some), tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.BySandbox}, Reason: "two policies sandbox it differently"}},
		"only the other": {grant(some), grant(), tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{some}}},
	} {
		if diff := cmp.Diff(c.want, tool.Stricter(c.a, c.b)(tool.Request{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
