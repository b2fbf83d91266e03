package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// call is what a filter looks at.
type call struct {
	arch, nr uint32
	args     [6]uint32
}

// wide returns the arguments as the kernel does.
func (c call) wide() (args [6]uint64) {
	for i, a := range c.args {
		args[i] = uint64(a)
	}
	return args
}

// interpret runs a filter as the kernel does, as far as ours go.
func interpret(prog []unix.SockFilter, c call) uint32 {
	var a uint32
	for pc := 0; ; pc++ {
		i := prog[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch {
			case i.K == offNR:
				a = c.nr
			case i.K == offArch:
				a = c.arch
			default:
				a = c.args[(i.K-offArgs)/8]
			}
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&i.K != 0)
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(i.K)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		}
	}
}

// The filter refuses what the rules say, and nothing else.
func TestFilterIsTheRules(t *testing.T) {
	var boxes [][]rule
	for _, mode := range []Mode{ReadOnly, Workspace, WorkspaceNetwork} {
		for _, p := range []Plan{{}, {Loopback: true}, {UnixSockets: true}, {Loopback: true, UnixSockets: true}, {Layers: Namespaces | PIDs}, {Layers: Namespaces}, {Loopback: true, PrivateSockets: true}} {
			s := Spec{Mode: mode}
			boxes = append(boxes, s.rules(p))
		}
	}
	boxes = append(boxes, (&Spec{Mode: Trial}).rules(Plan{Loopback: true, PrivateSockets: true, Layers: Namespaces | PIDs}))
	progs := make([][]unix.SockFilter, len(boxes))
	for i, rules := range boxes {
		if progs[i] = assemble(rules, refusal); len(progs[i]) > unix.BPF_MAXINSNS {
			t.Fatal("the filter is too long")
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(boxes)-1).Draw(t, "box")
		c := call{arch: auditArch, nr: rapid.Uint32Range(0, 500).Draw(t, "nr")}
		if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
			c.nr = uint32(rapid.SampledFrom(boxes[i]).Draw(t, "rule").nr)
		}
		for k := range c.args {
			c.args[k] = rapid.OneOf(rapid.Uint32Range(0, 45), rapid.SampledFrom([]uint32{unix.TIOCSTI, unix.CLONE_NEWUSER, 0x40086604, 0x80086601, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.O_CREAT, 0o4755, 0o2755}), rapid.Uint32()).Draw(t, "arg")
		}
		want := uint32(unix.SECCOMP_RET_ALLOW)
		for _, r := range boxes[i] {
			if uint32(r.nr) == c.nr && r.stops(c.wide()) {
				want = refusal(r)
				break
			}
		}
		if got := interpret(progs[i], c); got != want {
			t.Fatalf("%+v: %#x, want %#x", c, got, want)
		}
		c.arch++
		if got := interpret(progs[i], c); got == unix.SECCOMP_RET_ALLOW {
			t.Fatal("another processor's calls pass")
		}
	})
	if x32Bit != 0 && interpret(progs[0], call{arch: auditArch, nr: x32Bit | unix.SYS_READ}) == unix.SECCOMP_RET_ALLOW {
		t.Error("calls by other numbers pass")
	}
}

// Every family of sockets but the usual is refused everywhere, and those of
// the network where there is none.
func TestSocketFamilies(t *testing.T) {
	for family := uint32(0); family < 64; family++ {
		for _, c := range []struct{ network, sockets bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			prog := assemble(sockets(c.network, Plan{UnixSockets: c.sockets}), refusal)
			want := c.network && (family == unix.AF_INET || family == unix.AF_INET6 || family == unix.AF_NETLINK) || c.sockets && family == unix.AF_UNIX
			got := interpret(prog, call{arch: auditArch, nr: unix.SYS_SOCKET, args: [6]uint32{family}}) == unix.SECCOMP_RET_ALLOW
			if got != want {
				t.Errorf("family %d with %+v: passes %v", family, c, got)
			}
		}
	}
}

