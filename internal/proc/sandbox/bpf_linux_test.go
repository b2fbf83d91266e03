package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// call is what a filter looks at.
type call struct {
	arch, nr uint32
	args     [6]uint32
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
			c.args[k] = rapid.OneOf(rapid.Uint32Range(0, 45), rapid.SampledFrom([]uint32{unix.TIOCSTI, unix.CLONE_NEWUSER, 0x40086604, 0x80086601, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}), rapid.Uint32()).Draw(t, "arg")
		}
		want := uint32(unix.SECCOMP_RET_ALLOW)
		for _, r := range boxes[i] {
			if uint32(r.nr) == c.nr && r.stops(c.args[0], c.args[r.arg]) {
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
	for _, nr := range []uintptr{unix.SYS_BIND, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDMSG} {
		if ask(nr) != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d is refused", nr)
		}
	}
}
