package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// plays are what the commands of the tests below do, each in this test binary,
// executed as a command in the workspace.
var plays = map[string]func() error{
	"serve": func() error { // until it is stopped
		var all sync.WaitGroup
		for _, at := range [][2]string{{"unix", "server"}, {"unixpacket", "packets"}, {"unix", "@server"}, {"tcp", "127.0.0.1:4711"}, {"tcp", "[::1]:4711"}} {
			l, err := net.Listen(at[0], at[1])
			if err != nil && !strings.Contains(at[1], ":") {
				return err
			}
			if err == nil {
				all.Go(func() { answerWith(l, 'h') })
			}
		}
		fmt.Println("up")
		all.Wait()
		return nil
	},
	"ask": func() error {
		return errors.Join(reach("server"), reachPackets("packets"), reach("@server"), dial("tcp", "127.0.0.1:4711"))
	},
	"listen":  func() error { return serveOnce("own") },
	"flood":   flood,
	"full":    fullBacklog,
	"dying":   dyingInConnect,
	"errors":  connectErrors,
	"hand":    handOver,
	"receive": receiveHanded,
}

func play() int {
	if err := plays[os.Getenv("BOX_PLAY")](); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// playing returns the command that plays a part.
func (f *field) playing(t *testing.T, spec *sandbox.Spec, part string) Command {
	t.Helper()
	return Command{Argv: []string{unraced}, Dir: f.in, Env: append(f.env, "BOX_ATTEMPT=play", "BOX_PLAY="+part), Sandbox: spec}
}

func (f *field) play(t *testing.T, r *Runner, spec *sandbox.Spec, part string) {
	t.Helper()
	if o := run(t, r, f.playing(t, spec, part)); o.Exit != 0 {
		t.Errorf("%s: %+v", part, o)
	}
}

func dial(network, addr string) error {
	c, err := net.DialTimeout(network, addr, time.Minute)
	if err != nil {
		return err
	}
	return answers(c)
}

// serveOnce listens at a path and is its own client.
func serveOnce(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer l.Close()
	go answerWith(l, 'h')
	for _, p := range []string{path, "./" + path, "../in/" + path} {
		if err := reach(p); err != nil {
			return err
		}
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return reach(full)
}

// inSandboxes runs a test where private sockets work, for each back end.
func inSandboxes(t *testing.T, test func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec)) {
	needsSockets(t)
	t.Parallel()
	for _, wrapped := range []bool{false, true} {
		name := map[bool]string{false: "built in", true: "bubblewrap"}[wrapped]
		t.Run(name, func(t *testing.T) {
			if wrapped {
				needsBubblewrap(t)
			}
			f := ground(t)
			spec := f.spec(sandbox.Workspace)
			spec.Bubblewrap = wrapped
			test(t, opened(t, Options{}), f, spec)
		})
	}
}

// A server that was started in the background is reached from later commands, by
// its files, by an abstract name and by loopback; from the host only by its
// files, and from another session not at all.
func TestServerAndClient(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		server, err := r.Start(context.Background(), f.playing(t, spec, "serve"))
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the server is up", func() bool { return server.Read(0, 0).Text != "" })
		f.play(t, r, spec, "ask")
		f.play(t, r, spec, "ask")
		f.play(t, r, spec, "listen")
		if err := dial("tcp", "127.0.0.1:4711"); err == nil {
			t.Error("the host reaches the session's loopback")
		}
		other := opened(t, Options{})
		o := run(t, other, f.playing(t, spec, "ask"))
		if o.Exit == 0 || strings.Count(o.Output.Head, "permission denied") != 2 || strings.Count(o.Output.Head, "refused") != 2 {
			t.Errorf("from another session: %+v", o)
		}
		if o.Remedy != "set tools.sandboxUnixSockets to true" || !spec.Bubblewrap && !strings.Contains(o.Suspect, "server") {
			t.Errorf("the denial is explained by %q, %q", o.Suspect, o.Remedy)
		}
		server.Stop()
		within(t, server, server.gone)
		if o := run(t, r, f.playing(t, spec, "ask")); o.Exit == 0 || strings.Count(o.Output.Head, "refused") != 4 {
			t.Errorf("of a server that is gone: %+v", o)
		}
	})
}

