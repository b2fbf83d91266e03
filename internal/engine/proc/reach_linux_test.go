package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// reaches are attempts to reach a socket of the host, which answers "h". They
// are made by this test binary, executed as a command; an error means that the
// host was not reached.
func reaches() map[string]func() error {
	in := os.Getenv("REACH_IN")
	all := map[string]func() error{
		"bound while it runs":        func() error { return reach(in + "/later") },
		"abstract":                   func() error { return reach(os.Getenv("REACH_ABSTRACT")) },
		"packets":                    func() error { return reachPackets(in + "/packets") },
		"datagrams":                  reachDatagram,
		"relative":                   func() error { return errors.Join(os.Chdir(in), reach("host")) },
		"link that is swapped":       func() error { return race(in, swapLinks(in)) },
		"file that is swapped":       func() error { return race(in, swapFiles(in)) },
		"address that is swapped":    func() error { return raceAddress(in) },
		"descriptor that is swapped": func() error { return raceDescriptor(in) },
		"own name taken over":        func() error { return takeOver(in) },
		"listening for the host":     func() error { return listenFirst(in) },
		"descriptors of its keeper":  stealDescriptors,
	}
	for _, at := range []string{"host", "link", "hard", "dir/../host"} {
		all["workspace "+at] = func() error { return reach(in + "/" + at) }
	}
	for _, at := range []string{"TEMP", "OUT"} {
		all[at] = func() error { return reach(os.Getenv("REACH_" + at)) }
	}
	return all
}

// reach connects and returns the response.
func reach(path string) error {
	c, err := net.DialTimeout("unix", path, time.Minute)
	if err != nil {
		return err
	}
	return answers(c)
}

func answers(c net.Conn) error {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	var b [1]byte
	if _, err := c.Read(b[:]); err != nil {
		return err
	}
	if b[0] != 'h' {
		return fmt.Errorf("%q answers", b[0])
	}
	return nil
}

// answerWith answers everyone with a letter.
func answerWith(l net.Listener, letter byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Write([]byte{letter})
		c.Close()
	}
}

// later waits for sockets that the host binds while the command runs. They can
// be moved, which those of before can't.
func later(in string) error {
	if err := os.WriteFile(in+"/ready", nil, 0o600); err != nil {
		return err
	}
	var err error
	waittest.Holds(func() bool {
		_, err = os.Lstat(in + "/moved")
		return err == nil
	})
	return err
}

func reachPackets(path string) error {
	c, err := net.Dial("unixpacket", path)
	if err != nil {
		return err
	}
	return answers(c)
}

func reachDatagram() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: os.Getenv("REACH_DATAGRAM")})
}

// ownServer answers "o" at a path.
func ownServer(path string) (stop func(), err error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	go answerWith(l, 'o')
	return func() { l.Close() }, nil
}

// races is how often a race is tried. Without a sandbox it is won at once.
const races = 1000

// rival is the other side of a race.
type rival struct {
	over  atomic.Bool
	turns atomic.Int64
	last  int64 // turns at the last try
	met   int   // tries since which it had a turn
}

// goesOn reports whether a race is tried again: on a busy machine one side may not run for long, so that many tries are
// one.
func (r *rival) goesOn(tries int) bool {
	if now := r.turns.Load(); now != r.last {
		r.last = now
		r.met++
	}
	return tries < races || r.met < races/20
}

// race connects to a path that something else swaps, from its own socket to that
// of the host.
func race(in string, swap func() error) error {
	stop, err := ownServer(in + "/own")
	if err != nil {
		return err
	}
	defer stop()
	defer os.Remove(in + "/own")
	var r rival
	defer r.over.Store(true)
	if err := swap(); err != nil {
		return err
	}
	go func() {
		for !r.over.Load() {
			swap()
			r.turns.Add(1)
		}
	}()
	for i := 0; r.goesOn(i); i++ {
		if err = reach(in + "/target"); err == nil {
			return nil
		}
	}
	return err
}

// swapLinks lets a link lead to the one and to the other.
func swapLinks(in string) func() error {
	n := 0
	return func() error {
		n++
		os.Remove(in + "/next")
		if err := os.Symlink([]string{"own", "later"}[n%2], in+"/next"); err != nil {
			return err
		}
		return os.Rename(in+"/next", in+"/target")
	}
}

