package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// The hosts outside, all on the loopback of a network namespace, with addresses for documentation.
const (
	registryAt = "203.0.113.10" // of an allowed host that serves packages
	frontAt    = "203.0.113.77" // of an allowed host that must receive nothing in attacks
	evilAt     = "203.0.113.66" // of hosts that aren't allowed
	resolverAt = "203.0.113.53"
	evil6At    = "2001:db8::66"
)

// outsideVariable is set in the process that is in the network namespace, to the path of Adze.
const outsideVariable = "ADZE_TEST_OUTSIDE"

// TestNetworkOfCommands runs commands in a network namespace in which a few hosts are the Internet.
func TestNetworkOfCommands(t *testing.T) {
	if os.Getenv(outsideVariable) == "" {
		soak.Skip(t, 50, 100)
		t.Parallel()
		enterNetwork(t)
		return
	}
	o := newOutside(t)
	o.control(t)
	program := os.Getenv(outsideVariable)
	uids := []int{os.Getuid()}
	if os.Getuid() == 0 {
		uids = append(uids, nobody)
	}
	for _, uid := range uids {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			d := newDen(t, program, uid)
			d.settings = `,"permissions":{"allow":["Network(registry.example.com)","Network(front.example.com)",` +
				`"Network(local.example.com)"],"deny":["Network(*.denied.example.com)"]}`
			d.path = append(d.path, filepath.Join(runtime.GOROOT(), "bin"))
			o.serve(d)
			d.give()
			if out, _ := d.run("true", ""); !strings.Contains(out, "Exit Code: 0") {
				t.Skipf("commands can't be tried here: %s", out)
			}
			o.packages(t, d)
			o.credentials(t, d)
			t.Run("project", func(t *testing.T) { o.project(t, d) })
			o.attacks(t, d)
		})
	}
}

// enterNetwork runs this test again, in namespaces.
func enterNetwork(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), outsideVariable+"="+plainProgram(t))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_NET_BIND_SERVICE}
	}
	out, err := c.CombinedOutput()
	if pathErr, ok := err.(*os.PathError); ok {
		t.Skipf("no namespaces here: %v", pathErr)
	}
	if t.Log(string(out)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "SKIP") {
		t.Skip("see above")
	}
}

// outside is the Internet of the test.
type outside struct {
	mu  sync.Mutex
	got map[string]*bytes.Buffer // what a listener received, by its address
	ca  []byte
	key tls.Certificate

	controlled bool // a listener received what was sent with raw sockets without Adze

	authorized []string // requests for the host with credentials: method and header
}

func newOutside(t *testing.T) *outside {
	o := &outside{got: map[string]*bytes.Buffer{}}
	up(t, "lo", "")
	for i, addr := range []string{registryAt, frontAt, evilAt, resolverAt} {
		up(t, fmt.Sprintf("lo:%d", i+1), addr)
	}
	if out, err := exec.Command("ip", "addr", "add", evil6At+"/128", "dev", "lo").CombinedOutput(); err != nil {
		t.Logf("without IPv6: %v %s", err, out)
	}
	o.certify(t)
	dir := t.TempDir()
	self, _ := os.Hostname() // curl --version looks it up
	for path, text := range map[string]string{
		"/etc/hosts": "127.0.0.1 localhost local.example.com " + self + "\n" + registryAt + " registry.example.com api.example.com\n" + frontAt +
			" front.example.com\n" + evilAt + " evil.example.com a.denied.example.com\n" + evil6At + " evil.example.com\n",
		"/etc/resolv.conf":  "nameserver " + resolverAt + "\n",
		systemAuthorities(): string(o.ca),
	} {
		own := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(own, path, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("mount %s: %v", path, err)
		}
	}
	os.Chmod(dir, 0o755)
	for _, at := range []string{"127.0.0.1:80", frontAt + ":443", frontAt + ":80", evilAt + ":80", evilAt + ":443",
		evilAt + ":22", evilAt + ":53", resolverAt + ":53", "[" + evil6At + "]:80", "[" + evil6At + "]:443"} {
		o.listen(t, at)
	}
	o.listenRaw(t, "ip4:icmp", evilAt)
	o.listenRaw(t, "ip4:253", evilAt)
	o.listenRaw(t, "ip6:ipv6-icmp", evil6At)
	runtime.LockOSThread() // the commands of this test have no capabilities, unless it is root
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	return o
}

