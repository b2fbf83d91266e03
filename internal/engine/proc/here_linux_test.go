package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// A user's command has the streams of this program. It is not run in parallel: the streams are exchanged.
func TestHere(t *testing.T) {
	needsLayers(t)
	dir := t.TempDir()
	outside := t.TempDir() + "/outside"
	line := "cat; touch inside " + outside + " 2>/dev/null; echo $? $TMPDIR; ls .adze .git; kill -TERM $$"
	for _, c := range []struct {
		mode    sandbox.Mode
		without sandbox.Layers
		want    string
		made    bool
		numbers bool // its own PIDs: the signal is seen by the first process there
	}{
		{sandbox.Off, 0, "typed\n0", true, false},
		{sandbox.ReadOnly, 0, "typed\n1 /", false, true},
		{sandbox.Workspace, 0, "typed\n1", true, true},
		{sandbox.Workspace, sandbox.PIDs, "typed\n1", true, false},
		{sandbox.Workspace, sandbox.Namespaces, "typed\n1", true, false},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
			os.WriteFile(in, []byte("typed\n"), 0o600)
			os.Remove(outside)
			os.Remove(dir + "/inside")
			var notes []string
			o, err := withStreams(t, in, out, func() (Outcome, error) {
				spec := &sandbox.Spec{Mode: c.mode, Roots: []string{dir}, Without: c.without, Protect: places.Protected([]string{dir}, nil)}
				return Here(context.Background(), helper, Command{Line: line, Dir: dir, Sandbox: spec}, func(n string) { notes = append(notes, n) })
			})
			text, _ := os.ReadFile(out)
			if err != nil || !strings.HasPrefix(string(text), c.want) || (o.Signal == 15) == c.numbers || (o.Exit == 128+15) != c.numbers || o.Boxed != c.mode {
				t.Errorf("%v %+v %q", err, o, text)
			}
			if _, err := os.Stat(dir + "/inside"); (err == nil) != c.made {
				t.Errorf("inside: %v", err)
			}
			if (len(notes) > 0) != c.without.Has(sandbox.Namespaces) {
				t.Errorf("notes %q", notes)
			}
			if left, _ := os.ReadDir(dir); len(left) > 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if _, err := Here(context.Background(), Helper{}, Command{Line: "true", Sandbox: &sandbox.Spec{Mode: sandbox.ReadOnly}}, nil); err == nil || !strings.Contains(err.Error(), "adze.Main") {
		t.Error("without a helper:", err)
	}
}

func withStreams(t *testing.T, in, out string, do func() (Outcome, error)) (Outcome, error) {
	t.Helper()
	r, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stdin, stdout, stderr := os.Stdin, os.Stdout, os.Stderr
	defer func() { os.Stdin, os.Stdout, os.Stderr = stdin, stdout, stderr }()
	os.Stdin, os.Stdout, os.Stderr = r, w, w
	return do()
}

func FuzzSpec(f *testing.F) {
	s := spec{argv: []string{"bash", "-c", "x"}, dir: "/", script: "\xff", env: []string{"A=\xfe", ""}}
	f.Add(s.encode())
	f.Add([]byte{0, 0, 1, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _, err := decodeSpec(b)
		if err != nil {
			return
		}
		again, _, err := decodeSpec(s.encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, again, cmp.AllowUnexported(spec{})); d != "" {
			t.Error(d)
		}
	})
}

func TestMessages(t *testing.T) {
	var b bytes.Buffer
	send(&b, msgExited, numbers(7, 1<<20))
	send(&b, msgEmpty, nil)
	kind, body, err := receive(&b)
	if kind != msgExited || number(body, 0) != 7 || number(body, 1) != 1<<20 || number(body, 2) != 0 || err != nil {
		t.Error(kind, body, err)
	}
	if kind, body, err = receive(&b); kind != msgEmpty || len(body) != 0 || err != nil {
		t.Error(kind, body, err)
	}
	if _, _, err = receive(bytes.NewReader([]byte{'R', 255, 255, 255, 255})); err == nil {
		t.Error("a message of 4 GB was accepted")
	}
}

// ioctlRequests are requests that a read-only sandbox refuses, whatever file they are made on, and some that it doesn't.
var ioctlRequests = []struct {
	name   string
	number uintptr
	modes  string // in which it is refused; empty: in none
}{
	{"TIOCSTI", unix.TIOCSTI, "read-only workspace"},
	{"TIOCLINUX", 0x541c, "read-only workspace"},
	{"FS_IOC_SETFLAGS", 0x40086602, "read-only"},
	{"FS_IOC_SETVERSION", 0x40087602, "read-only"},
	{"FS_IOC_FSSETXATTR", 0x401c5820, "read-only"},
	{"BTRFS_IOC_SNAP_CREATE", 0x50009401, "read-only"},
	{"F2FS_IOC_START_ATOMIC_WRITE", 0xf501, "read-only"},
	{"FS_IOC_GETFLAGS", 0x80086601, ""},
	{"FIONREAD", 0x541b, ""},
	{"TIOCGWINSZ", unix.TIOCGWINSZ, ""},
}

// ioctls makes the requests on the current directory and prints what came of them.
func ioctls() int {
	dir, err := os.Open(".")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, r := range ioctlRequests {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), r.number, 0) // no memory: none of them succeeds
		fmt.Println(r.name, errno == unix.EPERM)
	}
	return 0
}

// Each kind of ioctl that changes files or types into a terminal is refused by its number, also those of file systems
// that aren't there.
func TestIoctlsRefused(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	dir := t.TempDir()
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.ReadOnly, sandbox.Workspace} {
		o := run(t, r, Command{Argv: []string{unraced}, Dir: dir, Env: []string{"BOX_ATTEMPT=ioctls", "GORACE=atexit_sleep_ms=0"}, Sandbox: &sandbox.Spec{Mode: mode, Roots: []string{dir}}})
		for _, q := range ioctlRequests {
			if want := fmt.Sprintln(q.name, strings.Contains(q.modes, string(mode))); !strings.Contains("\n"+o.Output.Head, "\n"+want) {
				t.Errorf("%s: expected %q in %s", mode, want, o.Output.Head)
			}
		}
	}
}

// In a container, the console is a terminal from outside, mounted on its own. Commands have none.
func TestNoConsole(t *testing.T) {
	const inside = "ADZE_TEST_CONSOLE"
	if os.Getenv(inside) == "" {
		needsLayers(t)
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestNoConsole$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if strings.Contains(string(text), "--- SKIP") {
			t.Skip(string(text))
		}
		return
	}
	master, slave, err := terminal()
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	if err := unix.Mount(slave, "/dev/console", "", unix.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	r := opened(t, Options{})
	dir := t.TempDir()
	const kind = "stat -Lc %t:%T /dev/console"
	if o := run(t, r, Command{Line: kind, Dir: dir}); o.Output.Head == "1:3\n" {
		t.Fatalf("without a sandbox it is no terminal: %q", o.Output.Head)
	}
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace} {
		if o := run(t, r, Command{Line: kind, Dir: dir, Sandbox: &sandbox.Spec{Mode: mode, Roots: []string{dir}}}); o.Output.Head != "1:3\n" {
			t.Errorf("%s: %s", mode, o.Output)
		}
	}
}
