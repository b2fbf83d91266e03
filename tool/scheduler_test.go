package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/tool"
)

// Prepared all at once, each of these fails: the text of the second edit doesn't exist yet, the second place is in a file
// that has changed, and the file to edit doesn't exist.
func TestTwoEditsOfOneFile(t *testing.T) {
	for name, tt := range map[string]struct {
		calls []string
		says  []string
		file  string
	}{
		"the second builds on the first": {
			[]string{"edit a one two", "edit a two three"},
			[]string{`success: a holds "two x"`, `success: a holds "three x"`}, "three x",
		},
		"two places": {
			[]string{"edit a one 1", "edit a x y"},
			[]string{`success: a holds "1 x"`, `success: a holds "1 y"`}, "1 y",
		},
		"create, then edit, then read": {
			[]string{"write b hello", "edit b hello bye", "read b"},
			[]string{`success: b holds "hello"`, `success: b holds "bye"`, "success: <bye>"}, "one x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "one x"})
			out := begin(t.Context(), w.executor(), tt.calls...).Wait()
			wantSame(t, "outcomes", tt.says, says(out))
			wantSame(t, "file", tt.file, w.snapshot()["a"])
		})
	}
}

// A command of the same turn changes where a link leads. The edit must be of the new target, judged as such.
func TestAccessThatDependsOnDisk(t *testing.T) {
	w := newWorld(map[string]string{"a": "x", "b": "x"})
	w.links["link"] = "a"
	x := w.executor()
	x.Policy = func(r tool.Request) tool.Decision {
		for _, a := range r.Access {
			if a.Verb == tool.Writes && a.Target == "b" {
				return tool.Decision{Reason: "b is not to be written"}
			}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	out := begin(t.Context(), x, "exec ln b link", "edit link x y").Wait()
	wantSame(t, "outcomes", []string{"success: ok", "denied: Permission denied: edit link: b is not to be written. Continue without it, or tell the user what you need."}, says(out))
	x.Policy = w.policy
	out = begin(t.Context(), x, "exec ln a link", "exec ln b link", "edit link x y", "read b").Wait()
	wantSame(t, "outcomes", []string{"success: ok", "success: ok", `success: b holds "y"`, "success: <y>"}, says(out))
	wantSame(t, "files", map[string]string{"a": "x", "b": "y"}, w.snapshot())
}

// While the target of the link is unknown, the edit counts as an edit of anything: the read of b must wait for it.
func TestUnsettledAccessIsMaxAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "x", "b": "x"})
		w.links["link"] = "a"
		x := w.executor()
		turn := w.gate("run exec ln b link")
		b := begin(t.Context(), x, "exec ln b link", "edit link x y", "read b")
		synctest.Wait() // all prepared once
		again := w.gate("prepare edit link")
		turn()
		synctest.Wait()
		if w.did("run read b") {
			t.Error("b was read while it was open where the edit leads")
		}
		again()
		wantSame(t, "outcomes", []string{"success: ok", `success: b holds "y"`, "success: <y>"}, says(b.Wait()))
	})
}

func TestReadAfterWriteAndShell(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	out := begin(t.Context(), w.executor(),
		"read a", "write a 1", "read a", "exec append 2 a", "read a", "exec cat a", "edit a 12 3", "exec cat a").Wait()
	wantSame(t, "outcomes", []string{
		"success: <0>", `success: a holds "1"`, "success: <1>", "success: ok", "success: <12>", "success: <12>",
		`success: a holds "3"`, "success: <3>",
	}, says(out))
}

func TestReadsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "1"})
		first := w.gate("run read a")
		b := begin(t.Context(), w.executor(), "read a", "read b", "edit b 1 2", "edit a 0 3")
		synctest.Wait()
		if !w.did("end edit b") || w.did("run edit a") {
			t.Errorf("the edit of b should have passed the read of a, and the edit of a not: %q", w.log)
		}
		first()
		wantSame(t, "outcomes", []string{"success: <0>", "success: <1>", `success: b holds "2"`, `success: a holds "3"`}, says(b.Wait()))
	})
}

// Only policy knows that a command doesn't write, and only if a sandbox enforces it.
func TestReadOnlyCommandsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		x := w.executor()
		x.Policy = readOnlyGrant
		one, two := w.gate("run exec cat a"), w.gate("run read a")
		b := begin(t.Context(), x, "exec cat a", "read a", "exec echo 1 > a")
		synctest.Wait()
		if !w.did("run exec cat a") || !w.did("run read a") || w.did("run exec echo 1 > a") {
			t.Errorf("the read should run beside the command that reads, and the one that writes after both: %q", w.log)
		}
		one()
		two()
		wantSame(t, "outcomes", []string{"success: <0>", "success: <0>", "success: ok"}, says(b.Wait()))
	})
}

