package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// With missing layers, a command runs with a note, or fails with an error. It
// never hangs and never runs without a sandbox unnoticed.
func TestMissingLayers(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	const all = sandbox.Landlock | sandbox.Seccomp | sandbox.Notify | sandbox.Namespaces
	for without := sandbox.Layers(0); without <= all; without++ {
		if without.Has(sandbox.Notify) && without != all && without != sandbox.Notify {
			continue // it matters to no other layer
		}
		for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceNetwork} {
			for _, effort := range []bool{false, true} {
				dir := t.TempDir()
				spec := &sandbox.Spec{Mode: mode, Roots: []string{dir}, Protect: places.Protected([]string{dir}, nil), Without: without, BestEffort: effort}
				o, err := r.Run(context.Background(), Command{Line: "touch /etc/adze-must-not-be 2>&1; echo ran", Dir: dir, Sandbox: spec, Timeout: time.Minute})
				if err == nil && o.Ended != Exited {
					t.Errorf("%v without %v: %+v", mode, without, o)
				}
				held := without&(sandbox.Landlock|sandbox.Namespaces) != sandbox.Landlock|sandbox.Namespaces
				held = held && (mode == sandbox.WorkspaceNetwork || !without.Has(sandbox.Seccomp) || mode == sandbox.Workspace && !without.Has(sandbox.Namespaces))
				switch {
				case err != nil && (held || effort):
					t.Errorf("%v without %v, best effort %v: %v", mode, without, effort, err)
				case err != nil:
					if !errors.Is(err, sandbox.ErrUnenforceable) {
						t.Errorf("%v without %v: %v", mode, without, err)
					}
				case !held && !effort:
					t.Errorf("%v without %v ran: %+v", mode, without, o)
				case !held && len(o.Notes) == 0:
					t.Errorf("%v without %v ran without a word", mode, without)
				case !strings.HasSuffix(o.Output.Head, "ran\n"):
					t.Errorf("%v without %v printed %q", mode, without, o.Output.Head)
				}
			}
		}
	}
	os.Remove("/etc/adze-must-not-be")
}

// A program without a helper can't use sandboxes, and says so.
func TestNoKeeperNoBox(t *testing.T) {
	r := bareRunner(t)
	spec := &sandbox.Spec{Mode: sandbox.ReadOnly}
	if _, err := r.Run(context.Background(), Command{Line: "true", Sandbox: spec}); err == nil || !strings.Contains(err.Error(), "adze.Main") {
		t.Error(err)
	}
	spec.BestEffort = true
	o := run(t, r, Command{Line: "echo a", Sandbox: spec})
	if o.Output.Head != "a\n" || o.Boxed != sandbox.Off || !strings.Contains(strings.Join(o.Notes, " "), "ran without its read-only sandbox") {
		t.Errorf("%+v", o)
	}
}

// Namespaces that seemed to work and do not are done without.
func TestNamespacesBreakLater(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	r.keeper.breaks(namespaced, errors.New("a test says so"))
	dir := t.TempDir()
	spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Protect: places.Protected([]string{dir}, nil)}
	o := run(t, r, Command{Line: "touch a && echo b > /dev/null", Dir: dir, Sandbox: spec})
	notes := strings.Join(o.Notes, " ")
	if o.Exit != 0 || o.Boxed != sandbox.Workspace || !strings.Contains(notes, "a test says so") || !strings.Contains(notes, "Protected paths are not enforced") {
		t.Errorf("%+v", o)
	}
}

// Failures because of the sandbox are distinguished from others.
func TestSuspect(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir := t.TempDir()
	for _, c := range []struct {
		line string
		mode sandbox.Mode
		want string
	}{
		{"echo x > x", sandbox.ReadOnly, "read-only file system"},
		{"chmod 700 .", sandbox.ReadOnly, "a file's mode"},
		{"exec 3<>/dev/tcp/127.0.0.1/1", sandbox.ReadOnly, "the network"},
		{"touch /usr/x", sandbox.Workspace, "read-only file system"},
		{"exec 3<>/dev/tcp/127.0.0.1/1", sandbox.Workspace, "connection refused"},
		{"exec 3<>/dev/tcp/127.0.0.1/1", sandbox.WorkspaceNetwork, ""},
		{"exit 3", sandbox.Workspace, ""},
		{"ls -l /missing", sandbox.ReadOnly, ""},
		{"touch x; true", sandbox.ReadOnly, ""},
		{"touch x", sandbox.Off, ""},
	} {
		o := run(t, r, Command{Line: c.line, Dir: dir, Sandbox: &sandbox.Spec{Mode: c.mode, Roots: []string{dir}}})
		if !strings.Contains(o.Suspect, c.want) || c.want == "" && o.Suspect != "" {
			t.Errorf("%s in %v: suspect %q, %s", c.line, c.mode, o.Suspect, o.Output)
		}
	}
}

