package proc

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// This file is how a command without a network reaches its proxy. The keeper opens a socket on the loopback of the
// command's network and passes it to the program, which serves it. No other process has it: if the program exits,
// the command reaches nothing.

// proxyBacklog is the number of connections that wait for the program.
const proxyBacklog = 512

// openProxy opens the socket in the network of the calling thread, and sets the variables that name it.
func (k *keeping) openProxy(s *spec) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &boxError{why: "open a socket for the proxy: " + err.Error()}
	}
	defer unix.Close(fd)
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, proxyBacklog)
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		return &boxError{why: "open a socket for the proxy: " + err.Error()}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var message strings.Builder
	send(&message, msgProxy, nil)
	if err := unix.Sendmsg(int(k.ctl.Fd()), []byte(message.String()), unix.UnixRights(fd), nil, 0); err != nil {
		return &boxError{why: "pass the socket for the proxy: " + err.Error()}
	}
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(at.(*unix.SockaddrInet4).Port))
	if k.box != nil {
		k.box.ProxyAt(to)
	}
	s.env = proxyEnviron(s.env, "http://"+to.String())
	return nil
}

// proxyEnviron returns an environment with the variables by which programs find a proxy, and without those of the
// user's own.
func proxyEnviron(env []string, url string) []string {
	own := []string{"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy", "npm_config_proxy",
		"npm_config_https_proxy", "npm_config_noproxy", "node_use_env_proxy"}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return slices.Contains(own, strings.ToLower(name(kv)))
	})
	const local = "localhost,127.0.0.1,::1"
	return append(out, "http_proxy="+url, "https_proxy="+url, "all_proxy="+url, "no_proxy="+local, "HTTP_PROXY="+url,
		"HTTPS_PROXY="+url, "ALL_PROXY="+url, "NO_PROXY="+local, "NODE_USE_ENV_PROXY=1")
}

// withFiles reads a control socket, with the descriptors that come with its messages.
type withFiles struct {
	file *os.File
	fds  []int
}

func (w *withFiles) Read(p []byte) (n int, err error) {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	control := make([]byte, unix.CmsgSpace(2*4))
	var m int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, m, _, _, failed = unix.Recvmsg(int(fd), p, control, unix.MSG_CMSG_CLOEXEC)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	messages, _ := unix.ParseSocketControlMessage(control[:m])
	for _, c := range messages {
		fds, _ := unix.ParseUnixRights(&c)
		w.fds = append(w.fds, fds...)
	}
	return n, nil
}

func (w *withFiles) close() {
	closeFDs(w.fds)
	w.fds = nil
}

// openProxies serves the sockets that the keeper passed.
func (t *kept) openProxies(from *withFiles) {
	for _, fd := range from.fds {
		f := os.NewFile(uintptr(fd), "proxy")
		if l, err := net.FileListener(f); err == nil {
			t.proxies = append(t.proxies, l)
			t.serve(l)
		}
		f.Close()
	}
	from.fds = nil
}

// sendRun sends a command to its keeper, with the files of a conversation.
func sendRun(ctl *os.File, s *spec) error {
	if s.talk == nil {
		return send(ctl, msgRun, s.encode())
	}
	var message bytes.Buffer
	send(&message, msgRun, s.encode())
	raw, err := ctl.SyscallConn()
	if err != nil {
		return err
	}
	rights := unix.UnixRights(int(s.talk[0].Fd()), int(s.talk[1].Fd()))
	first := message.Next(1) // the rest may need several writes
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for {
			if failed = unix.Sendmsg(int(fd), first, rights, nil, 0); failed != unix.EINTR {
				return failed != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, failed); err == nil {
		_, err = message.WriteTo(ctl)
	}
	return err
}