// A tool without declared access may access anything.
func TestMissingAccessIsAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		var judged []tool.Access
		x := w.executor(fake("forgetful", tool.Other, tool.Invocation{Run: w.runs("forgetful")}))
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "forgetful" {
				judged = r.Access
			}
			return tool.Decision{Verdict: tool.Allow}
		}
		first, open := w.gate("run read a"), w.gate("run forgetful")
		b := begin(t.Context(), x, "read a", "forgetful", "read a")
		synctest.Wait()
		if w.did("run forgetful") {
			t.Error("it ran beside an earlier read")
		}
		first()
		synctest.Wait()
		wantSame(t, "log", []string{"run forgetful"}, w.log[len(w.log)-1:])
		open()
		b.Wait()
		wantSame(t, "judged as", []tool.Access{tool.Anything}, judged)
	})
}

// An external tool is judged, and ordered, as one that may do anything, whatever it declares, even before its Prepare has
// returned.
func TestExternalToolIsAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		foreign := fake("foreign", tool.Read, tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: w.runs("foreign")})
		foreign.decl.Origin = "mcp:x"
		foreign.slow = make(chan struct{})
		x := w.executor()
		if err := x.Registry.Set("mcp:x", []tool.Tool{foreign}); err != nil {
			t.Fatal(err)
		}
		var judged []tool.Access
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "foreign" {
				judged = r.Access
			}
			return tool.Decision{Verdict: tool.Allow}
		}
		b := begin(t.Context(), x, "foreign", "read a")
		synctest.Wait()
		if w.did("run read a") {
			t.Error("a later read overtook a tool that may write anything")
		}
		close(foreign.slow)
		b.Wait()
		wantSame(t, "judged as", []tool.Access{tool.Anything}, judged)
		wantSame(t, "order", true, indexOf(w.log, "run foreign") < indexOf(w.log, "run read a"))
	})
}

func TestExitPlanModeThenEdit(t *testing.T) {
	for answer, want := range map[string][]string{
		"":     {"success: mode ", `success: a holds "1"`},
		"plan": {"success: mode plan", "denied: Permission denied: edit a: plan mode. Continue without it, or tell the user what you need."},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, d := newWorld(map[string]string{"a": "0"}), &desk{}
			w.setMode("plan")
			x := w.executor()
			x.Ask = d.ask
			b := begin(t.Context(), x, "exit_plan_mode", "edit a 0 1")
			synctest.Wait()
			wantSame(t, "questions", []string{"leave plan mode"}, d.questions())
			d.answer(t, "leave plan mode", tool.Decision{Verdict: tool.Allow, Answer: []byte(`{"mode":"` + answer + `"}`)})
			wantSame(t, "outcomes with mode "+answer, want, says(b.Wait()))
		})
	}
}

func TestSlowPrepareHoldsOnlyWhatMightConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "1"})
		slow := w.gate("prepare read a")
		b := begin(t.Context(), w.executor(), "read a", "read b", "exec cat b")
		synctest.Wait()
		if !w.did("end read b") || w.did("run exec cat b") {
			t.Errorf("a Read of unknown target holds up commands and not reads: %q", w.log)
		}
		slow()
		b.Wait()

		unknown := w.gate("prepare exec cat a")
		b = begin(t.Context(), w.executor(), "exec cat a", "read a")
		synctest.Wait()
		wantSame(t, "reads beside an unknown command", 0, strings.Count(strings.Join(w.log, "\n"), "run read a")-1)
		unknown()
		b.Wait()
	})
}

// The question for an edit needn't wait for earlier readers of the file. Its Run does.
func TestQuestionDoesNotWaitForEarlierReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		x := w.executor()
		x.Policy, x.Ask = askAbout, d.ask
		reading := w.gate("run read a")
		b := begin(t.Context(), x, "read a", "edit a 0 1")
		synctest.Wait()
		d.yes(t, "edit a")
		synctest.Wait()
		if w.did("run edit a") {
			t.Error("the edit ran beside an earlier read of the file")
		}
		reading()
		wantSame(t, "outcomes", []string{"success: <0>", `success: a holds "1"`}, says(b.Wait()))
	})
}

// An earlier reader may be allowed and still wait, for another agent. The edit must not invalidate it.
func TestEditWaitsForEarlierReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		both := fake("both", tool.Read, tool.Invocation{
			Access: []tool.Access{{Verb: tool.Reads, Target: "a"}, {Verb: tool.Reads, Target: "b"}}, Run: w.runs("both"),
		})
		x := w.executor(both)
		writing := w.gate("run write b")
		other := begin(t.Context(), x, "write b 1")
		synctest.Wait()
		b := begin(t.Context(), x, "both", "edit a 0 1")
		synctest.Wait()
		if w.did("run both") || w.did("run edit a") {
			t.Errorf("one of them did not wait: %q", w.log)
		}
		writing()
		other.Wait()
		b.Wait()
		wantSame(t, "order", true, indexOf(w.log, "run both") < indexOf(w.log, "run edit a"))
	})
}

