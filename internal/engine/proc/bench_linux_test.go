package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// The cost of a keeper is the difference between these.

func BenchmarkTruePlain(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrueKeeper(b *testing.B) {
	r := opened(b, Options{State: b.TempDir()})
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		run(b, r, Command{Line: "true", Env: env})
	}
}

// As an agent calls it: with a pause in between, in which the next keeper is
// started.
func BenchmarkTrueKeeperPaused(b *testing.B) {
	r := opened(b, Options{State: b.TempDir()})
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		b.StopTimer()
		time.Sleep(2 * refillAfter) // not synchronization: the pause of an agent
		r.keeper.filling.Wait()
		b.StartTimer()
		run(b, r, Command{Line: "true", Env: env})
	}
}

func BenchmarkTrueBare(b *testing.B) {
	r := bareRunner(b)
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		run(b, r, Command{Line: "true", Env: env})
	}
}

// The cost of a sandbox is the difference between these and the one above.

func BenchmarkTrueReadOnly(b *testing.B) {
	benchBox(b, &sandbox.Spec{Mode: sandbox.ReadOnly})
}

func BenchmarkTrueWorkspaceLandlock(b *testing.B) {
	dir := b.TempDir()
	benchBox(b, &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: places.Caches(os.Environ()), Without: sandbox.Namespaces})
}

func BenchmarkTrueWorkspace(b *testing.B) {
	dir := b.TempDir()
	benchBox(b, places.For(sandbox.Workspace, []string{dir}, nil, os.Environ(), nil))
}

func BenchmarkTrueWorkspaceNetwork(b *testing.B) {
	dir := b.TempDir()
	benchBox(b, places.For(sandbox.WorkspaceNetwork, []string{dir}, nil, os.Environ(), nil))
}

func benchBox(b *testing.B, spec *sandbox.Spec) {
	r := opened(b, Options{State: b.TempDir()})
	env := Environ(os.Environ(), nil)
	run(b, r, Command{Line: "true", Env: env, Sandbox: spec})
	for b.Loop() {
		b.StopTimer()
		time.Sleep(2 * refillAfter) // not synchronization: the pause of an agent
		r.keeper.filling.Wait()
		b.StartTimer()
		if o := run(b, r, Command{Line: "true", Env: env, Sandbox: spec}); o.Exit != 0 || len(o.Notes) > 0 && spec.Without == 0 {
			b.Fatalf("%+v", o)
		}
	}
}
