package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// kernels are the expected results for the kernels of package kerneltest.
var kernels = map[string]struct {
	says string // in what is said of the sandbox
	runs string // which modes can be had: r(ead-only), w(orkspace)
}{
	"no Landlock":      {"this kernel doesn't support Landlock", "rw"},
	"a container":      {"user namespaces are not allowed", "rw"},
	"docker":           {"user namespaces are not allowed", "rw"},
	"podman":           {"", "rw"},
	"too many already": {"the limit of user namespaces is reached", "rw"},
	"no mounts":        {"", "rw"},
	"old mounts":       {"this kernel can't make mounts read-only recursively", "rw"},
	"no seccomp":       {"seccomp filters don't work: operation not permitted", "w"},
	"no keeper":        {"it requires a supervisor process", ""},
	"nothing":          {"No sandbox is available", ""},
}

// With any kernel, a command runs with a note about what is missing, or doesn't run with an error about it. Nothing hangs.
func TestBarrenPlaces(t *testing.T) {
	if name := os.Getenv("BOX_BARREN"); name != "" {
		withKernel(t, name)
		return
	}
	needsLayers(t)
	for _, name := range kerneltest.Places() {
		t.Run(name, func(t *testing.T) { again(t, "TestBarrenPlaces", nil, "BOX_BARREN="+name) })
	}
}

// kernelArg makes the test binary a keeper in a place of package kerneltest.
const kernelArg = "in-kernel"

// A sandbox that can't be made once, for lack of memory for example, used to cost the session that layer permanently. It is
// tried again.
func TestKeeperThatFailsOnce(t *testing.T) {
	needsLayers(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := "if mkdir %[1]s/once 2>/dev/null; then exec %[2]s %[3]s 'no mounts' \"$@\"; fi\nexec %[2]s \"$@\""
	r := Open(Options{Helper: shellKeeper(t, fmt.Sprintf(script, dir, self, kernelArg))})
	defer r.Close()
	o := run(t, r, Command{Line: "echo ran", Dir: dir, Sandbox: places.For(sandbox.ReadOnly, []string{dir}, nil, os.Environ(), nil)})
	if lost, why := r.keeper.losses(); lost != 0 || o.Boxed != sandbox.ReadOnly || o.Output.Head != "ran\n" || len(o.Notes) > 0 {
		t.Errorf("lost %v (%v): %+v", lost, why, o)
	}
	if _, err := os.Stat(dir + "/once"); err != nil {
		t.Error("no keeper failed")
	}
}

func withKernel(t *testing.T, name string) {
	place, ok := kernels[name]
	if !ok {
		t.Fatal("nothing is said of", name)
	}
	if err := kerneltest.Become(name); err != nil {
		t.Skip(err)
	}
	began := time.Now()
	r := opened(t, Options{})
	dir := t.TempDir()
	for letter, mode := range map[string]sandbox.Mode{"r": sandbox.ReadOnly, "w": sandbox.Workspace} {
		can := strings.Contains(place.runs, letter)
		spec := func() *sandbox.Spec { return places.For(mode, []string{dir}, nil, os.Environ(), nil) }
		o, err := r.Run(context.Background(), Command{Line: "echo ran", Dir: dir, Sandbox: spec(), Timeout: hangTime})
		if can != (err == nil) || can && (o.Boxed != mode || o.Output.Head != "ran\n") {
			t.Errorf("%s: %v %+v", mode, err, o)
		}
		if !can && !errors.Is(err, sandbox.ErrUnenforceable) && !errors.Is(err, errNoKeeper) {
			t.Errorf("%s: %v", mode, err)
		}
		effort := spec()
		effort.BestEffort = true
		o = run(t, r, Command{Line: "echo ran", Dir: dir, Sandbox: effort})
		if said := strings.Join(o.Notes, " "); o.Output.Head != "ran\n" || !can && !strings.Contains(said, "sandbox") {
			t.Errorf("%s, best effort: %+v", mode, o)
		}
	}
	if text := strings.Join(r.Health().Sandbox.Lines(false), "\n"); !strings.Contains(text, place.says) {
		t.Errorf("%q is not in\n%s", place.says, text)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

// shellKeeper returns a keeper that is a shell script.
func shellKeeper(t *testing.T, script string) Helper {
	t.Helper()
	path := t.TempDir() + "/keeper"
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Helper{path}
}

// A keeper that hadn't reported anything yet counted as one that works. On a busy machine, where five tries took over five
// seconds, adze doctor then gave a wrong reason why there is no sandbox.
func TestSlowKeeperIsNotProven(t *testing.T) {
	t.Parallel()
	began := t.TempDir() + "/began"
	r := Open(Options{Helper: shellKeeper(t, "> "+began+"; exec sleep 1000")})
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		waittest.Holds(func() bool { _, err := os.Stat(began); return err == nil })
	}()
	if p, err := r.Start(ctx, Command{Line: "true"}); err == nil {
		p.tree.(*kept).keeper.Kill() // sleep ignores the request to stop
		ended(t, p)
	}
	if r.keeper.proven[plain] {
		t.Error("a keeper that reported nothing is known to work")
	}
}

// A command that stops its keeper, before that has reported the start, counts as started.
func TestKeeperStoppedAtOnce(t *testing.T) {
	t.Parallel()
	r := Open(Options{Helper: shellKeeper(t, "kill -STOP $$")})
	defer r.Close()
	p, err := r.Start(t.Context(), Command{Line: "true"})
	if err != nil {
		t.Fatal(err)
	}
	p.tree.(*kept).keeper.Kill()
	if o := ended(t, p); !strings.Contains(strings.Join(o.Notes, " "), "supervisor process was killed") {
		t.Errorf("%+v", o)
	}
}