// Where process_vm_readv isn't allowed, as in Podman's containers, every connect used to fail with EFAULT.
func TestServerAndClientInPodman(t *testing.T) {
	const variable = "BOX_PODMAN"
	if os.Getenv(variable) == "" {
		needsSockets(t)
		again(t, t.Name(), nil, variable+"=1")
		return
	}
	if err := kerneltest.Become("podman"); err != nil {
		t.Fatal(err)
	}
	TestServerAndClient(t)
}

// Failures have the same errors as from the kernel.
func TestConnectErrors(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		none := *spec
		none.Mode = sandbox.Off
		f.play(t, r, &none, "errors") // shows that the kernel does
		f.play(t, r, spec, "errors")
	})
}

func connectErrors() error {
	os.Remove("bound")
	stream, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	inet, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	bound, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	unix.Bind(bound, &unix.SockaddrUnix{Name: "bound"})
	os.WriteFile("file", nil, 0o600)
	os.Symlink("loop", "loop")
	raw := func(fd int, addr []byte, size int) error {
		a, n := addressOf(addr)
		if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), a, uintptr(n+size)); errno != 0 {
			return errno
		}
		return nil
	}
	path := func(name string) unix.Sockaddr { return &unix.SockaddrUnix{Name: name} }
	for _, c := range []struct {
		what      string
		got, want error
	}{
		{"a missing file", unix.Connect(stream, path("missing")), unix.ENOENT},
		{"a file in a file", unix.Connect(stream, path("file/x")), unix.ENOTDIR},
		{"a file that is none", unix.Connect(stream, path("file")), unix.ECONNREFUSED},
		{"a directory", unix.Connect(stream, path(".")), unix.ECONNREFUSED},
		{"a loop", unix.Connect(stream, path("loop")), unix.ELOOP},
		{"an abstract name", unix.Connect(stream, path("@missing")), unix.ECONNREFUSED},
		{"a bad descriptor", unix.Connect(999, path("missing")), unix.EBADF},
		{"no socket", unix.Connect(1, path("missing")), unix.ENOTSOCK},
		{"bad memory", raw(stream, nil, 16), unix.EFAULT},
		{"no address", raw(stream, nil, 0), unix.EINVAL},
		{"a long address", raw(stream, make([]byte, 200), 0), unix.EINVAL},
		{"a path that is too long", raw(stream, append([]byte{1, 0}, bytes.Repeat([]byte("x"), 109)...), 0), unix.EINVAL},
		{"a negative length", raw(stream, make([]byte, 16), -17), unix.EINVAL},
		{"another family", raw(stream, []byte{2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 0), unix.EINVAL},
		{"a file by loopback", raw(inet, append([]byte{1, 0}, "missing\x00\x00\x00\x00\x00\x00\x00\x00"...), 0), unix.EAFNOSUPPORT},
		{"nobody at loopback", unix.Connect(inet, &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}}), unix.ECONNREFUSED},
	} {
		if c.got != c.want {
			return fmt.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	return nil
}

// 2,000 connections, some of them at a time, leave nothing behind in the
// process that makes them.
func TestConnectFlood(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		c := f.playing(t, spec, "flood")
		p, err := r.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop()
		waittest.Until(t, "the flood is over", func() bool { return strings.Contains(p.Read(0, 0).Text, "\n") })
		if text := p.Read(0, 0).Text; text != "over\n" {
			t.Fatalf("%q", text)
		}
		if os.Getuid() != 0 {
			return // may not count
		}
		waittest.Until(t, "the keeper has closed all", func() bool {
			open, err := os.ReadDir(procFile(p.tree.(*kept).id.pid, "fd"))
			return err == nil && len(open) < 40
		})
	})
}

