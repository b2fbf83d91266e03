package main

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// neighbors are servers outside a container's sandbox. They record what reaches them.
type neighbors struct {
	mu   sync.Mutex
	got  map[string]bool
	args []string // of reachOut
	open *os.File // an unconnected socket, which a careless program leaves open to Adze
}

// newNeighbors starts servers at sockets in a directory, at abstract ones, and at ports of loopback.
func newNeighbors(t *testing.T, dir string) *neighbors {
	t.Helper()
	n := &neighbors{got: map[string]bool{}}
	stream, packets, datagrams := dir+"/stream", dir+"/packets", dir+"/datagrams"
	abstract := "@adze-" + filepath.Base(filepath.Dir(dir))
	tcp := n.listen(t, "tcp", "127.0.0.1:0")
	udp := n.receive(t, "udp", "127.0.0.1:0")
	n.listen(t, "unix", stream)
	n.listen(t, "unixpacket", packets)
	n.receive(t, "unixgram", datagrams)
	n.listen(t, "unix", abstract+"-stream")
	n.receive(t, "unixgram", abstract+"-datagrams")
	for _, path := range []string{stream, packets, datagrams} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	n.args = []string{tcp, udp, stream, packets, datagrams, abstract + "-stream", abstract + "-datagrams"}
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if n.open, err = socket.(*net.UDPConn).File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.open.Close() })
	return n
}

func (n *neighbors) reached(way []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got[cmp.Or(string(way), "a connection")] = true
}

// ways returns what has reached the servers since the last call.
func (n *neighbors) ways() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer clear(n.got)
	return slices.Sorted(maps.Keys(n.got))
}

func (n *neighbors) listen(t *testing.T, network, at string) string {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text := make([]byte, 100)
			size, _ := c.Read(text)
			n.reached(text[:size])
			c.Close()
		}
	}()
	return l.Addr().String()
}

func (n *neighbors) receive(t *testing.T, network, at string) string {
	t.Helper()
	p, err := net.ListenPacket(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	go func() {
		text := make([]byte, 100)
		for {
			size, _, err := p.ReadFrom(text)
			if err != nil {
				return
			}
			n.reached(text[:size])
		}
	}()
	return p.LocalAddr().String()
}

// address returns a socket's address in the form of package unix.
func address(at string) unix.Sockaddr {
	if to, err := netip.ParseAddrPort(at); err == nil {
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	return &unix.SockaddrUnix{Name: at}
}

// connected sends with a socket that it connects.
func connected(family, kind int, at string) func(way string) error {
	return func(way string) error {
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, address(at)); err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte(way))
		return err
	}
}

// addressed sends with a socket that isn't connected.
func addressed(family, kind int, send func(fd int, way string) error) func(way string) error {
	return func(way string) error {
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return send(fd, way)
	}
}

func sendto(at string, flags int) func(fd int, way string) error {
	return func(fd int, way string) error { return unix.Sendto(fd, []byte(way), flags, address(at)) }
}

func sendmsg(at string) func(fd int, way string) error {
	return func(fd int, way string) error { return unix.Sendmsg(fd, []byte(way), nil, address(at), 0) }
}

// sendmmsg is for UDP only.
func sendmmsg(at string) func(fd int, way string) error {
	return func(fd int, way string) error {
		to := netip.MustParseAddrPort(at)
		name := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.Addr().As4()}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&name.Port))[:], to.Port())
		text := []byte(way)
		vector := unix.Iovec{Base: &text[0]}
		vector.SetLen(len(text))
		message := struct {
			unix.Msghdr
			sent uint32
		}{Msghdr: unix.Msghdr{Name: (*byte)(unsafe.Pointer(&name)), Namelen: unix.SizeofSockaddrInet4, Iov: &vector, Iovlen: 1}}
		_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 1, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// paired uses one of a pair of sockets, the other of which is closed, for another address.
func paired(kind int, use func(fd int, way string) error) func(way string) error {
	return func(way string) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			return err
		}
		defer unix.Close(pair[0])
		unix.Close(pair[1])
		return use(pair[0], way)
	}
}

