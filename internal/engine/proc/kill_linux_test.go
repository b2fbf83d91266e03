package proc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// stubborn are process trees that try to escape. Each prints "ready" when it is complete.
var stubborn = []string{
	// one that ignores TERM
	`trap '' TERM HUP INT; echo ready; while :; do sleep 1; done`,
	// its own session that ignores TERM
	`setsid bash -c 'trap "" TERM; echo ready; while :; do sleep 1; done' & wait`,
	// double fork: the parent is gone, the orphan has its own session
	`( setsid bash -c 'trap "" TERM; (trap "" TERM; echo ready; sleep 60) & exit' & ) ; sleep 60`,
	// an empty environment
	`env -i /bin/bash -c 'trap "" TERM; setsid bash -c "trap \"\" TERM; echo ready; while :; do sleep 1; done" & sleep 60'`,
	// several trees, with a stopped process
	`for i in 1 2 3; do (setsid bash -c 'trap "" TERM; sleep 60 & sleep 60 & wait' &); done; sleep 60 & kill -STOP $!; echo ready; wait`,
	// it restarts killed processes
	`trap '' TERM; f() { trap '' TERM; while :; do sleep 0.01; done; }; f & f & echo ready; wait`,
}

// awaitReady waits until the command has printed "ready".
func awaitReady(t *testing.T, p *Process) {
	t.Helper()
	waittest.Until(t, "the command is ready", func() bool { return strings.Contains(p.Read(0, 0).Text, "ready") })
}

func TestCancelStubbornTrees(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{State: t.TempDir()})
	var took []time.Duration
	for i := range soak.Count(20, 200) {
		env, tag := tagged(t)
		ctx, cancel := context.WithCancel(context.Background())
		p, err := r.Start(ctx, Command{Line: stubborn[i%len(stubborn)], Env: env})
		if err != nil {
			t.Fatal(err)
		}
		awaitReady(t, p)
		keeper := p.tree.(*kept).id.pid
		all := descendants(keeper)
		began := time.Now()
		cancel()
		o := ended(t, p)
		took = append(took, time.Since(began))
		if o.Ended != Cancelled || o.Leftover != 0 || !strings.Contains(o.Output.Head, "ready") {
			t.Errorf("tree %d: %+v", i%len(stubborn), o)
		}
		for _, d := range all { // by PID too: one of the trees clears its environment
			if d.alive() {
				t.Errorf("tree %d: process %d is left", i%len(stubborn), d.pid)
			}
		}
		if left := tagsLeft(t, tag); left != nil {
			t.Errorf("tree %d: left %q", i%len(stubborn), left)
		}
	}
	slices.Sort(took)
	t.Logf("cancel to all gone: p50 %v, p95 %v, max %v", took[len(took)/2], took[len(took)*95/100], took[len(took)-1])
	if p95 := took[len(took)*95/100]; p95 > slack(250*time.Millisecond) {
		t.Errorf("p95 is %v", p95)
	}
}

