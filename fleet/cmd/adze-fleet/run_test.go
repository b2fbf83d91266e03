package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// results reads JSON Lines of results by ID.
func (m *machine) results(text string) map[string]map[string]any {
	m.t.Helper()
	out := map[string]map[string]any{}
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			m.t.Fatalf("%v: %s", err, line)
		}
		out[fmt.Sprint(r["id"])] = r
	}
	return out
}

// runName returns the name of the only run.
func (m *machine) runName() string {
	m.t.Helper()
	out, problems, code := m.run("status", "--json")
	var r struct{ Run string }
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		m.t.Fatalf("status: %v, exit code %d: %s%s", err, code, out, problems)
	}
	return r.Run
}

// A newcomer runs tasks with nothing installed: each has its patch, its transcript, and its effects once. A second run of the
// same file does nothing more.
func TestRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	file := m.tasks("tasks.jsonl", 3, 2)
	out, problems, code := m.run("run", file, "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	all := m.results(out)
	for i := range 3 {
		id := fmt.Sprintf("t%d", i)
		patch := fmt.Sprint(all[id]["patch"])
		if all[id]["state"] != "passed" || !strings.Contains(patch, "+++ b/"+id+".txt") || all[id]["turns"] != 4.0 || all[id]["error"] != "" ||
			!strings.Contains(fmt.Sprint(all[id]["changes"]), "kind:created lines:map[added:") {
			t.Errorf("%s: %v", id, all[id])
		}
		for call := range 2 {
			if n := m.counted()[fmt.Sprint(id, " ", call)]; n != 1 {
				t.Errorf("call %d of %s ran %d times", call, id, n)
			}
		}
	}
	requests := m.model.asked()
	again, _, code := m.run("run", file, "--json")
	if code != 0 || again != out || m.model.asked() != requests {
		t.Errorf("a second run: exit code %d, %d more requests, %s", code, m.model.asked()-requests, again)
	}
	dir := filepath.Join(m.dir, "out")
	if _, problems, code := m.run("collect", m.runName(), "-o", dir, "--format", "dir", "--branch"); code != 0 {
		t.Fatalf("collect: exit code %d: %s", code, problems)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "t1", "transcript.md")); err != nil || !strings.Contains(string(text), "finished t1") {
		t.Errorf("transcript: %v: %s", err, text)
	}
	if text := m.git("-C", m.repo, "show", "adze/"+m.runName()+"/t1:t1.txt"); text != "t1\n" {
		t.Errorf("branch: %q", text)
	}
	swe, _, _ := m.run("collect", m.runName(), "--format", "swebench")
	if !strings.Contains(swe, `{"instance_id":"t0","model_name_or_path":"scripted","model_patch":"diff --git`) {
		t.Errorf("swebench: %s", swe)
	}
	logs, _, code := m.run("logs", m.runName()+"/t0", "-f")
	for _, want := range []string{" takes the task\n", "  user: do t0 2 ", "  call run_shell_command ", ": success in ", "  model: finished t0\n", "  passed (4 turns, $0.00)\n"} {
		if code != 0 || !strings.Contains(logs, want) {
			t.Errorf("exit code %d: logs without %q: %s", code, want, logs)
		}
	}
	if _, problems, code := m.run("logs", m.runName()+"/nope"); code != 1 || !strings.Contains(problems, `unknown task "nope"`) {
		t.Errorf("logs of an unknown task: exit code %d: %s", code, problems)
	}
	left, _ := filepath.Glob(filepath.Join(m.dir, ".cache", "adze-fleet", "work", "*", "*"))
	if len(left) > 0 {
		t.Errorf("clones are left: %v", left)
	}
}

// A run that is killed with -9 in the middle continues with the same command: no call runs twice, no task is lost, and the
// model learns which calls were interrupted.
func TestKillAndContinue(t *testing.T) {
	t.Parallel()
	const tasks, calls = 10, 3
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 30 * time.Millisecond }))
	file := m.tasks("tasks.jsonl", tasks, calls)
	for kill := range 3 {
		c := m.command("run", file, "--lease", "2s", "--slots", "4")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		before := len(m.counted())
		waittest.Until(t, "effects", func() bool { return len(m.counted()) >= before+5 })
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		t.Logf("kill %d after %d effects", kill, len(m.counted()))
	}
	if out, _, _ := m.run("status"); !strings.Contains(out, " interrupted, ") { // nothing runs now
		t.Errorf("status: %s", out)
	}
	out, problems, code := m.run("run", file, "--json", "--lease", "10m", "--slots", "4") // killed with the queue: no lease to wait for
	if code > 1 {                                                                         // 1: the model doesn't repeat a call that was interrupted, so a task can be unchanged
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	m.atMostOnce(out, tasks, calls)
}

// atMostOnce checks the results of a run: no call ran twice, and each that didn't run was reported as interrupted.
func (m *machine) atMostOnce(out string, tasks, calls int) {
	t := m.t
	t.Helper()
	all, effects := m.results(out), m.counted()
	if len(all) != tasks {
		t.Errorf("%d results, want %d", len(all), tasks)
	}
	m.model.mu.Lock()
	defer m.model.mu.Unlock()
	for i := range tasks {
		id := fmt.Sprintf("t%d", i)
		// The model here doesn't write a file again that was lost with a worker, although the note says so.
		if state := all[id]["state"]; state != "passed" && (state != "unchanged" || m.model.resumed[id] == 0) {
			t.Errorf("%s: %v", id, all[id])
		}
		missing := 0
		for call := range calls {
			switch n := effects[fmt.Sprint(id, " ", call)]; {
			case n == 0:
				missing++
			case n > 1:
				t.Errorf("call %d of %s ran %d times", call, id, n)
			}
		}
		if missing > m.model.interrupted[id] {
			t.Errorf("%d calls of %s didn't run, and %d were reported as interrupted", missing, id, m.model.interrupted[id])
		}
	}
}

// Ctrl-C returns the tasks at once, and a second run gives the result of one.
func TestInterruptAndContinue(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 30 * time.Millisecond }))
	file := m.tasks("tasks.jsonl", 4, 3)
	c := m.command("run", file, "--slots", "2")
	var problems strings.Builder
	c.Stderr = &problems
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "effects", func() bool { return len(m.counted()) >= 2 })
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(problems.String(), "Continue with the same command") {
		t.Errorf("exit code %d: %s", code, problems.String())
	}
	out, errors, code := m.run("run", file, "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errors)
	}
	effects := m.counted()
	for i := range 4 {
		for call := range 3 {
			if n := effects[fmt.Sprintf("t%d %d", i, call)]; n != 1 { // nothing was interrupted in the middle of a call
				t.Errorf("call %d of t%d ran %d times", call, i, n)
			}
		}
	}
}