// handedOver sends with a socket that another process passes, which must have one.
func handedOver(at string) func(way string) error {
	return func(way string) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		failed := error(unix.ENOTSOCK)
		for fd := range 100 {
			if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain == unix.AF_UNIX {
				continue
			}
			if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
				return err
			}
			control := make([]byte, unix.CmsgSpace(4))
			if _, _, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), control, 0); err != nil {
				return err
			}
			messages, err := unix.ParseSocketControlMessage(control)
			if err != nil {
				return err
			}
			got, err := unix.ParseUnixRights(&messages[0])
			if err != nil {
				return err
			}
			if failed = sendto(at, 0)(got[0], way); failed == nil {
				return nil
			}
		}
		return failed
	}
}

// stolen sends with a socket that a process above has open.
func stolen(at string) func(way string) error {
	return func(way string) error {
		process, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		defer unix.Close(process)
		for n := range 100 {
			fd, taken := unix.PidfdGetfd(process, n, 0)
			if taken != nil {
				err = taken
				continue
			}
			if sendto(at, 0)(fd, way) == nil {
				return nil
			}
		}
		return err
	}
}

// ring makes an io_uring, with whose entries any socket can be made and connected.
func ring(string) error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// only makes a socket of a family.
func only(family, kind int) func(string) error {
	return addressed(family, kind, func(int, string) error { return nil })
}

// waysOut are those to the servers, by name. The text that is sent is the name.
func waysOut(to []string) map[string]func(way string) error {
	tcp, udp, stream, packets, datagrams, abstract, abstractDatagrams := to[0], to[1], to[2], to[3], to[4], to[5], to[6]
	return map[string]func(way string) error{
		"TCP":                       connected(unix.AF_INET, unix.SOCK_STREAM, tcp),
		"TCP, fast open":            addressed(unix.AF_INET, unix.SOCK_STREAM, sendto(tcp, unix.MSG_FASTOPEN)),
		"UDP, connected":            connected(unix.AF_INET, unix.SOCK_DGRAM, udp),
		"UDP, sendto":               addressed(unix.AF_INET, unix.SOCK_DGRAM, sendto(udp, 0)),
		"UDP, sendmsg":              addressed(unix.AF_INET, unix.SOCK_DGRAM, sendmsg(udp)),
		"UDP, sendmmsg":             addressed(unix.AF_INET, unix.SOCK_DGRAM, sendmmsg(udp)),
		"Unix socket":               connected(unix.AF_UNIX, unix.SOCK_STREAM, stream),
		"Unix socket, packets":      connected(unix.AF_UNIX, unix.SOCK_SEQPACKET, packets),
		"Unix socket, connected":    connected(unix.AF_UNIX, unix.SOCK_DGRAM, datagrams),
		"Unix socket, sendto":       addressed(unix.AF_UNIX, unix.SOCK_DGRAM, sendto(datagrams, 0)),
		"Unix socket, sendmsg":      addressed(unix.AF_UNIX, unix.SOCK_DGRAM, sendmsg(datagrams)),
		"abstract socket":           connected(unix.AF_UNIX, unix.SOCK_STREAM, abstract),
		"abstract socket, sendto":   addressed(unix.AF_UNIX, unix.SOCK_DGRAM, sendto(abstractDatagrams, 0)),
		"pair of datagrams, sendto": paired(unix.SOCK_DGRAM, sendto(datagrams, 0)),
		"pair of datagrams, connect": paired(unix.SOCK_DGRAM, func(fd int, way string) error {
			if err := unix.Connect(fd, address(datagrams)); err != nil {
				return err
			}
			_, err := unix.Write(fd, []byte(way))
			return err
		}),
		"pair of streams, connect": paired(unix.SOCK_STREAM, func(fd int, _ string) error { return unix.Connect(fd, address(stream)) }),
		"pair of streams, sendto":  paired(unix.SOCK_STREAM, sendto(stream, 0)),
		"pair of packets, connect": paired(unix.SOCK_SEQPACKET, func(fd int, _ string) error { return unix.Connect(fd, address(packets)) }),
		"handed over":              handedOver(udp),
		"stolen":                   stolen(udp),
		"io_uring":                 ring,
		"IPv6":                     only(unix.AF_INET6, unix.SOCK_STREAM),
		"raw":                      only(unix.AF_INET, unix.SOCK_RAW),
		"frames":                   only(unix.AF_PACKET, unix.SOCK_RAW),
		"netlink":                  only(unix.AF_NETLINK, unix.SOCK_RAW),
		"virtual machine":          only(unix.AF_VSOCK, unix.SOCK_STREAM),
	}
}