func flood() error {
	var l [2]net.Listener
	for i, at := range [][2]string{{"unix", "flood"}, {"tcp", "127.0.0.1:0"}} {
		var err error
		if l[i], err = net.Listen(at[0], at[1]); err != nil {
			return err
		}
		go answerWith(l[i], 'h')
	}
	failed := make(chan error, 8)
	for i := range cap(failed) {
		go func() {
			var err error
			for range 2000 / cap(failed) {
				// A full queue isn't a failure.
				if err = dial(l[i%2].Addr().Network(), l[i%2].Addr().String()); err != nil && !errors.Is(err, unix.EAGAIN) {
					break
				}
				err = nil
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			return err
		}
	}
	fmt.Println("over")
	select {} // until it is stopped
}

// A blocking connect waits for room in the queue, as long as the socket's
// timeout says, and ends for a signal.
func TestConnectWaits(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		f.play(t, r, spec, "full")
		f.play(t, r, spec, "dying")
	})
}

// A signal that a program handles interrupts a connect that waits, and then it
// is made again or not, as the program has asked for.
func TestConnectInterrupted(t *testing.T) {
	if why := missing("python3"); why != "" {
		t.Skip(why)
	}
	const script = `
import ctypes, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
l = socket.socket(socket.AF_UNIX); l.bind("q%s" % sys.argv[1]); l.listen(0)
addr = b"\x01\x00" + b"q" + sys.argv[1].encode() + b"\x00"
kept = []
while True:
    c = socket.socket(socket.AF_UNIX); c.setblocking(False)
    if libc.connect(c.fileno(), addr, len(addr)) != 0: break
    kept.append(c)
times = 0
def caught(*_):
    global times
    times += 1
    if times == 3: l.accept()
signal.signal(signal.SIGALRM, caught)
signal.siginterrupt(signal.SIGALRM, sys.argv[1] == "interrupts")
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
c = socket.socket(socket.AF_UNIX)
got = libc.connect(c.fileno(), addr, len(addr))
print(got, os.strerror(ctypes.get_errno()) if got else "")
`
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		if err := os.WriteFile(f.in+"/interrupt.py", []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		none := *spec
		none.Mode = sandbox.Off
		for i, s := range []*sandbox.Spec{&none, spec} {
			o := run(t, r, Command{Line: "rm -f qinterrupts; python3 interrupt.py interrupts", Dir: f.in, Env: f.env, Sandbox: s, Timeout: 2 * time.Minute})
			if o.Output.Head != "-1 Interrupted system call\n" {
				t.Errorf("%d: %+v", i, o)
			}
		}
	})
}

// filled returns a socket file whose queue is full.
func filled(path string) (listener int, err error) {
	if listener, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = errors.Join(unix.Bind(listener, &unix.SockaddrUnix{Name: path}), unix.Listen(listener, 0)); err != nil {
		return -1, err
	}
	for {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err == unix.EAGAIN {
			return listener, unix.Close(fd)
		} else if err != nil {
			return -1, err
		}
	}
}

func fullBacklog() error {
	listener, err := filled("full")
	if err != nil {
		return err
	}
	addr := &unix.SockaddrUnix{Name: "full"}
	limited, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	unix.SetsockoptTimeval(limited, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 30000})
	if err := unix.Connect(limited, addr); err != unix.EAGAIN {
		return fmt.Errorf("with a timeout: %v", err)
	}
	waiting, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	done := make(chan error, 1)
	go func() { done <- unix.Connect(waiting, addr) }()
	select {
	case err := <-done:
		return fmt.Errorf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if fd, _, err := unix.Accept(listener); err != nil {
		return err
	} else {
		unix.Close(fd)
	}
	if err := <-done; err != nil {
		return err
	}
	flags, err := unix.FcntlInt(uintptr(waiting), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		return fmt.Errorf("its flags are %#x: %v", flags, err)
	}
	return nil
}

// dyingInConnect kills processes that wait.
func dyingInConnect() error {
	if os.Getenv("BOX_CHILD") != "" {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		fmt.Println("now")
		return unix.Connect(fd, &unix.SockaddrUnix{Name: "dying"})
	}
	if _, err := filled("dying"); err != nil {
		return err
	}
	for _, c := range []struct {
		signal syscall.Signal
		want   string
	}{{syscall.SIGKILL, "signal: killed"}, {syscall.SIGTERM, "signal: terminated"}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "BOX_CHILD=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		io.ReadFull(out, make([]byte, 3))
		if !waittest.Holds(func() bool { return inConnect(cmd.Process.Pid) }) {
			return errors.New("it doesn't connect")
		}
		cmd.Process.Signal(c.signal)
		if err := cmd.Wait(); err == nil || err.Error() != c.want {
			return fmt.Errorf("%v: %v", c.signal, err)
		}
	}
	return nil
}