// A sandbox keeps nothing open in its command, and leaves nothing behind, not even
// when the command is killed or its keeper dies.
func TestBoxLeavesNothing(t *testing.T) {
	r := opened(t, Options{})
	dir := t.TempDir()
	spec := places.For(sandbox.Workspace, []string{dir}, nil, os.Environ(), nil)
	temps := func() []string {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), "adze-box-*"))
		return found
	}
	t.Setenv("TMPDIR", t.TempDir()) // without sandboxes of other programs
	for _, s := range []*sandbox.Spec{spec, {Mode: sandbox.ReadOnly}} {
		o := run(t, r, Command{Line: "for f in /proc/self/fd/*; do [ -e $f ] && echo ${f##*/}; done | tr '\\n' ' '; echo $TMPDIR", Dir: dir, Sandbox: s})
		if !strings.HasPrefix(o.Output.Head, "0 1 2 ") || len(strings.Fields(o.Output.Head)) > 4 {
			t.Errorf("%v: descriptors %q", s.Mode, o.Output.Head)
		}
		run(t, r, Command{Line: "sleep 30", Dir: dir, Sandbox: s, Timeout: 50 * time.Millisecond})
		// The command kills its own keeper. The next sandbox removes what that left.
		mortal := *s
		mortal.Without |= sandbox.PIDs
		run(t, r, Command{Line: "kill -KILL $PPID; sleep 30", Dir: dir, Sandbox: &mortal})
		run(t, r, Command{Line: "true", Dir: dir, Sandbox: s})
	}
	r.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 || len(temps()) > 0 {
		t.Errorf("left behind: %v %v", left, temps())
	}
}

// Two sandboxes in one workspace: the first one to end keeps the placeholders of
// the other.
func TestBoxesSideBySide(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir := t.TempDir()
	spec := places.For(sandbox.Workspace, []string{dir}, nil, os.Environ(), nil)
	p, err := r.Start(t.Context(), Command{Line: "touch up; while [ ! -e go ]; do sleep 0.01; done; mkdir .adze; echo $?", Dir: dir, Sandbox: spec})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the first command runs", func() bool {
		_, err := os.Stat(dir + "/up")
		return err == nil
	})
	for range 5 {
		run(t, r, Command{Line: "true", Dir: dir, Sandbox: places.For(sandbox.Workspace, []string{dir}, nil, os.Environ(), nil)})
	}
	os.WriteFile(dir+"/go", nil, 0o600)
	if o := ended(t, p); !strings.HasSuffix(o.Output.Head, "1\n") {
		t.Errorf("%+v", o)
	}
	r.Close()
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("there are %v", left)
	}
}

// A system that allows no user namespaces, as in most containers: this binary
// again, in one that allows no more.
func TestNoUserNamespaces(t *testing.T) {
	if os.Getenv("BOX_NO_NAMESPACES") != "" {
		withoutUserNamespaces(t)
		return
	}
	needsLayers(t)
	if os.Getuid() != 0 {
		t.Skip("only root can forbid them")
	}
	againIn(t, "BOX_NO_NAMESPACES=1")
}

// againIn runs the test again, as root of a user and a mount namespace, with a variable that marks it.
func againIn(t *testing.T, variable string) {
	t.Helper()
	attr := sandbox.Apart{}.Attr()
	attr.Unshareflags = syscall.CLONE_NEWNS
	again(t, t.Name(), attr, variable)
}

