package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter can't read the address that a command connects to, and a checked address could change before the kernel
// reads it. So the listener connects: it copies the address, takes the command's socket, and connects that. It connects
// to a file only through a descriptor of Listening, which came from a socket of the session: links, renames and equal
// inode numbers can't lead to another one.

// maxServed bounds the number of calls of a sandbox that are served at a time.
const maxServed = 1024

// served is a call that the listener makes for a command.
type served struct {
	*notification
	box      *Box
	listener int
}

// serve makes a call and answers it. A killed caller needs no answer.
func (s served) serve() {
	if isRename(s.nr) {
		s.serveRename()
		return
	}
	v := verdict{id: s.id}
	if isLink(s.nr) {
		if s.linksOtherwise() {
			s.box.tell(saysLinks)
		}
		v.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		answer(s.listener, &v)
		return
	}
	if !slices.Contains([]uintptr{unix.SYS_LISTEN, unix.SYS_CONNECT}, uintptr(s.nr)) {
		if errno := s.setID(); errno != 0 {
			v.errno = -int32(errno)
		}
		answer(s.listener, &v)
		return
	}
	socket, err := s.socket()
	if err == nil {
		defer unix.Close(socket)
		if s.nr == int32(unix.SYS_LISTEN) {
			// Whatever the socket is when the kernel reads it, only this one can be connected to.
			if s.register(socket) {
				v.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
			} else {
				err = unix.ENOBUFS
			}
		} else {
			err = s.connect(socket)
		}
	}
	if errno, ok := err.(unix.Errno); ok {
		v.errno = -int32(errno)
	} else if err != nil {
		v.errno = -int32(unix.EPERM)
	}
	answer(s.listener, &v)
}

// serveRename answers a rename.
func (s served) serveRename() {
	v := verdict{id: s.id}
	done, err := s.rename()
	switch errno, ok := err.(unix.Errno); {
	case !done:
		v.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	case ok:
		v.errno = -int32(errno)
	}
	answer(s.listener, &v)
}

