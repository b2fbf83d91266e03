// Package sessions runs the corpora of commands in sessions of the binary, with a scripted model, and compares what
// happened with what 'adze permission check' says. Harmful commands do no harm: a session runs in its own namespaces,
// as an unprivileged user, and sees the disk read-only, with a tmpfs on what is writable.
package sessions

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/plainadze"
)

// stageVariable is set in the process in namespaces: "enter" while it has capabilities, then "run".
const stageVariable = "ADZE_SESSIONS"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(stageVariable) {
	case "enter":
		err = enter()
	case "run":
		err = runJob()
	default:
		os.Exit(testAll(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// testAll puts Adze first in PATH, and runs the tests.
func testAll(m *testing.M) int {
	program, remove, err := plainadze.Program()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	os.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// job is what one process in namespaces does.
type job struct {
	Place  string
	UID    int // of the sessions
	Groups []group
}

// start runs a job in a second process of this test, and reports problems. On this machine the process is an ordinary
// user, also where it is root in its namespaces.
func (j job) start(t *testing.T) (reports []report) {
	t.Helper()
	host := os.Getuid()
	if host == 0 {
		host = nobody
	}
	in, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := json.NewEncoder(in).Encode(j); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("adze")
	if err != nil {
		t.Fatal(err)
	}
	adze, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer adze.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{stageVariable + "=enter", "GORACE=atexit_sleep_ms=0", "LANG=C.UTF-8", "PLACE=" + j.Place}
	cmd.Stdin, cmd.ExtraFiles = in, []*os.File{adze}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: j.UID, HostID: host, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: j.UID, HostID: host, Size: 1}},
		Credential:  &syscall.Credential{Uid: uint32(j.UID), Gid: uint32(j.UID), NoSetGroups: true},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_RESOURCE},
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.GidMappings[0].HostID = os.Getgid()
	}
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces here, so nothing is run: %v", err)
	}
	for dec := json.NewDecoder(out); ; {
		var r report
		if dec.Decode(&r) != nil {
			break
		}
		if len(r.Problems) > 0 {
			t.Errorf("%s:%d: %s\n\t%s", r.File, r.Number, r.Text, strings.Join(r.Problems, "\n\t"))
		}
		reports = append(reports, r)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the process in namespaces failed: %v\n%s", err, stderr)
	}
	return reports
}

// tail keeps the end of what is written to it.
type tail []byte

func (b *tail) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	*b = (*b)[max(0, len(*b)-20_000):]
	return len(p), nil
}

func (b tail) String() string { return string(b) }

// inside is the program in the namespaces.
const inside = "/run/bin/adze"

// enter changes what the process sees, and starts it again without capabilities.
func enter() error {
	runtime.LockOSThread() // capabilities are a thread's
	if err := bashlab.Enter(); err != nil {
		return err
	}
	if err := routeToLoopback(); err != nil {
		return err
	}
	if os.Getenv("PLACE") == readOnly { // as in containers
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(environ(), stageVariable+"=run"))
}
