package sandbox

import (
	"encoding/binary"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answerNames starts a resolver at the system's resolver addresses: it answers that a name doesn't exist, and records
// it. Addresses of resolvers elsewhere are added to the sandbox's loopback. Otherwise the command has no resolver.
func (t *trying) answerNames() {
	for i, addr := range systemNameservers() {
		fd, err := listenDatagrams(addr)
		if err == unix.EADDRNOTAVAIL { // the system has another resolver by now
			addAddress(i+1, addr)
			fd, err = listenDatagrams(addr)
		}
		if err == nil {
			t.own = append(t.own, addr.String())
			go t.serveNames(fd)
		}
	}
}

// addNameservers adds the addresses of resolvers elsewhere ahead: it may take longer than a command, because the kernel
// removes the networks of earlier commands under the same lock.
func addNameservers() {
	for i, addr := range systemNameservers() {
		if !addr.IsLoopback() {
			addAddress(i+1, addr)
		}
	}
}

func systemNameservers() []netip.Addr {
	text, _ := os.ReadFile("/etc/resolv.conf")
	return nameservers(string(text))
}

// nameservers returns the addresses in a resolv.conf.
func nameservers(text string) []netip.Addr {
	var out []netip.Addr
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(words[1]); err == nil && !slices.Contains(out, addr) {
			out = append(out, addr.WithZone(""))
		}
	}
	if len(out) == 0 {
		out = append(out, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return out
}

// listenDatagrams opens a socket on the port of resolvers, in the network of the calling thread.
func listenDatagrams(addr netip.Addr) (fd int, err error) {
	const port = 53
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: addr.As16()})
	if addr.Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: addr.As4()}
	}
	if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, to); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// serveNames answers until the process ends.
func (t *trying) serveNames(fd int) {
	var b [1500]byte
	for {
		n, from, err := unix.Recvfrom(fd, b[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		reply, name, ok := noSuchName(b[:n])
		if !ok {
			continue
		}
		if !reserved(name) {
			t.wants(name)
		}
		unix.Sendto(fd, reply, 0, from)
	}
}

// noSuchName returns the response to a query, and the name in it.
func noSuchName(query []byte) (reply []byte, name string, ok bool) {
	const header = 12
	if len(query) < header || query[2]&0x80 != 0 || binary.BigEndian.Uint16(query[4:]) != 1 {
		return nil, "", false
	}
	var labels []string
	at := header
	for {
		if at >= len(query) {
			return nil, "", false
		}
		n := int(query[at])
		at++
		if n == 0 {
			break
		}
		if n > 63 || at+n > len(query) {
			return nil, "", false
		}
		labels = append(labels, string(query[at:at+n]))
		at += n
	}
	if at += 4; at > len(query) { // type and class
		return nil, "", false
	}
	reply = slices.Clone(query[:at])
	reply[2] = 0x80 | query[2]&0x79 // a response to the same query
	reply[3] = 0x83                 // with recursion: no such name
	for i := 6; i < header; i++ {
		reply[i] = 0 // no answers and no other records
	}
	return reply, printable(strings.ToLower(strings.Join(labels, "."))), true
}

// printable returns a name as text: it may have any bytes.
func printable(name string) string {
	quoted := strconv.QuoteToASCII(name)
	return quoted[1 : len(quoted)-1]
}

// reserved reports whether a name is reserved, so that looking it up doesn't need the network.
func reserved(name string) bool {
	if name == "" {
		return true
	}
	host, _ := os.Hostname()
	if strings.EqualFold(name, host) {
		return true
	}
	for _, end := range []string{"localhost", "localdomain", "invalid", "test", "example", "local", "127.in-addr.arpa",
		"ip6.arpa"} {
		if name == end || strings.HasSuffix(name, "."+end) {
			return true
		}
	}
	return false
}

// addAddress adds an address to the loopback.
func addAddress(i int, addr netip.Addr) {
	family := unix.AF_INET
	if addr.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if addr.Is6() {
		req := struct { // struct in6_ifreq; the loopback is the first interface
			addr   [16]byte
			prefix uint32
			index  int32
		}{addr.As16(), 128, 1}
		unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&req)))
		return
	}
	req := struct { // struct ifreq
		name [16]byte
		addr unix.RawSockaddrInet4
		rest [8]byte
	}{}
	copy(req.name[:], "lo:"+strconv.Itoa(i))
	req.addr.Family, req.addr.Addr = unix.AF_INET, addr.As4()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR,
		uintptr(unsafe.Pointer(&req))); errno != 0 {
		return
	}
	req.addr.Addr = [4]byte{255, 255, 255, 255}
	unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFNETMASK, uintptr(unsafe.Pointer(&req)))
}

// connecting records the address that a command connects to, and the result.
func (t *trying) connecting(addr []byte, err error) {
	if t == nil {
		return
	}
	to, ok := addressOf(addr)
	switch {
	case !ok:
	case to == t.proxy:
		t.mu.Lock()
		t.proxied = true
		t.mu.Unlock()
	case to.Addr().IsLoopback() || to.Addr().IsUnspecified():
		t.loopback(to.String(), err == unix.ECONNREFUSED)
	case slices.Contains(t.own, to.Addr().String()):
	default:
		t.wants(to.String())
	}
}

// addressOf reads an Internet socket address.
func addressOf(addr []byte) (netip.AddrPort, bool) {
	if len(addr) < 8 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(addr[2:])
	switch binary.NativeEndian.Uint16(addr) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr[4:8])), port), true
	case unix.AF_INET6:
		if len(addr) >= 24 {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(addr[8:24])).Unmap(), port), true
		}
	}
	return netip.AddrPort{}, false
}