// up activates the loopback, or gives it another address.
func up(t *testing.T, name, addr string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	request := uint(unix.SIOCSIFFLAGS)
	if addr == "" {
		r.SetUint16(unix.IFF_UP)
	} else {
		request = unix.SIOCSIFADDR
		if err := r.SetInet4Addr(net.ParseIP(addr).To4()); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.IoctlIfreq(fd, request, r); err != nil {
		t.Skipf("%s: %v", name, err)
	}
}

// sendRaw is the program that only sends with raw sockets.
func sendRaw() { fmt.Print(rawSockets("C4N4RYC4N4RY")) }

// rawSockets sends a text to a host without TCP and UDP, in several ways, and returns what became of each.
func rawSockets(text string) (log string) {
	echo := append([]byte{8, 0, 0, 0, 0, 1, 0, 1}, text...)
	sum := uint32(0)
	for i := 0; i < len(echo); i += 2 {
		sum += uint32(echo[i])<<8 | uint32(echo[i+1])
	}
	sum = ^(sum>>16 + sum&0xffff)
	echo[2], echo[3] = byte(sum>>8), byte(sum)
	evil := &unix.SockaddrInet4{Addr: [4]byte(net.ParseIP(evilAt).To4())}
	evil6 := &unix.SockaddrInet6{Addr: [16]byte(net.ParseIP(evil6At))}
	const experimental, frame = 253, 0x0008
	for _, s := range []struct {
		name                 string
		family, kind, number int
		to                   unix.Sockaddr
	}{
		{"ICMP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, evil},
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, evil},
		{"ICMPv6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, evil6},
		{"ping6", unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6, evil6},
		{"another protocol", unix.AF_INET, unix.SOCK_RAW, experimental, evil},
		{"frames", unix.AF_PACKET, unix.SOCK_RAW, frame, &unix.SockaddrLinklayer{Protocol: frame, Ifindex: 1, Halen: 6}},
	} {
		fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, s.number)
		if err == nil {
			err = unix.Sendto(fd, echo, 0, s.to)
			unix.Close(fd)
		}
		log += fmt.Sprintf("%s: %v\n", s.name, err)
	}
	return log
}

// listenRaw records what is sent to an address without TCP and UDP, if this process may.
func (o *outside) listenRaw(t *testing.T, network, at string) {
	p, err := net.ListenPacket(network, at)
	if err != nil {
		t.Logf("%s: %v", network, err)
		return
	}
	got := &bytes.Buffer{}
	o.got[network] = got
	go func() {
		b := make([]byte, 4096)
		for {
			n, _, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			o.mu.Lock()
			if bytes.Contains(b[:n], []byte(controlText)) {
				o.controlled = true
			} else {
				fmt.Fprintf(got, "raw %q", b[:n])
			}
			o.mu.Unlock()
		}
	}()
}

// controlText is sent without Adze, to see that listeners receive from raw sockets.
const controlText = "C0NTR0LC0NTR0L"

// control sends with raw sockets without Adze, if this process may, and waits until a listener received that.
func (o *outside) control(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	t.Logf("without Adze:\n%s", rawSockets(controlText))
	waittest.Until(t, "a listener receives from raw sockets without Adze", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.controlled
	})
}

