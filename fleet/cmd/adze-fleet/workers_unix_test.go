//go:build unix

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// server starts a queue, and returns the flags to use it.
func (m *machine) server(lease string) []string {
	m.t.Helper()
	c := m.command("server", "--lease", lease)
	out, err := c.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.queue = c
	m.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		m.t.Fatal(err)
	}
	return []string{"--server", strings.TrimSpace(url)}
}

// start starts a program that is killed in the end.
func (m *machine) start(args ...string) *exec.Cmd {
	m.t.Helper()
	c := m.command(args...)
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// Three worker processes share the tasks of a file. One after the other is killed with -9, or frozen for longer than the lease
// and then continued: all tasks are done, no call runs twice, and each interrupted call is reported. ADZE_SOAK gives more.
func TestWorkersKilledAndFrozen(t *testing.T) {
	t.Parallel()
	tasks, calls, faults := soak.Count(9, 1000), soak.Count(3, 10), soak.Count(3, 100)
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 20 * time.Millisecond }))
	file := m.tasks("tasks.jsonl", tasks, calls)
	flags := m.server("2s")
	with := func(args ...string) []string { return append(args, flags...) }
	var workers []*exec.Cmd
	for range 3 {
		workers = append(workers, m.start(with("worker", "--slots", "2")...))
	}
	done := make(chan [2]string, 1)
	code := 0
	go func() {
		out, problems, c := m.run(with("run", file, "--json")...)
		code = c
		done <- [2]string{out, problems}
	}()
	for fault := range faults {
		before := m.lines()
		waittest.Until(t, "effects", func() bool { return m.lines() >= before+2 || len(done) > 0 })
		if len(done) > 0 {
			break
		}
		i := rand.IntN(len(workers))
		w := workers[i]
		if fault%2 == 1 {
			_ = w.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(3*time.Second, func() { _ = w.Process.Signal(syscall.SIGCONT) })
			continue
		}
		_ = w.Process.Kill()
		_ = w.Wait()
		workers[i] = m.start(with("worker", "--slots", "2")...)
	}
	text := <-done
	if code > 1 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	m.atMostOnce(text[0], tasks, calls)
	m.model.mu.Lock()
	defer m.model.mu.Unlock()
	for key := range m.model.keys {
		if key != "Bearer "+secretKey {
			t.Errorf("the model server got the key %q", key)
		}
	}
}

// After kill -9 of a worker none of its processes is left, and the next worker removes its clones.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("needs /proc")
	}
	m := newMachine(t, serveModel(t))
	mark := filepath.Base(m.dir) + "-sleeps"
	path := filepath.Join(m.dir, "tasks.jsonl")
	text := fmt.Sprintf(`{"id":"a","repo":"repo","prompt":"do a 1 %s; sleep 600 # %s"}`, m.effects(), mark)
	text = strings.Replace(text, ";", "", 1)
	text = strings.Replace(text, m.effects()+" sleep", m.effects()+";sleep${IFS}600", 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := m.start("run", path)
	waittest.Until(t, "the command runs", func() bool { return len(m.processes()) >= 3 && len(m.counted()) > 0 })
	for _, p := range m.processes() {
		environ, _ := os.ReadFile("/proc/" + p + "/environ")
		line, _ := os.ReadFile("/proc/" + p + "/cmdline")
		if p != fmt.Sprint(c.Process.Pid) && strings.Contains(string(environ)+string(line), secretKey) {
			t.Errorf("process %s has the key: %s", p, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	waittest.Until(t, "no process is left", func() bool { return len(m.processes()) == 0 })
	if left, _ := filepath.Glob(filepath.Join(m.dir, ".cache", "adze-fleet", "work", "*", "t*")); len(left) == 0 {
		t.Error("no clone is left to be removed")
	}
	if _, problems, code := m.run("run", m.tasks("other.jsonl", 1, 0), "--max-cost", "0"); code > 1 {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if left, _ := filepath.Glob(filepath.Join(m.dir, ".cache", "adze-fleet", "work", "*", "t*")); len(left) > 0 {
		t.Errorf("clones are left: %v", left)
	}
}

// processes returns those with the home directory of the machine.
func (m *machine) processes() []string {
	var all []string
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range list {
		environ, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(environ), "HOME="+m.dir+"\x00") {
			all = append(all, filepath.Base(filepath.Dir(path)))
		}
	}
	return all
}