// socket returns a descriptor of the call's first argument.
func (s served) socket() (fd int, err error) {
	task := int(s.pid)
	pid, err := unix.PidfdOpen(task, unix.O_EXCL) // PIDFD_THREAD: a thread may have its own descriptors
	if err == unix.EINVAL {                       // before Linux 6.9
		leader, _ := strconv.Atoi(s.status()["Tgid"])
		pid, err = unix.PidfdOpen(leader, 0)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(pid)
	fd, err = unix.PidfdGetfd(pid, int(int32(s.args[0])), 0)
	if err != nil {
		return -1, err
	}
	if !s.valid() { // the ID may belong to another process by now
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// file returns a descriptor of the file that a descriptor of the caller has open. It is for the file's attributes only,
// and containers allow it that don't allow to take descriptors.
func (s served) file(descriptor uint64) (fd int, err error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", s.pid, int32(descriptor))
	fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	if err == nil && !s.valid() {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, err
}

// read copies the caller's memory at an address, up to a page that it doesn't have.
func (s served) read(into []byte, at uint64) (n int) {
	local := []unix.Iovec{{Base: unsafe.SliceData(into)}}
	local[0].SetLen(len(into))
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(into)}}
	n, err := unix.ProcessVMReadv(int(s.pid), local, remote, 0)
	if err != unix.EPERM {
		return n
	}
	// As in Podman's containers.
	memory, err := unix.Open(fmt.Sprintf("/proc/%d/mem", s.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(memory)
	n, _ = unix.Pread(memory, into, int64(at))
	return n
}

// valid reports whether the caller still waits.
func (s served) valid() bool {
	id := s.id
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID,
		uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// register records the file of a socket that is about to listen. It reports false if the socket may not listen.
func (s served) register(socket int) bool {
	if domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil ||
		domain != unix.AF_UNIX {
		return true
	}
	const siocunixfile = unix.SIOCPROTOPRIVATE
	file, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), siocunixfile, 0)
	if errno != 0 {
		return s.box.listening.Add(-1)
	}
	defer unix.Close(int(file))
	return s.box.listening.Add(int(file))
}

// connect connects the socket to the caller's address.
func (s served) connect(socket int) error {
	domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	size := int32(s.args[2])
	if size < 0 || size > unix.SizeofSockaddrAny+16 {
		return unix.EINVAL
	}
	addr := make([]byte, size)
	if s.read(addr, s.args[1]) != len(addr) {
		return unix.EFAULT
	}
	if !s.valid() {
		return unix.ESRCH
	}
	if domain == unix.AF_UNIX {
		file := -1
		if addr, file, err = s.address(addr); err != nil {
			return err
		}
		if file >= 0 {
			defer unix.Close(file)
		}
	}
	if s.box.trial == nil || domain == unix.AF_UNIX {
		return s.waits(socket, domain, addr)
	}
	err = s.waits(socket, domain, addr)
	s.box.trial.connecting(addr, err)
	return err
}

// address returns the address to connect a Unix socket to instead of the caller's: the same name if it is abstract, as
// those belong to a network namespace, and otherwise the descriptor of a file.
func (s served) address(addr []byte) (to []byte, file int, err error) {
	const family = 2
	if len(addr) <= family || len(addr) > unix.SizeofSockaddrUnix || binary.NativeEndian.Uint16(addr) != unix.AF_UNIX {
		return nil, -1, unix.EINVAL
	}
	if addr[family] == 0 {
		if !s.box.listening.Meet() {
			return nil, -1, unix.ENOBUFS
		}
		return addr, -1, nil
	}
	name, _, _ := bytes.Cut(addr[family:], []byte{0})
	path := string(name)
	found, err := s.open(path)
	if err != nil {
		return nil, -1, err
	}
	defer unix.Close(found)
	id, ok := socketID(found)
	if !ok {
		return nil, -1, unix.ECONNREFUSED
	}
	if file, ok = s.box.listening.Find(id); !ok {
		s.box.tellSocket(path)
		return nil, -1, unix.EACCES
	}
	to = append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), "/proc/self/fd/"+strconv.Itoa(file)...)
	return append(to, 0), file, nil
}

// open opens a path as the caller would.
func (s served) open(path string) (file int, err error) { return s.openFrom("", path, unix.O_PATH) }

// openFrom opens a path relative to a directory of the caller in /proc; empty: its working directory.
func (s served) openFrom(from, path string, flags uint64) (file int, err error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if from == "" {
		from = "cwd"
	}
	if strings.HasPrefix(path, "/") {
		from, how.Resolve = "root", how.Resolve|unix.RESOLVE_IN_ROOT
	}
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/%s", s.pid, from), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	for range 100 {
		// EAGAIN: something was moved meanwhile.
		if file, err = unix.Openat2(dir, path, &how); err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return file, err
}

// waits connects, and waits as long as the caller would, without blocking a thread.
func (s served) waits(socket, domain int, addr []byte) error {
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags&unix.O_NONBLOCK != 0 {
		return connectOnce(socket, addr)
	}
	began, timeout := time.Now(), time.Duration(0)
	if limit, err := unix.GetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err == nil {
		timeout = time.Duration(limit.Nano())
	}
	signaled := false
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 50*time.Millisecond) {
		setNonblock(socket, true)
		err := connectOnce(socket, addr)
		setNonblock(socket, false)
		switch {
		case err == unix.EINPROGRESS, err == unix.EALREADY, err == unix.EAGAIN && domain == unix.AF_UNIX:
		default:
			return err
		}
		if timeout > 0 && time.Since(began) > timeout {
			return err
		}
		time.Sleep(pause)
		if !s.valid() {
			return unix.ESRCH
		}
		if err := s.interrupted(); err == restart || err != nil && signaled {
			return err
		} else {
			signaled = err != nil
		}
	}
}

// setNonblock also changes the caller's socket, so it is only set for the duration of one call that doesn't block.
func setNonblock(socket int, on bool) {
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		return
	}
	if flags &^= unix.O_NONBLOCK; on {
		flags |= unix.O_NONBLOCK
	}
	unix.FcntlInt(uintptr(socket), unix.F_SETFL, flags)
}

func connectOnce(socket int, addr []byte) error {
	var at unsafe.Pointer
	if len(addr) > 0 {
		at = unsafe.Pointer(&addr[0])
	}
	if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(at), uintptr(len(addr))); errno != 0 {
		return errno
	}
	return nil
}

