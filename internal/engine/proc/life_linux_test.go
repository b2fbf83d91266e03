package proc

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// lives are sandboxes with different parent processes for a command.
var lives = map[string]*sandbox.Spec{
	"none":       nil,
	"read-only":  {Mode: sandbox.ReadOnly},
	"one world":  {Mode: sandbox.Workspace, Without: sandbox.PIDs},
	"own world":  {Mode: sandbox.Workspace},
	"bubblewrap": {Mode: sandbox.Workspace, Bubblewrap: true},
}

// inEachLife runs a test in each of them.
func inEachLife(t *testing.T, test func(t *testing.T, r *Runner, c Command)) {
	needsLayers(t)
	for name, spec := range lives {
		t.Run(name, func(t *testing.T) {
			if name == "bubblewrap" {
				needsBubblewrap(t)
			}
			c := Command{Dir: t.TempDir(), Sandbox: spec, Timeout: 5 * time.Minute}
			if spec != nil {
				mine := *spec
				mine.Roots = []string{c.Dir}
				c.Sandbox = &mine
			}
			test(t, opened(t, Options{}), c)
		})
	}
}

// A sandbox doesn't change exit codes, signals, the handling of SIGTERM,
// leftover processes and orphans.
func TestLifeInBoxes(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		for _, e := range []struct {
			line   string
			exit   int
			signal syscall.Signal
			prints string
		}{
			{"exit 3", 3, 0, ""},
			{"kill -SEGV $$", -1, syscall.SIGSEGV, ""},
			{"kill -TERM $$; echo not reached", -1, syscall.SIGTERM, ""},
			{"{ sh -c 'kill -KILL $$'; } 2>/dev/null; echo $?", 0, 0, "137\n"},
			{"kill -0 $PPID 2>/dev/null; set -m; sleep 60 & kill -- -$!; wait $! 2>/dev/null; echo $?", 0, 0, "143\n"},
			// Orphans do not stay as zombies. cat ends when the last of them has exited.
			{"for i in 1 2 3 4 5 6 7 8; do (true & true &); done | cat; until grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | xargs -r grep -hs PPid | grep -cw $PPID | grep -x 0; do sleep 0.01; done", 0, 0, "0\n"},
		} {
			c.Line = e.line
			o := run(t, r, c)
			if strings.Contains(t.Name(), "bubblewrap") && e.signal != 0 { // it reports signals like a shell
				e.exit, e.signal = 128+int(e.signal), 0
			}
			if o.Exit != e.exit || o.Signal != e.signal || o.Output.Head != e.prints || o.Leftover != 0 {
				t.Errorf("%s: %+v", e.line, o)
			}
		}
	})
}

// A stopped command can print from its SIGTERM handler, also in a sandbox.
func TestLastWordInBoxes(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		r.opt.Grace = 10 * time.Minute
		c.Line = `trap 'echo bye; kill $! 2>/dev/null; exit 7' TERM; sleep 3600 & echo up; wait`
		c.Timeout = 500 * time.Millisecond
		o := longer(t, r, c, printed("up"))
		if o.Ended != TimedOut || o.Output.Head != "up\nbye\n" || o.Duration > r.opt.Grace {
			t.Errorf("%+v", o)
		}
	})
}

// Leftover processes run until the Runner is closed or their keeper is killed.
func TestLeftoversInBoxes(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		env, tag := tagged(t)
		c.Env, c.Line = env, "setsid sleep 300 & sleep 0.1; exit 4"
		o := run(t, r, c)
		if o.Exit != 4 || o.Leftover == 0 || len(tagsNow(tag)) == 0 {
			t.Errorf("%+v, %q", o, tagsNow(tag))
		}
		p, err := r.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		ended(t, p)
		if k, ok := p.tree.(*kept); ok {
			k.keeper.Kill()
			within(t, p, p.gone)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left := tagsLeft(t, tag); left != nil {
			t.Errorf("left %q", left)
		}
	})
}

