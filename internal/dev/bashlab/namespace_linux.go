package bashlab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaceVariable is set in a process in namespaces, to its kind.
const namespaceVariable = "ADZE_BASHLAB"

// The kinds of processes in namespaces.
const (
	runnerKind   = "runner"
	recorderKind = "recorder"
)

// SearchPath is the PATH in the namespaces: that of the test may lead to directories that are empty there, such as
// /tmp/x/bin.
const SearchPath = "/usr/local/bin:/usr/bin:/bin"

// writable are the directories that are a tmpfs in the namespaces.
var writable = []string{"/home", "/tmp", "/run", "/root", "/var/tmp"}

// Has reports whether a program is available in the namespaces.
func Has(name string) bool {
	return slices.ContainsFunc(filepath.SplitList(SearchPath), func(dir string) bool {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		return err == nil && !slices.ContainsFunc(writable,
			func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	})
}

// Main is for TestMain. It runs the tests; in a process that a Runner or Recorder started, it runs lines instead.
// approves says whether a policy runs a line without approval, for Command.IfApproved.
func Main(m *testing.M, approves func(line string) bool) {
	kind := os.Getenv(namespaceVariable)
	if kind == "" {
		os.Exit(m.Run())
	}
	err := Enter()
	switch {
	case err != nil:
	case kind == runnerKind:
		err = serveRunner(approves)
	case kind == recorderKind:
		err = serveRecorder()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bashlab:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a second process of this test binary, in its own user, mount, PID, network, IPC and UTS namespaces. It
// sees the disk read-only, with a tmpfs in place of /home, /tmp and the like, and a network in which only it answers.
// It runs one line at a time.
type process struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// startProcess starts a process until the end of a test. It skips the test where the system allows no namespaces.
func startProcess(t testing.TB, kind string) *process {
	t.Helper()
	p, err := openProcess(kind)
	if err != nil {
		t.Skipf("no namespaces here, so nothing is run: %v", err)
	}
	t.Cleanup(p.close)
	return p
}

func openProcess(kind string) (*process, error) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), namespaceVariable+"="+kind)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{in: in, out: bufio.NewReaderSize(out, 1<<20), cmd: cmd}
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		p.close()
		return nil, fmt.Errorf("%s %w", stderr.String(), err)
	}
	return p, nil
}

// close ends the process, which exits at the end of its input.
func (p *process) close() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// ask sends a question to the process and waits for the answer.
func (p *process) ask(t testing.TB, question, answer any) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	data, _ := json.Marshal(question)
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the process in namespaces failed at %+v: %v", question, err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		t.Fatal(err)
	}
}

// answer answers the questions on standard input, one a line, to its end.
func answer[Q, A any](do func(Q) (A, error)) error {
	fmt.Println("ready")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q Q
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		a, err := do(q)
		if err != nil {
			return err
		}
		data, _ := json.Marshal(a)
		fmt.Println(string(data))
	}
}

// Enter makes the disk read-only, mounts a tmpfs on what must be writable, and starts the loopback interface. It is for
// a process in its own user, mount, PID and network namespaces.
func Enter() error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"make the disk read-only", func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE,
				&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}},
		{"mount /proc", func() error { return unix.Mount("proc", "/proc", "proc", 0, "") }},
		{"chdir", func() error { return os.Chdir("/") }},
		{"raise lo", raiseLoopback},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	for _, d := range writable {
		if err := unix.Mount("tmpfs", d, "tmpfs", 0, "mode=777"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mount %s: %w", d, err)
		}
	}
	return os.Setenv("PATH", SearchPath)
}

func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}