// restart is the kernel's ERESTARTSYS: after the signal the call is made again, or fails with EINTR, depending on the
// handler. Without a signal the caller would see it.
const restart unix.Errno = 512

// interrupted returns the answer to a caller with a pending signal, which it only receives after the answer. A signal
// for a whole process may be handled by another thread, so it must be pending for some time, and the answer is harmless
// without one.
func (s served) interrupted() error {
	status := s.status()
	set := func(name string) uint64 {
		n, _ := strconv.ParseUint(status[name], 16, 64)
		return n
	}
	own, shared := set("SigPnd")&^set("SigBlk"), set("ShdPnd")&^set("SigBlk")
	switch {
	case own != 0, shared != 0 && status["Threads"] == "1":
		return restart
	case shared != 0:
		return unix.EINTR
	}
	return nil
}

// status returns the caller's status in /proc.
func (s served) status() map[string]string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			all[name] = strings.TrimSpace(value)
		}
	}
	return all
}

// nameServices are sockets where the C library looks for users and hosts, and does without.
var nameServices = []string{"/run/nscd/", "/var/run/nscd/", "/var/lib/sss/", "/run/systemd/", "/run/dbus/",
	"/var/run/dbus/"}

// tellSocket records a socket that the command couldn't reach.
func (b *Box) tellSocket(path string) {
	for _, dir := range nameServices {
		if strings.HasPrefix(path, dir) {
			return
		}
	}
	b.tell(fmt.Sprintf("%s (%q)", saysSockets, path))
}

// Listening has the files of the sockets that the commands of a session listen on, each as a descriptor that was taken
// from the socket itself. Connections go through such a descriptor, so that no path leads to a socket that the session
// didn't create.
type Listening interface {
	// In sets the mount namespace of the command. The caller keeps the descriptor.
	In(mounts int)
	// Add adds a socket's file, which the caller keeps; -1 if it has none. If it reports false, the socket may not
	// listen.
	Add(file int) bool
	// Find returns a descriptor of the file, which the caller closes.
	Find(ID) (file int, ok bool)
	// Meet records that the command connects to a socket without a file, and reports whether it may.
	Meet() bool
}

// maxListening bounds the number of files. There are few: removed files are dropped.
const maxListening = 4096

// Sockets is a Listening for one command, which can't pass descriptors to others.
type Sockets struct {
	mu    sync.Mutex
	files map[ID]int
	limit int
}

// NewSockets returns an empty Sockets.
func NewSockets() *Sockets { return &Sockets{files: map[ID]int{}, limit: maxListening} }

// In implements Listening.
func (s *Sockets) In(int) {}

// Meet implements Listening.
func (s *Sockets) Meet() bool { return true }

// Add implements Listening.
func (s *Sockets) Add(file int) bool {
	s.Put(file)
	return true
}

// Put adds a socket's file and returns its identity. ok is false if it was not
// added.
func (s *Sockets) Put(file int) (id ID, ok bool) {
	if id, ok = socketID(file); !ok {
		return id, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.files[id]; ok { // another file with the same number can only follow one that is gone
		unix.Close(old)
		delete(s.files, id)
	}
	if len(s.files) >= s.limit {
		s.sweep()
	}
	if len(s.files) >= s.limit {
		return id, false
	}
	own, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return id, false
	}
	s.files[id] = own
	return id, true
}

// sweep drops files that have been removed.
func (s *Sockets) sweep() {
	for id, fd := range s.files {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Nlink == 0 {
			unix.Close(fd)
			delete(s.files, id)
		}
	}
}

// Find implements Listening.
func (s *Sockets) Find(id ID) (file int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.files[id]
	if !ok {
		return -1, false
	}
	file, err := unix.FcntlInt(uintptr(own), unix.F_DUPFD_CLOEXEC, 3)
	return file, err == nil
}

// Has reports whether a file is known.
func (s *Sockets) Has(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[id]
	return ok
}

// socketID returns the identity of a file if it is a socket.
func socketID(file int) (ID, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return ID{}, false
	}
	return ID{Dev: st.Dev, Ino: st.Ino}, true
}

func (b *Box) inSession() bool { return b.listening != nil }

// Share connects the sandbox's commands with the sockets of others, in both directions. Without it they only reach
// their own.
func (b *Box) Share(l Listening) { b.listening = l }