// In its own PID namespace a command sees and signals only its own processes.
// Signals 32 and 34 are not tested: Go can't catch them, so a command that sends
// one to its keeper may kill the keeper and itself, which is reported. Where the
// kernel restricts signals, they are denied.
func TestOwnProcessNumbers(t *testing.T) {
	needsLayers(t)
	if !sandbox.Probe().PIDs {
		t.Skip("there is no pid namespace here:", sandbox.Probe().PIDsWhy)
	}
	r := opened(t, Options{})
	dir := t.TempDir()
	spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}
	if o := run(t, r, Command{Line: "true", Dir: dir, Sandbox: spec}); o.Exit != 0 {
		t.Fatalf("%+v", o)
	}
	if lost, why := r.keeper.losses(); lost != 0 {
		t.Skip("there is no pid namespace here:", why)
	}
	other, err := r.Start(t.Context(), Command{Line: "sleep 300", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, r, Command{Line: `echo $PPID; ls -d /proc/[0-9]* | wc -l; readlink /proc/self >/dev/null && echo seen
for s in STOP KILL ABRT SEGV QUIT ILL TERM USR1 TSTP XCPU SYS; do kill -$s $PPID; done 2>/dev/null; kill -KILL -1 2>/dev/null; echo here`, Dir: dir, Sandbox: spec})
	f := strings.Fields(o.Output.Head)
	if o.Exit != 0 || len(f) != 4 || f[0] != "1" || len(f[1]) != 1 || f[2] != "seen" || f[3] != "here" {
		t.Errorf("%+v", o)
	}
	select {
	case <-other.Done():
		t.Errorf("a process outside was killed: %+v", other.Wait())
	case <-time.After(100 * time.Millisecond):
	}
	other.Stop()
}

// Forking processes can't escape, in any sandbox.
func TestForkingInBoxes(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		env, tag := tagged(t)
		// Up to sixty processes in their own sessions, each with a child, ignore SIGTERM.
		c.Env, c.Line = env, `f() { trap '' TERM HUP; [ $1 -gt 0 ] || echo leaf $$; for i in 1 2; do [ $1 -gt 0 ] && (setsid bash -c "$(declare -f f); f $(($1-1))" &) ; done; while :; do (sleep 0.01); done; }; f 4`
		p, err := r.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the tree has grown", func() bool { return strings.Count(p.Read(0, 0).Text, "leaf") > 8 })
		p.Stop()
		o := ended(t, p)
		if left := tagsLeft(t, tag); left != nil || o.Ended != Stopped || o.Leftover != 0 {
			t.Errorf("%+v, left %q", o, left)
		}
	})
}

// Where a fresh /proc cannot be mounted the sandbox is made without process
// its own numbers, and reports it.
func TestNoFreshProc(t *testing.T) {
	needsLayers(t)
	if os.Getenv("BOX_COVERED_PROC") == "" {
		if os.Getuid() != 0 {
			t.Skip("only root can cover a part of /proc")
		}
		againIn(t, "BOX_COVERED_PROC=1")
		return
	}
	if err := syscall.Mount("/dev/null", "/proc/cmdline", "", syscall.MS_BIND, ""); err != nil { // as containers do
		t.Skip("cannot cover a part of /proc:", err)
	}
	r := opened(t, Options{})
	dir := t.TempDir()
	o := run(t, r, Command{Line: "touch inside; kill -0 $PPID 2>/dev/null; touch /usr/adze-must-not-be", Dir: dir, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}})
	if _, err := os.Stat(dir + "/inside"); err != nil || o.Exit == 0 || o.Boxed != sandbox.Workspace || len(o.Notes) > 0 {
		t.Errorf("%v %+v", err, o)
	}
	text := strings.Join(r.Health().Sandbox.Lines(false), "\n")
	if !strings.Contains(text, "no pid namespace: create the sandbox: mount a fresh /proc: operation not permitted") || !strings.Contains(text, "workspace: enforced by landlock+seccomp+namespaces\n") {
		t.Error(text)
	}
}