// inConnect reports whether a thread of a process waits in connect.
func inConnect(pid int) bool {
	threads, _ := filepath.Glob(procFile(pid, "task/*/syscall"))
	return slices.ContainsFunc(threads, func(thread string) bool {
		text, _ := os.ReadFile(thread)
		return strings.HasPrefix(string(text), strconv.Itoa(unix.SYS_CONNECT)+" ")
	})
}

// handOver gives descriptors to every client: of the workspace, of a file in
// it, and of a file outside.
func handOver() error {
	l, err := net.Listen("unix", "hand")
	if err != nil {
		return err
	}
	var fds []int
	for _, c := range []struct {
		path string
		flag int
	}{{".", unix.O_PATH}, {"mine", unix.O_RDWR | unix.O_CREAT}, {"../out/file", unix.O_RDONLY}, {"..", unix.O_RDONLY}} {
		fd, err := unix.Open(c.path, c.flag, 0o600)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	fmt.Println("up")
	c, err := l.Accept()
	if err == nil {
		_, _, err = c.(*net.UnixConn).WriteMsgUnix([]byte("x"), unix.UnixRights(fds...), nil)
	}
	return err
}

// receiveHanded does with them what the giver may do, and not more.
func receiveHanded() error {
	c, err := net.Dial("unix", "hand")
	if err != nil {
		return err
	}
	_, fds, err := receiveFiles(c.(*net.UnixConn))
	if err != nil || len(fds) != 4 {
		return fmt.Errorf("%v, %v", fds, err)
	}
	if _, err := unix.Write(fds[1], []byte("x")); err != nil {
		return err
	}
	fmt.Println("have")
	waittest.Holds(func() bool { return !os.IsNotExist(openAt(unix.AT_FDCWD, "go", unix.O_RDONLY)) }) // the giver is gone
	for what, err := range map[string]error{
		"write outside":           openAt(fds[3], "out/new", unix.O_WRONLY|unix.O_CREAT),
		"write a file outside":    openAt(fds[3], "out/file", unix.O_WRONLY),
		"reopen for writing":      openAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fds[2]), unix.O_WRONLY),
		"through the workspace":   openAt(fds[0], "../out/file", unix.O_WRONLY),
		"protected":               openAt(fds[0], ".git/config", unix.O_WRONLY),
		"link to outside":         unix.Linkat(fds[3], "out/file", fds[0], "linked", 0),
		"remove outside":          unix.Unlinkat(fds[3], "out/file", 0),
		"rename outside":          unix.Renameat(fds[3], "out/file", fds[0], "renamed"),
		"replace what protects":   unix.Renameat(fds[0], ".git", fds[0], "git"),
		"truncate what is opened": unix.Ftruncate(fds[2], 0),
	} {
		if err == nil {
			return fmt.Errorf("%s: it can", what)
		}
	}
	return nil
}

func openAt(dir int, path string, flag int) error {
	fd, err := unix.Openat(dir, path, flag|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// Descriptors that one command gives another are as good as in the first.
func TestHandedDescriptors(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		for path, text := range map[string]string{f.in + "/.git/config": "before", f.out + "/file": "before"} {
			os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		spec.Protect = f.spec(sandbox.Workspace).Protect
		start := func(part, says string) *Process {
			p, err := r.Start(context.Background(), f.playing(t, spec, part))
			if err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, part+" says "+says, func() bool { return p.Read(0, 0).Text != "" })
			if text := p.Read(0, 0).Text; text != says+"\n" {
				t.Fatal(text)
			}
			return p
		}
		giver := start("hand", "up")
		taker := start("receive", "have")
		within(t, giver, giver.gone)
		if err := os.WriteFile(f.in+"/go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Process{giver, taker} {
			if o := ended(t, p); o.Exit != 0 {
				t.Errorf("%+v", o)
			}
		}
		for _, path := range []string{f.in + "/.git/config", f.out + "/file"} {
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, []byte("before")) {
				t.Errorf("%s is %q, %v", path, b, err)
			}
		}
	})
}
