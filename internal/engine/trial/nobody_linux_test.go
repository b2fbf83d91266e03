package trial

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// asNobody are the tests that an ordinary user runs too: those about rights, and about what the two backends do differently.
const asNobody = "TestTryKeepDrop|TestKilledChild|TestNetwork|TestMasked|TestSubstitutes|TestSubstitutesMoved|TestPlaces|TestForeign|TestBelowTemp|" +
	"TestPlantedInTemp|TestCaches|TestLaunched|TestSessionUsage|TestHardLinks|TestSessionsShareAWorkspace"

// soakAsNobody are those that make soak adds. Without it, only root runs them, or everything runs as an ordinary user anyway.
// A part of the soak runs only these, with their usual counts: make test runs the others.
const soakAsNobody = "TestKeepEqualsRunning|TestKilledWhileKeeping|TestEffects|TestCorpus|TestDeepDirectories|TestUsage"

// An ordinary user has the same trials.
func TestAsNobody(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	testAsNobody(t)
}

// So has one whose namespaces are made by bubblewrap.
func TestByBubblewrap(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs to become another user")
	}
	if _, err := sandbox.LauncherArgs(false); err != nil {
		t.Skip(err)
	}
	testAsNobody(t, "TRIAL_LAUNCHED=1")
}

// The command has no capabilities, with built-in namespaces or bubblewrap's, and can be stopped.
func TestLaunched(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	tr, err := b.layers.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Drop()
	spec := tr.Spec(nil)
	if plan, err := spec.Plan(); err != nil || plan.Launched != (without() != 0) {
		t.Fatalf("%+v %v", plan, err)
	}
	start := func(line string) *proc.Process {
		t.Helper()
		p, err := b.runner.Start(t.Context(), proc.Command{Line: line, Dir: b.root, Sandbox: spec})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	text := start("grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status; touch /etc/x; unshare -m true; mount -t tmpfs x .").Wait().Output.Head
	none := "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	if !strings.HasPrefix(text, none) || !strings.Contains(text, "/etc/x") || !strings.Contains(text, "unshare failed") || !strings.Contains(text, "mount: ") {
		t.Errorf("%s", text)
	}
	p := start("trap '' TERM; setsid sleep 1000 & echo up; sleep 1000")
	waittest.Until(t, "the command has printed", func() bool { return p.Progress().Bytes > 0 })
	p.Stop()
	if out := p.Wait(); out.Output.Head != "up\n" || out.Ended == proc.Exited || out.Leftover != 0 {
		t.Errorf("%+v", out)
	}
}

// testAsNobody runs tests in a second process.
func testAsNobody(t *testing.T, env ...string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "adze-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	copyProgram(t, filepath.Join(dir, "trial.test"))
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Chown(work, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	tests, share := asNobody, os.Getenv(soak.Variable)
	switch {
	case soak.Share() >= 1:
		tests += "|" + soakAsNobody
	case soak.On():
		tests, share = soakAsNobody, ""
	}
	first, _, _ := strings.Cut(tests, "|")
	var text []byte
	waittest.Until(t, "the copy can be started", func() bool {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, "trial.test"), "-test.run=^("+tests+")$", "-test.v")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "TMPDIR=" + work, "GORACE=atexit_sleep_ms=0", "TRIAL_TESTDATA=" + testdata(t)}
		c.Env = append(c.Env, soak.Variable+"="+share, plainadze.Variable+"="+os.Getenv(plainadze.Variable))
		c.Env = append(c.Env, env...)
		c.Dir = work
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		// A process that is just being started elsewhere may hold the copy open for
		// writing.
		text, err = c.CombinedOutput()
		return !errors.Is(err, syscall.ETXTBSY)
	})
	if errors.Is(err, syscall.EPERM) {
		t.Skip("cannot become another user here")
	}
	if err != nil || !strings.Contains(string(text), "--- PASS: "+first) && !strings.Contains(string(text), "--- SKIP: "+first) {
		t.Errorf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
}

// dropped is set in a process that dropCapabilities has started.
const dropped = "TRIAL_DROPPED"

// dropCapabilities starts the test again without those of the process, where
// bubblewrap is used: it doesn't start with any.
func dropCapabilities(t *testing.T) {
	t.Helper()
	if without() == 0 {
		return
	}
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), dropped+"=1"))
	}
	t.Fatal(err)
}

func copyProgram(t testing.TB, path string) {
	t.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

// testdata returns the directory with the lists of commands, readable by everyone.
func testdata(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("TRIAL_TESTDATA"); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("", "adze-testdata-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	for _, name := range []string{"attacks.txt", "harmless.txt"} {
		text, err := os.ReadFile(filepath.Join("../../../permission/testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
