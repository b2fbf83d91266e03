//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// Two workers with one name, and one directory, share the tasks. One of them is killed: all tasks are done, no call runs twice.
func TestTwoWorkersWithOneName(t *testing.T) {
	t.Parallel()
	const tasks, calls = 6, 3
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 20 * time.Millisecond }))
	flags := m.server("2s")
	with := func(args ...string) []string { return append(args, flags...) }
	first := m.start(with("worker", "--slots", "1", "--name", "same")...)
	m.start(with("worker", "--slots", "1", "--name", "same")...)
	done := make(chan string, 1)
	go func() {
		out, problems, _ := m.run(with("run", m.tasks("tasks.jsonl", tasks, calls), "--json")...)
		if out == "" {
			t.Error(problems)
		}
		done <- out
	}()
	waittest.Until(t, "effects", func() bool { return m.lines() >= 3 || len(done) > 0 })
	_ = first.Process.Kill()
	_ = first.Wait()
	m.atMostOnce(<-done, tasks, calls)
}

// A worker that finds a task of another version exits, and leaves the task in the queue.
func TestWorkerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	flags := m.server("2s")
	nc, err := nats.Connect(flags[1], nats.Token(queue.TokenOf(filepath.Join(m.dir, ".adze", "fleet", "queue"), flags[1])))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request("tasks.newer.t0", []byte(`{"format":2,"run":"newer"}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, problems, code := m.run(append([]string{"worker", "--slots", "1"}, flags...)...)
		if code != 1 || !strings.Contains(problems, "adze: the run was made by another version of Adze (format 2; this one has 1)\nUse the same version on all machines.") {
			t.Errorf("exit code %d: %s", code, problems)
		}
	}
}

// A patch of 200 MB isn't stored: the task fails, and its line says why.
func TestLargePatch(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	out, problems, code := m.run("run", m.file("tasks.jsonl",
		`{"id":"large","repo":"repo","prompt":"do large 1 EFFECTS","setup":"head -c 200000000 /dev/zero | tr '\\0' x | fold -w 10000 > large"}`), "--json")
	if r := m.results(out)["large"]; code != 1 || r["state"] != "failed" || !strings.Contains(fmt.Sprint(r["error"]), "the patch has 190 MB; at most 100 MB are stored") {
		t.Errorf("exit code %d: %v %s", code, r, problems)
	}
}

// An image that doesn't exist breaks the task, with the engine's message.
func TestMissingImage(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t))
	docker := m.engine("docker", `
[ "$1" = run ] || exit 0
echo "docker: Error response from daemon: no such image nope:1" >&2
exit 125
`)
	out, problems, code := m.run("run", m.file("tasks.jsonl", `{"id":"a","repo":"repo","image":"nope:1","prompt":"do a 1 EFFECTS"}`), "--json", "--container", docker)
	if r := m.results(out)["a"]; code != 1 || r["state"] != "broken" || !strings.Contains(fmt.Sprint(r["error"]), "no such image nope:1") {
		t.Errorf("exit code %d: %v %s", code, r, problems)
	}
}

// Without a model nothing is submitted, and a worker doesn't start. It used to break each task three times.
func TestNoModel(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	if _, problems, code := m.run("run", m.tasks("tasks.jsonl", 3, 1)); code != 1 || !strings.HasPrefix(problems, "adze: no model configured\nSet one of:\n") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if out, _, _ := m.run("status"); !strings.HasPrefix(out, "No runs.") {
		t.Errorf("status: %s", out)
	}
	if _, problems, code := m.run(append([]string{"worker"}, m.server("2s")...)...); code != 1 || !strings.HasPrefix(problems, "adze: no model configured\n") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}
