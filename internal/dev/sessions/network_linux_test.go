package sessions

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// routeToLoopback makes every IPv4 address one of this network namespace, so that the kernel sends, and counts, what is
// meant for another machine.
func routeToLoopback() error {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	le := binary.NativeEndian
	m := le.AppendUint32(nil, unix.SizeofNlMsghdr+unix.SizeofRtMsg+8)
	m = le.AppendUint16(m, unix.RTM_NEWROUTE)
	m = le.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...) // sequence and port
	m = append(m, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL)
	m = append(m, 0, 0, 0, 0) // flags
	m = le.AppendUint16(m, 8)
	m = le.AppendUint16(m, unix.RTA_OIF)
	m = le.AppendUint32(m, uint32(lo.Index))
	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	if _, _, err := unix.Recvfrom(s, answer, 0); err != nil {
		return err
	}
	if code := int32(le.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("route all addresses to the loopback interface: %w", unix.Errno(-code))
	}
	return nil
}

// traffic is what left sockets of this network namespace, by the kernel's counters.
type traffic map[string]int64

// sent are the counters of connections and messages that programs start.
var sent = []string{
	"Tcp ActiveOpens", "Tcp PassiveOpens", "Udp OutDatagrams", "UdpLite OutDatagrams", "Icmp OutEchos", "Udp6OutDatagrams",
	"UdpLite6OutDatagrams",
	"Icmp6OutEchos",
}

// count reads the counters.
func count() (traffic, error) {
	out := traffic{}
	text, err := os.ReadFile("/proc/net/snmp")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		kind, keys, _ := strings.Cut(lines[i], ": ")
		_, values, _ := strings.Cut(lines[i+1], ": ")
		numbers := strings.Fields(values)
		for n, key := range strings.Fields(keys) {
			out.note(kind+" "+key, numbers[n])
		}
	}
	six, _ := os.ReadFile("/proc/net/snmp6") // not everywhere
	for line := range strings.Lines(string(six)) {
		if f := strings.Fields(line); len(f) == 2 {
			out.note(f[0], f[1])
		}
	}
	return out, nil
}

func (t traffic) note(name, number string) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && slices.Contains(sent, name) {
		t[name] = n
	}
}

// since describes what was sent since an earlier count. Only the model accepts connections: those don't count.
func (t traffic) since(before traffic) string {
	const started, accepted = "Tcp ActiveOpens", "Tcp PassiveOpens"
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		n := t[name] - before[name]
		switch name {
		case started:
			n -= t[accepted] - before[accepted]
		case accepted:
			n = 0
		}
		if n != 0 {
			out = append(out, fmt.Sprintf("%s: %d", name, n))
		}
	}
	return strings.Join(out, ", ")
}

// sockets are those of other programs, such as Docker's.
var sockets = []string{"/run/docker.sock", "/run/agent.sock"}

// visitors counts connections to sockets.
type visitors struct{ n atomic.Int64 }

func (v *visitors) listen() error {
	for _, path := range sockets {
		l, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				v.n.Add(1)
				c.Close()
			}
		}()
	}
	return nil
}