// again runs a test in a child process, with a variable that marks it.
func again(t *testing.T, name string, attr *syscall.SysProcAttr, variable string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable)
	cmd.SysProcAttr = attr
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS") {
		t.Errorf("%v\n%s", err, text)
	}
}

func withoutUserNamespaces(t *testing.T) {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	r := opened(t, Options{})
	dir := t.TempDir()
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace} {
		spec := places.For(mode, []string{dir}, nil, os.Environ(), nil)
		o := run(t, r, Command{Line: "touch /usr/adze-must-not-be", Dir: dir, Sandbox: spec})
		said := strings.Contains(strings.Join(o.Notes, " "), "Protected paths are not enforced: the limit of user namespaces is reached")
		if o.Exit == 0 || o.Boxed != mode || said != (mode == sandbox.Workspace) {
			t.Errorf("%+v", o)
		}
	}
}

// git takes settings and hooks from where .git/commondir says.
func TestPlantedCommondir(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir, env := project(t)
	spec := places.For(sandbox.Workspace, []string{dir}, nil, env, nil)
	o := run(t, r, Command{Line: "echo ../evil > .git/commondir; exit 1", Dir: dir, Env: env, Sandbox: spec})
	r.Close()
	if _, err := os.Lstat(dir + "/.git/commondir"); err == nil || o.Suspect == "" {
		t.Errorf("it stays; %+v", o)
	}
}

// A stubborn tree is killed in a sandbox too.
func TestStubbornTreeInBox(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir := t.TempDir()
	env, tag := tagged(t)
	line := `(setsid bash -c 'trap "" TERM; sleep 300; sleep 300' &); trap '' TERM; sleep 300; sleep 300`
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceNetwork} {
		began := time.Now()
		o := run(t, r, Command{Line: line, Dir: dir, Env: env, Timeout: 200 * time.Millisecond, Sandbox: places.For(mode, []string{dir}, nil, env, nil)})
		if left := tagsLeft(t, tag); left != nil || o.Ended != TimedOut || o.Leftover != 0 {
			t.Errorf("%v: %+v, left %q", mode, o, left)
		}
		if took := time.Since(began) - 200*time.Millisecond; took > slack(250*time.Millisecond) {
			t.Errorf("%v: took %v", mode, took)
		}
	}
}

// A program without a path to itself, for example without /proc, used to report that it can't find the command.
func TestHereWithoutAPathToItself(t *testing.T) {
	dir := t.TempDir()
	c := Command{Argv: []string{"true"}, Dir: dir, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}}
	if _, err := Here(t.Context(), Helper{path: dir + "/missing"}, c, func(string) {}); err == nil || !strings.Contains(err.Error(), "supervisor process, which can't be started") {
		t.Error(err)
	}
}

// Where what bubblewrap starts has no capabilities, trials say so, and commands in
// a sandbox of bubblewrap still run.
func TestLauncherLost(t *testing.T) {
	t.Parallel()
	k := newKeepers(Helper{})
	all := sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces | sandbox.PIDs
	trial := &spec{plan: sandbox.Plan{Layers: all, Trial: true, Loopback: true, Launched: true}, box: &sandbox.Spec{Mode: sandbox.Trial}}
	want, err := k.kindFor(trial)
	if err != nil || want != namespaced|ownNetwork|ownPIDs|ofTrial|launched {
		t.Fatal(want, err)
	}
	if !k.breaks(want, &boxError{why: "make mounts private: operation not permitted", early: true}) {
		t.Fatal("it is not remembered")
	}
	const text = "create the sandbox: it doesn't work in namespaces of bubblewrap (make mounts private: operation not permitted: the system may deny capabilities to what bubblewrap starts)"
	if _, err := k.kindFor(trial); err == nil || err.Error() != text {
		t.Error(err)
	}
	for _, plan := range []sandbox.Plan{{Layers: sandbox.Bubblewrap | sandbox.Landlock | sandbox.Seccomp}, {Layers: all}} {
		s := &spec{plan: plan, box: &sandbox.Spec{Mode: sandbox.ReadOnly}}
		if want, err := k.kindFor(s); err != nil || want != kindOf(plan) || s.plan.Layers != plan.Layers {
			t.Errorf("%v: %v %v", plan.Layers, want, err)
		}
	}
}
