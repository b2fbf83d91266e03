//go:build unix

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// cluster is three nodes as processes.
type cluster struct {
	m     *machine
	ports [6]int
	nodes [3]*exec.Cmd
}

func (m *machine) cluster() *cluster {
	m.t.Helper()
	c := &cluster{m: m}
	for i := range c.ports {
		_, text, err := net.SplitHostPort(queue.StableAddress(m.t.TempDir()))
		if err != nil {
			m.t.Fatal(err)
		}
		if c.ports[i], err = strconv.Atoi(text); err != nil {
			m.t.Fatal(err)
		}
	}
	return c
}

func (c *cluster) start(i int) {
	t := c.m.t
	t.Helper()
	p := exec.Command(os.Args[0])
	p.Dir = c.m.dir
	p.Env = append(os.Environ(), asNode+"="+fmt.Sprint(i)+" "+strings.Trim(fmt.Sprint(c.ports), "[]"))
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("node %d doesn't start: %v", i, err)
	}
	c.nodes[i] = p
}

func (c *cluster) url() string {
	var all []string
	for _, port := range c.ports[:3] {
		all = append(all, fmt.Sprint("nats://127.0.0.1:", port))
	}
	return strings.Join(all, ",")
}

// killing runs a file with workers, calls fault for each fault after some effects, and checks that no call ran twice.
func (m *machine) killing(flags []string, tasks, calls, faults int, fault func()) {
	t := m.t
	t.Helper()
	file := m.tasks("tasks.jsonl", tasks, calls)
	with := func(args ...string) []string { return append(args, flags...) }
	for range 2 {
		m.start(with("worker", "--slots", "2")...)
	}
	type ended struct {
		out, problems string
		code          int
	}
	done := make(chan ended, 1)
	go func() {
		out, problems, code := m.run(with("run", file, "--json")...)
		done <- ended{out, problems, code}
	}()
	n := 0
	for ; n < faults; n++ {
		before := m.lines()
		waittest.Until(t, "effects", func() bool { return m.lines() >= before+2 || len(done) > 0 })
		if len(done) > 0 {
			break
		}
		fault()
	}
	e := <-done
	if e.code > 1 || e.out == "" {
		t.Fatalf("exit code %d: %s%s", e.code, e.out, e.problems)
	}
	m.atMostOnce(e.out, tasks, calls)
	t.Logf("%d tasks, %d calls each, %d faults: none lost, none twice", tasks, calls, n)
}

// lines returns the number of effects so far.
func (m *machine) lines() int {
	info, err := os.Stat(m.effects())
	if err != nil {
		return 0
	}
	return int(info.Size() / int64(len("t0 0\n"))) // at least
}

// The only server is killed with -9 and started again, while workers run tasks: all are done, no call runs twice.
func TestOnlyServerKilled(t *testing.T) {
	t.Parallel()
	tasks, calls, faults := soak.Count(6, 1000), soak.Count(3, 10), soak.Count(3, 100)
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 20 * time.Millisecond }))
	flags := m.server("2s")
	m.killing(flags, tasks, calls, faults, func() {
		_ = m.queue.Process.Kill()
		_ = m.queue.Wait()
		if again := m.server("2s"); again[1] != flags[1] {
			t.Errorf("the server came back as %s, not %s", again[1], flags[1])
		}
	})
}

// Single nodes of a cluster of three are killed with -9 and started again.
func TestClusterNodesKilled(t *testing.T) {
	t.Parallel()
	tasks, calls, faults := soak.Count(6, 1000), soak.Count(3, 10), soak.Count(1, 20)
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 20 * time.Millisecond }))
	c := m.cluster()
	for i := range c.nodes {
		c.start(i)
	}
	m.killing([]string{"--server", c.url(), "--lease", "2s"}, tasks, calls, faults, func() {
		i := rand.IntN(len(c.nodes))
		_ = c.nodes[i].Process.Kill()
		_ = c.nodes[i].Wait()
		c.start(i)
	})
	if _, err := os.Stat(filepath.Join(m.dir, "node-2", "jetstream", "$G", "streams", "JOURNAL")); err != nil {
		t.Errorf("the journals aren't on the third node: %v", err)
	}
}

// While the server is gone for longer than the lease, workers wait and start no call. When it is back, all tasks are done.
func TestServerGoneForLong(t *testing.T) {
	t.Parallel()
	m := newMachine(t, serveModel(t, func(s *scripted) { s.delay = 20 * time.Millisecond }))
	flags := m.server("1s")
	m.killing(flags, 6, 4, 1, func() {
		_ = m.queue.Process.Kill()
		_ = m.queue.Wait()
		before := m.lines()
		time.Sleep(3 * time.Second)         // not synchronization: three leases without a server
		if n := m.lines() - before; n > 4 { // one that had started in each slot
			t.Errorf("%d calls ran without a server", n)
		}
		m.server("1s")
	})
}