// swapFiles exchanges the sockets themselves, by their hard links.
func swapFiles(in string) func() error {
	n := 0
	return func() error {
		n++
		os.Remove(in + "/next")
		if err := os.Link(in+"/"+[]string{"own", "later"}[n%2], in+"/next"); err != nil {
			return err
		}
		return os.Rename(in+"/next", in+"/target")
	}
}

// raceAddress changes the address while the call is made.
func raceAddress(in string) error {
	stop, err := ownServer(in + "/own!")
	if err != nil {
		return err
	}
	defer stop()
	defer os.Remove(in + "/own!")
	addr := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	addr = append(append(addr, in+"/own!"...), 0)
	end := len(addr) - 5
	var r rival
	defer r.over.Store(true)
	word := (*[4]byte)(unsafe.Pointer(&addr[end]))
	go func() {
		for !r.over.Load() {
			*word = [4]byte([]byte("host"))
			r.turns.Add(1) // both last equally long
			*word = [4]byte([]byte("own!"))
			r.turns.Add(1)
		}
	}()
	for i := 0; r.goesOn(i); i++ {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&addr[0])), uintptr(len(addr)))
		var b [1]byte
		if errno == 0 {
			unix.Read(fd, b[:])
		}
		unix.Close(fd)
		if b[0] == 'h' {
			return nil
		}
	}
	return errors.New("the host never answered")
}

// raceDescriptor puts other sockets in place of the one that connects, and
// looks whether any is connected to the host.
func raceDescriptor(in string) error {
	const at = 200
	addr := &unix.SockaddrUnix{Name: in + "/host"}
	var over atomic.Bool
	defer over.Store(true)
	fresh := func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Dup3(fd, at, unix.O_CLOEXEC)
			unix.Close(fd)
		}
		return err
	}
	if err := fresh(); err != nil {
		return err
	}
	go func() {
		for !over.Load() {
			fresh()
		}
	}()
	for range races {
		if unix.Connect(at, addr) == nil {
			return nil
		}
	}
	return errors.New("it was never connected")
}

// takeOver listens at a name and lets the host's file have it afterwards.
func takeOver(in string) error {
	stop, err := ownServer(in + "/mine")
	if err != nil {
		return err
	}
	defer stop()
	if err := os.Rename(in+"/moved", in+"/mine"); err != nil {
		return err
	}
	return reach(in + "/mine")
}

// listenFirst listens with a socket that is connected to nothing, and with one
// that has the host's name in its own mind only.
func listenFirst(in string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	unix.Bind(fd, &unix.SockaddrUnix{Name: in + "/host"}) // in use
	unix.Listen(fd, 1)
	return reach(in + "/host")
}

// stealDescriptors looks for the descriptor that connections are made with.
func stealDescriptors() error {
	pid, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return err
	}
	defer unix.Close(pid)
	for fd := range 64 {
		if got, err := unix.PidfdGetfd(pid, fd, 0); err == nil {
			unix.Close(got)
			return nil
		}
	}
	for fd := range 64 {
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getppid(), fd)); err == nil {
			return nil
		}
	}
	return errors.New("it shows no descriptors")
}

func attemptReaches() int {
	if err := later(os.Getenv("REACH_IN")); err != nil {
		fmt.Println(err)
		return 1
	}
	all := reaches()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name](); err != nil {
			fmt.Printf("%s\t-\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Printf("%s\t+\n", name)
		}
	}
	return 0
}