// Where sockets are private a unix socket is one that has to connect, which the
// listener does.
func TestPrivateSocketTypes(t *testing.T) {
	prog := assemble(sockets(true, Plan{PrivateSockets: true}), func(r rule) uint32 {
		if r.served {
			return unix.SECCOMP_RET_USER_NOTIF
		}
		return refusal(r)
	})
	ask := func(nr uintptr, args ...uint32) uint32 {
		c := call{arch: auditArch, nr: uint32(nr)}
		copy(c.args[:], args)
		return interpret(prog, c)
	}
	for kind := uint32(0); kind < 16; kind++ {
		for _, flags := range []uint32{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC} {
			want := kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET
			for _, nr := range []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
				if got := ask(nr, unix.AF_UNIX, kind|flags) == unix.SECCOMP_RET_ALLOW; got != want {
					t.Errorf("call %d of type %d passes: %v", nr, kind, got)
				}
			}
			if ask(unix.SYS_SOCKET, unix.AF_INET, kind|flags) != unix.SECCOMP_RET_ALLOW {
				t.Errorf("type %d of the network is refused", kind)
			}
		}
	}
	for _, nr := range []uintptr{unix.SYS_CONNECT, unix.SYS_LISTEN} {
		if ask(nr) != unix.SECCOMP_RET_USER_NOTIF {
			t.Errorf("call %d is not served", nr)
		}
	}
	for _, nr := range []uintptr{unix.SYS_BIND, unix.SYS_ACCEPT4, unix.SYS_SENDMSG} {
		if ask(nr) != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d is refused", nr)
		}
	}
}

// openFile opens a path only as a reference (O_PATH).
func openFile(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// Files of sockets are found by what they are, and those without a name make
// room for others.
func TestSockets(t *testing.T) {
	dir := t.TempDir()
	make := func(name string) (path string, file int) {
		path = filepath.Join(dir, name)
		if err := unix.Mknod(path, unix.S_IFSOCK|0o600, 0); err != nil {
			t.Fatal(err)
		}
		return path, openFile(t, path)
	}
	s := NewSockets()
	_, first := make("first")
	id, ok := s.Put(first)
	if !ok || id == (ID{}) {
		t.Fatal("it was not added")
	}
	for range 2 { // again is no other
		s.Add(first)
	}
	got, ok := s.Find(id)
	if !ok || len(s.files) != 1 {
		t.Fatal("it is not found", s.files)
	}
	if same, _ := socketID(got); same != id {
		t.Error("another one is found")
	}
	unix.Close(got)
	if _, ok := s.Find(ID{Dev: id.Dev, Ino: id.Ino + 1}); ok {
		t.Error("what was not added is found")
	}
	if _, ok := s.Put(openFile(t, dir)); ok {
		t.Error("a directory was added")
	}
	last, n := "", 0
	for s.limit = 10; len(s.files) < s.limit; n++ {
		path, file := make(strconv.Itoa(n))
		s.Put(file)
		last = path
	}
	path, file := make("more")
	if _, ok := s.Put(file); ok {
		t.Error("there is no bound")
	}
	os.Remove(last)
	if _, ok := s.Put(file); !ok {
		t.Errorf("%s was not added", path)
	}
	for _, fd := range s.files {
		unix.Close(fd)
	}
}

// The sockets of other programs are those in writable directories.
func TestHostSocketsFound(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for _, path := range []string{in + "/a b", out + "/s"} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	s := &Spec{Mode: Workspace, Roots: []string{in}}
	if got := s.WithHostSockets().HostSockets; len(got) != 1 || got[0] != in+"/a b" || s.HostSockets != nil {
		t.Errorf("%q, and the Spec has %q", got, s.HostSockets)
	}
}

// A child process that is being forked has all files until it executes its program. The next sandbox gets placeholders
// anyway: it used to wait half a second for the lock, and then had none.
func TestReleaseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &placeholders{dir: lockShared(dir)}
	forked, err := unix.Dup(int(h.dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	h.release()
	next := lockShared(dir)
	if next == nil {
		t.Fatal("the directory is still locked")
	}
	next.Close()
}

// A directory that couldn't be locked at the start, because the machine was busy, is cleaned up at the end anyway.
func TestReleaseWithoutALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".bashrc")
	mark, content := kindOf(path)
	if err := makePlaceholder(path, mark, content); err != nil {
		t.Fatal(err)
	}
	other := lockShared(filepath.Dir(path))
	(&placeholders{paths: []string{path}}).release()
	if _, err := os.Lstat(path); err != nil {
		t.Error("it was removed although another sandbox holds it")
	}
	other.Close()
	(&placeholders{paths: []string{path}}).release()
	if _, err := os.Lstat(path); err == nil {
		t.Error("it was left behind")
	}
}

// A placeholder has its mode from the start, also in a directory that passes on its group: a chmod afterwards made a
// user's directory unreadable that was created in the placeholder's place meanwhile.
func TestPlaceholdersAreMadeWithTheirMode(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Chmod(dir, 0o2755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hooks", "config", "commondir", ".vscode"} {
		path := filepath.Join(dir, name)
		mark, content := kindOf(path)
		if err := makePlaceholder(path, mark, content); err != nil || !marked(path) {
			st, _ := os.Lstat(path)
			t.Errorf("%s: %v, %v", name, err, st.Mode())
		}
		(&placeholders{paths: []string{path}}).release()
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := makePlaceholder(path, mark, content); err != unix.EEXIST || marked(path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