// An earlier reader that isn't allowed yet may be denied, and then the edit must know.
func TestQuestionWaitsForEarlierQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0"}), &desk{}
		x := w.executor()
		x.Policy, x.Ask = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }, d.ask
		b := begin(t.Context(), x, "read a", "edit a 0 1")
		synctest.Wait()
		wantSame(t, "questions", []string{"read a"}, d.questions())
		d.no(t, "read a")
		wantSame(t, "outcomes", []string{
			"denied: Permission denied: read a: denied by the user. Don't retry it. Ask what they want instead, or continue without it.",
			"denied: Skipped: edit depends on an earlier call in this turn (read) that the user denied.",
		}, says(b.Wait()))
	})
}

func TestWaitingConfirmationHoldsNoReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(map[string]string{"a": "0", "b": "1"}), &desk{}
		x := w.executor()
		x.Policy, x.Ask = askAbout, d.ask
		b := begin(t.Context(), x, "edit a 0 1", "read b", "read a")
		synctest.Wait()
		if !w.did("end read b") || w.did("run read a") {
			t.Errorf("reads of other files go on, a read of the file waits: %q", w.log)
		}
		d.yes(t, "edit a")
		wantSame(t, "outcomes", []string{`success: a holds "1"`, "success: <1>", "success: <1>"}, says(b.Wait()))

		b = begin(t.Context(), x, "exec echo 7 > b", "read a")
		synctest.Wait()
		wantSame(t, "reads beside an unanswered command", 1, strings.Count(strings.Join(w.log, "\n"), "run read a"))
		d.yes(t, "exec echo 7 > b")
		b.Wait()
	})
}

// A tool that fetches may also save: its kind allows files to be written.
func TestFetchMayWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		fetch := fake("fetch", tool.Fetch, *w.change("fetch", "a", new("0"), "1"))
		fetch.slow = make(chan struct{})
		b := begin(t.Context(), w.executor(fetch), "fetch", "read a")
		synctest.Wait()
		close(fetch.slow)
		wantSame(t, "outcomes", []string{`success: a holds "1"`, "success: <1>"}, says(b.Wait()))
	})
}

// Locking a name of the session orders calls, and has no other effect.
func TestLocksOrderByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		holds := func(name, what string) *fakeTool {
			return fake(name, tool.Think, tool.Invocation{Access: []tool.Access{{Verb: tool.Locks, Target: what}}, Run: w.runs(name)})
		}
		x := w.executor(holds("todo1", "todos"), holds("todo2", "todos"), holds("memo", "memory"))
		first := w.gate("run todo1")
		b := begin(t.Context(), x, "todo1", "todo2", "memo", "read a")
		synctest.Wait()
		if w.did("run todo2") || !w.did("run memo") || !w.did("run read a") {
			t.Errorf("only the second of the same name waits: %q", w.log)
		}
		first()
		b.Wait()
	})
}

func TestManyEditsOfOneFile(t *testing.T) {
	const n = 300
	w := newWorld(map[string]string{"a": "0."})
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("edit a %d. %d.", i, i+1))
	}
	began := time.Now()
	out := begin(t.Context(), w.executor(), lines...).Wait()
	took := time.Since(began)
	for _, o := range out {
		if o.Status != tool.StatusSuccess {
			t.Fatal(says([]tool.Outcome{o}))
		}
	}
	wantSame(t, "file", "300.", w.snapshot()["a"])
	if limit := 2*n + n/10; w.prepares["edit a"] > limit {
		t.Errorf("%d prepares for %d edits, more than %d", w.prepares["edit a"], n, limit)
	}
	if took > time.Minute {
		t.Errorf("%d edits took %v", n, took)
	}
	t.Logf("%d edits: %d prepares, %v", n, w.prepares["edit a"], took)
}

// A writer that ends during Prepare may have changed what it read: the result is stale.
func TestInvalidatedDuringPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "one"})
		seen := make(chan struct{})
		slow := &slowEdit{w.edit(), seen, make(chan struct{})}
		x := w.executor()
		x.Registry = tool.NewRegistry(w.write(), slow)
		running := w.gate("run write a")
		b := begin(t.Context(), x, "write a two", "edit a one three")
		<-seen // it has read "one"
		running()
		synctest.Wait()
		close(slow.resume)
		wantSame(t, "outcomes", []string{
			`success: a holds "two"`, "error: edit a: old occurs 0 times",
		}, says(b.Wait()))
	})
}

// slowEdit is an edit whose first Prepare is slow after reading.
type slowEdit struct {
	tool.Tool
	seen   chan struct{}
	resume chan struct{}
}

func (s *slowEdit) Prepare(ctx context.Context, args json.RawMessage) (*tool.Invocation, error) {
	inv, err := s.Tool.Prepare(ctx, args)
	if s.seen != nil {
		close(s.seen)
		s.seen = nil
		<-s.resume
	}
	return inv, err
}

func indexOf(log []string, step string) int {
	for i, s := range log {
		if s == step {
			return i
		}
	}
	return -1
}