// hostSockets are those that the attempts reach for.
func hostSockets(t *testing.T, f *field) {
	t.Helper()
	temp := filepath.Dir(f.in) + "/temp"
	abstract := "@adze-reach-" + newMarker()
	serve := func(network, path string) {
		l, err := net.Listen(network, path)
		if err != nil {
			t.Error(err)
			return
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		t.Cleanup(func() { l.Close() })
		go answerWith(l, 'h')
	}
	for _, path := range []string{f.in + "/host", temp + "/host", f.out + "/host", abstract} {
		serve("unix", path)
	}
	serve("unixpacket", f.in+"/packets")
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: f.in + "/datagram", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	os.Symlink(f.out+"/host", f.in+"/link")
	os.Mkdir(f.in+"/dir", 0o755)
	if err := os.Link(f.out+"/host", f.in+"/hard"); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "REACH_IN="+f.in, "REACH_TEMP="+temp+"/host", "REACH_OUT="+f.out+"/host", "REACH_ABSTRACT="+abstract, "REACH_DATAGRAM="+f.in+"/datagram")
	go func() { // binds while a command runs
		waittest.Holds(func() bool {
			_, err := os.Stat(f.in + "/ready")
			return err == nil || t.Context().Err() != nil
		})
		if t.Context().Err() == nil {
			serve("unix", f.in+"/later")
			serve("unix", f.in+"/moved")
		}
	}()
}

// ground returns a workspace, a temp directory and an outside.
func ground(t *testing.T) *field {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &field{in: base + "/in", out: base + "/out", env: append(Environ(os.Environ(), nil), "TMPDIR="+base+"/temp", "SHELL=/bin/sh", "GORACE=atexit_sleep_ms=0")}
	for _, dir := range []string{f.in, f.out, base + "/temp"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// needsSockets skips a test where the kernel has no private sockets.
func needsSockets(t *testing.T) {
	t.Helper()
	needsLayers(t)
	if p, err := (&sandbox.Spec{Mode: sandbox.Workspace}).Plan(); err != nil || !p.PrivateSockets {
		t.Skip("no private sockets here:", sandbox.Probe().SocketsWhy, sandbox.Probe().PIDsWhy)
	}
}

// A command can't take the place of a socket of the host, which can be in a
// directory that it may write to.
func TestHostSocketsStay(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		if spec.Bubblewrap {
			t.Skip("bubblewrap can't: see docs/limitations.md")
		}
		temp := filepath.Dir(f.in) + "/temp"
		path := temp + "/agent.1/sock"
		if err := os.Mkdir(temp+"/agent.1", 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go answerWith(l, 'h')
		const line = `cd "$TMPDIR/agent.1"; rm -f sock; mv sock moved; ln -sf other sock; : > new && mv -f new sock; cd ..; mv agent.1 agent.2; rm -rf agent.1; ls -d agent.1/sock`
		o := run(t, r, Command{Line: line, Dir: f.in, Env: f.env, Sandbox: spec})
		if o.Exit != 0 {
			t.Errorf("%+v", o)
		}
		if err := reach(path); err != nil {
			t.Error(err)
		}
		none := *spec
		none.Mode = sandbox.Off
		if o := run(t, r, Command{Line: line, Dir: f.in, Env: f.env, Sandbox: &none}); o.Exit == 0 || reach(path) == nil {
			t.Error("without a sandbox it stays too, so this shows nothing")
		}
	})
}

// No way leads to a socket of the host. Every one does without a sandbox.
func TestHostSocketsUnreached(t *testing.T) {
	needsSockets(t)
	t.Parallel()
	r := opened(t, Options{})
	for _, col := range []struct {
		name, want string
		spec       sandbox.Spec
	}{{"off", "+", sandbox.Spec{Mode: sandbox.Off}}, {"workspace", "-", sandbox.Spec{Mode: sandbox.Workspace}}, {"bubblewrap", "-", sandbox.Spec{Mode: sandbox.Workspace, Bubblewrap: true}}} {
		t.Run(col.name, func(t *testing.T) {
			if col.spec.Bubblewrap {
				needsBubblewrap(t)
			}
			f := ground(t)
			hostSockets(t, f)
			spec := f.spec(col.spec.Mode)
			spec.Bubblewrap = col.spec.Bubblewrap
			f.env = append(f.env, "BOX_ATTEMPT=reach")
			got := f.attempt(t, r, spec)
			want := map[string]string{}
			for name := range reaches() {
				want[name] = col.want
			}
			if d := cmp.Diff(want, marks(got)); d != "" {
				t.Errorf("%s\n%v", d, got)
			}
		})
	}
}

// addressOf returns where bytes are in memory, and how many.
func addressOf(b []byte) (at uintptr, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	return uintptr(unsafe.Pointer(&b[0])), len(b)
}