// listen records what is sent to an address, with TCP or UDP.
func (o *outside) listen(t *testing.T, at string) {
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Logf("%s: %v", at, err)
		return
	}
	got := &bytes.Buffer{}
	o.got[at] = got
	record := func(b []byte) {
		o.mu.Lock()
		defer o.mu.Unlock()
		got.Write(b)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 4096)
				for {
					n, err := c.Read(b)
					record(b[:n])
					if err != nil {
						c.Close()
						return
					}
				}
			}()
		}
	}()
	if p, err := net.ListenPacket("udp", at); err == nil {
		go func() {
			b := make([]byte, 4096)
			for {
				n, _, err := p.ReadFrom(b)
				if err != nil {
					return
				}
				record(append([]byte("UDP "), b[:n]...))
			}
		}()
	}
}

// received returns everything that listeners received since the last call.
func (o *outside) received() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := ""
	for at, b := range o.got {
		if b.Len() > 0 {
			all += fmt.Sprintf("%s: %q\n", at, b.Bytes())
			b.Reset()
		}
	}
	return all
}

// certify makes the key of the hosts that are allowed.
func (o *outside) certify(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry.example.com"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"registry.example.com", "api.example.com"}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	o.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	o.key = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve serves packages of all kinds at the registry, made in a den.
func (o *outside) serve(d *den) {
	d.put("ca.crt", string(o.ca), 0o644)
	d.put("/www/plain", "plain\n", 0o644)
	d.put("/source/file", "fetched\n", 0o644)
	d.repository("/source", "file")
	d.git("/www", "clone", "-q", "--bare", "../source", "repo.git")
	d.git("/www/repo.git", "update-server-info")
	d.put("/www/go/example.com/m/@v/list", "v1.0.0\n", 0o644)
	d.put("/www/go/example.com/m/@v/v1.0.0.info", `{"Version":"v1.0.0"}`, 0o644)
	d.put("/www/go/example.com/m/@v/v1.0.0.mod", "module example.com/m\n", 0o644)
	d.mkdir("/zip/example.com/m@v1.0.0")
	d.put("/zip/example.com/m@v1.0.0/m.go", "package m\n", 0o644)
	d.put("/zip/example.com/m@v1.0.0/go.mod", "module example.com/m\n", 0o644)
	o.archive(d, "/www/go/example.com/m/@v/v1.0.0.zip", "/zip")
	d.put("/wheel/tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n", 0o644)
	d.put("/wheel/tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n", 0o644)
	d.put("/wheel/tiny-1.0.dist-info/RECORD", "", 0o644)
	d.mkdir("/www/simple/tiny")
	o.archive(d, "/www/simple/tiny/tiny-1.0-py3-none-any.whl", "/wheel")
	d.put("/www/simple/tiny/index.html", "<a href=\"tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>", 0o644)
	d.put("go.mod", "module a\n\ngo 1.21\n\nrequire example.com/m v1.0.0\n", 0o644)
	files := http.FileServer(http.Dir(d.at("/www")))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "api.example.com" && r.TLS != nil && !o.authorize(w, r) {
			return
		}
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "http://evil.example.com/"+birdseye, http.StatusFound)
		case r.URL.Path == "/big":
			io.CopyN(w, zeros{}, int64(bigDownload()))
		case strings.HasPrefix(r.URL.Path, "/npm/"):
			o.npm(w, r)
		default:
			files.ServeHTTP(w, r)
		}
	})
	for port, config := range map[string]*tls.Config{"80": nil, "443": {Certificates: []tls.Certificate{o.key}}} {
		l, err := net.Listen("tcp", net.JoinHostPort(registryAt, port))
		if err != nil {
			d.t.Fatal(err)
		}
		if config != nil {
			l = tls.NewListener(l, config)
		}
		s := &http.Server{Handler: handler}
		go s.Serve(l)
		d.t.Cleanup(func() { s.Close() })
	}
}

// bigDownload is the size of the largest file that is downloaded.
func bigDownload() int { return soak.Count(64<<20, 1<<30) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// systemAuthorities returns the system's file of authorities, which Adze trusts.
func systemAuthorities() string {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/etc/ssl/cert.pem"
}