// reachOut is a program that sends to these servers in all ways, and prints what became of each: reachout ADDRESS...
func reachOut() {
	all := waysOut(os.Args[1:])
	for _, way := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("%s: %v\n", way, all[way](way))
	}
}

// arriving are the ways that lead to the servers in the container without Adze.
var arriving = []string{
	"TCP", "UDP, connected", "UDP, sendto", "UDP, sendmsg", "UDP, sendmmsg", "Unix socket", "Unix socket, packets", "Unix socket, connected",
	"Unix socket, sendto", "Unix socket, sendmsg", "abstract socket", "abstract socket, sendto", "pair of datagrams, sendto", "pair of datagrams, connect",
	"handed over",
}

// In Docker's default container, where no listener can take a socket of a command, a command that is tried reaches no server,
// by no kind of socket and no system call. The model gets its output and what was denied, and one that fails for that reason asks.
func TestContainersReachNothing(t *testing.T) {
	t.Parallel()
	program := plainProgram(t)
	for _, c := range containers[:2] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newContained(t, c, program)
			if p.verdict(t, "touch made") != "try" {
				t.Skip("commands aren't tried here")
			}
			n := newNeighbors(t, filepath.Join(p.top, "work"))
			copyProgram(t, os.Args[0], filepath.Join(p.work, "reachout"))
			line := append([]string{filepath.Join(p.work, "reachout")}, n.args...)
			without := p.command(nil)
			without.Args = append(without.Args[:len(without.Args)-1], line...)
			without.ExtraFiles = []*os.File{n.open}
			out, err := without.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var control []string
			waittest.Until(t, "all servers are reached without Adze", func() bool {
				control = append(control, n.ways()...)
				return !slices.ContainsFunc(arriving, func(way string) bool { return !slices.Contains(control, way) })
			})
			p.reachNothing(t, n, line)
		})
	}
}

// reachNothing has a model run the program of all ways, and a command that fails without a server.
func (p *contained) reachNothing(t *testing.T, n *neighbors, line []string) {
	t.Helper()
	for i, word := range line {
		line[i] = "'" + word + "'"
	}
	port := n.args[0][strings.LastIndexByte(n.args[0], ':')+1:]
	script := openaitest.Script{Key: "k"}
	for i, command := range []string{strings.Join(line, " "), "exec 3<>/dev/tcp/127.0.0.1/" + port} {
		args, _ := json.Marshal(map[string]any{"command": command, "timeout": 120_000}) // strings and numbers
		call := openaitest.Call{ID: fmt.Sprint("c", i), Name: "run_shell_command", Args: args}
		script.Answers = append(script.Answers, openaitest.Answer{Calls: []openaitest.Call{call}})
	}
	script.Answers = append(script.Answers, openaitest.Answer{Text: "done"})
	model := openaitest.Serve(t, script)
	env := []string{"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=k", "OPENAI_MODEL=m"}
	adze := p.command(env, append([]string{"-p", "go"}, p.cwd()...)...)
	adze.ExtraFiles = []*os.File{n.open}
	if said, err := adze.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := n.ways(); len(got) > 0 {
		t.Errorf("reached: %q", got)
	}
	var last struct {
		Messages []struct{ Role, Content string }
	}
	requests := model.Requests()
	if err := json.Unmarshal([]byte(requests[len(requests)-1].Body), &last); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, m := range last.Messages {
		if m.Role == "tool" {
			results = append(results, strings.Replace(m.Content, "Output: ", "Output:\n", 1))
		}
	}
	t.Logf("%s", strings.Join(results, "\n\n"))
	for way := range waysOut(n.args) {
		if _, became, ok := strings.Cut(results[0], "\n"+way+": "); !ok || strings.HasPrefix(became, "<nil>") {
			t.Errorf("%s: not denied", way)
		}
	}
	if !strings.Contains(results[0], "It ran where this was denied: the network, ") {
		t.Errorf("the model isn't told what was denied")
	}
	if !strings.Contains(results[1], "requires approval") || !strings.Contains(results[1], "the network") {
		t.Errorf("the second command isn't asked about")
	}
}
