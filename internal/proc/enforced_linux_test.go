package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

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