// Without a keeper, processes are found by their environment or session.
func TestCancelBare(t *testing.T) {
	t.Parallel()
	r := bareRunner(t)
	for i, line := range stubborn {
		if strings.Contains(line, "env -i") {
			continue
		}
		env, tag := tagged(t)
		ctx, cancel := context.WithCancel(context.Background())
		p, err := r.Start(ctx, Command{Line: line, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		awaitReady(t, p)
		cancel()
		if o := ended(t, p); o.Ended != Cancelled || len(o.Notes) != 1 {
			t.Errorf("tree %d: %+v", i, o)
		}
		if left := tagsLeft(t, tag); left != nil {
			t.Errorf("tree %d: left %q", i, left)
		}
	}
}

// Processes that fork as fast as they can are stopped before they are killed.
func TestForkTree(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	env, tag := tagged(t)
	began := time.Now()
	o := run(t, r, Command{Line: `trap '' TERM; f() { n=$1; while [ $n -gt 0 ]; do n=$((n-1)); (f $n) & sleep 0.02; done; wait; }; echo ready; while :; do f 5; done`, Env: env, Timeout: 400 * time.Millisecond})
	if o.Ended != TimedOut || o.Leftover != 0 || time.Since(began) > slack(2*time.Second) {
		t.Errorf("after %v: %+v", time.Since(began), o)
	}
	if left := tagsLeft(t, tag); left != nil {
		t.Errorf("left %q", left)
	}
}

// A command that attacks its keeper leaves no process.
func TestKeeperUnderAttack(t *testing.T) {
	for _, c := range []struct {
		name, line string
		note       bool
	}{
		{"polite signals", `kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; echo ready; sleep 60`, false},
		{"killed", `setsid sleep 60 & echo ready; kill -KILL $PPID; sleep 60`, true},
		{"stopped", `trap '' TERM; setsid sleep 60 & echo ready; kill -STOP $PPID; sleep 60`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "stopped" && !soak.On() {
				t.Skip("takes four seconds: only in a soak")
			}
			r := opened(t, Options{})
			env, tag := tagged(t)
			o := longer(t, r, Command{Line: c.line, Env: env, Timeout: 300 * time.Millisecond}, printed("ready"))
			if !strings.Contains(o.Output.Head, "ready") || c.note != (o.Notes != nil) {
				t.Errorf("%+v", o)
			}
			if left := tagsLeft(t, tag); left != nil {
				t.Errorf("left %q", left)
			}
			if o := run(t, r, Command{Line: "echo next"}); o.Output.Head != "next\n" || o.Notes != nil {
				t.Errorf("the next command: %+v", o)
			}
		})
	}
}

// A spare keeper that was killed is replaced.
func TestDeadSpare(t *testing.T) {
	r := opened(t, Options{})
	r.keeper.probe()
	spare := r.keeper.spare[plain].kept.keeper
	spare.Kill()
	waittest.Until(t, "the spare keeper is gone", func() bool {
		// A killed process accepts commands as long as one of its threads exists.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", spare.Pid))
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", spare.Pid))
		return err != nil || strings.Contains(string(stat), ") Z ") && len(threads) <= 1
	})
	if o := run(t, r, Command{Line: "echo a"}); o.Output.Head != "a\n" || o.Notes != nil {
		t.Errorf("%+v", o)
	}
}

func TestStopAfterExit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *Runner) {
		env, tag := tagged(t)
		p, err := r.Start(context.Background(), Command{Line: "sleep 60 & echo a", Env: env})
		if err != nil {
			t.Fatal(err)
		}
		if o := ended(t, p); o.Ended != Exited || o.Leftover != 1 {
			t.Errorf("%+v", o)
		}
		p.Stop()
		within(t, p, p.gone)
		if left := tagsLeft(t, tag); left != nil {
			t.Errorf("left %q", left)
		}
	})
}

// Commands that exit when they are cancelled.
func TestCancelRace(t *testing.T) {
	r := opened(t, Options{State: t.TempDir()})
	for range soak.Count(20, 200) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(8000))*time.Microsecond)
		p, err := r.Start(ctx, Command{Line: "echo a; sleep 0.003"})
		if err == nil {
			ended(t, p)
			within(t, p, p.gone)
		}
		cancel()
	}
	if files, _ := os.ReadDir(r.opt.State); len(files) != 0 {
		t.Errorf("%d entries left in the ledger", len(files))
	}
}

// A detached command has no time limit and no context.
func TestDetach(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	for limit := 200 * time.Millisecond; ; limit *= 2 {
		gate := t.TempDir() + "/go"
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		began := time.Now()
		p, err := r.Start(ctx, Command{Line: "while [ ! -e " + gate + " ]; do sleep 0.01; done; echo done", Timeout: limit})
		if err != nil {
			t.Fatal(err)
		}
		p.Detach()
		if time.Since(began) >= limit && limit < time.Minute {
			p.Stop()
			continue // too late
		}
		cancel()
		time.Sleep(limit) // not synchronization: the time limit that no longer applies
		os.WriteFile(gate, nil, 0o600)
		if o := ended(t, p); o.Ended != Exited || o.Output.Head != "done\n" {
			t.Errorf("%+v", o)
		}
		return
	}
}

// With a helper that is not a keeper, commands run without one, and only once.
func TestHelperThatIsNone(t *testing.T) {
	r := Open(Options{Helper: Helper{path: "/bin/true"}})
	defer r.Close()
	file := t.TempDir() + "/runs"
	for range 2 {
		if o := run(t, r, Command{Line: "echo run >> " + file}); o.Exit != 0 || len(o.Notes) != 1 {
			t.Errorf("%+v", o)
		}
	}
	if b, _ := os.ReadFile(file); string(b) != "run\nrun\n" {
		t.Errorf("%q", b)
	}
	if h := r.Health(); h.Helper || len(h.Notes) != 1 {
		t.Errorf("%+v", h)
	}
	missing := Open(Options{Helper: Helper{path: "/missing/helper"}})
	defer missing.Close()
	if h := missing.Health(); h.Helper || len(h.Notes) != 1 {
		t.Errorf("%+v", h)
	}
}

// A command that kills its keeper immediately is not run again.
func TestNeverTwice(t *testing.T) {
	r := opened(t, Options{})
	for range soak.Count(10, 200) {
		file := t.TempDir() + "/runs"
		run(t, r, Command{Line: "echo run >> " + file + "; kill -KILL $PPID; sleep 5"})
		if b, _ := os.ReadFile(file); string(b) != "run\n" {
			t.Fatalf("%q", b)
		}
	}
}
