package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// This file is the session process, and the program's side of it.

// session is a process in its own network namespace. It starts the keepers of all commands that share it, so that a
// command can connect to the servers of an earlier one. The keepers are children of the program, not of this process,
// which exits with its control socket.
type session struct {
	process *os.Process
	ctl     *net.UnixConn
}

// sessionTime bounds the wait for a keeper. It is long enough for a slow machine.
const sessionTime = time.Minute

func newSession(h Helper) (*session, error) {
	ours, theirs, err := packets()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer null.Close()
	attr := sandbox.SessionAttr()
	attr.Setsid, attr.Pdeathsig = true, syscall.SIGCONT // as for a keeper
	p, err := os.StartProcess(h.path, []string{"adze-session", sessionArg}, &os.ProcAttr{
		Env: helperEnv(), Files: []*os.File{null, null, null, theirs}, Sys: attr,
	})
	if err != nil {
		ours.Close()
		return nil, err
	}
	return &session{process: p, ctl: ours}, nil
}

// sessions manages the session process, which is started when a keeper needs it.
type sessions struct {
	mu     sync.Mutex
	one    *session
	full   []*session // their commands may still be running
	closed bool
}

// keeper has the session process start a keeper. A session process that has exited or is full is replaced next time: it
// may have started a keeper before it exited, so another one needs other files.
func (s *sessions) keeper(h Helper, want kind, ctl, out *os.File) (p *os.Process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.one == nil {
		if s.one, err = newSession(h); err != nil {
			return nil, &sessionError{err}
		}
	}
	if p, err = s.one.keeper(want, ctl, out); err == nil {
		return p, nil
	}
	if errors.Is(err, syscall.EMFILE) {
		s.full = append(s.full, s.one)
	} else {
		s.one.close()
	}
	s.one = nil
	return nil, &sessionError{err}
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, one := range append(s.full, s.one) {
		one.close()
	}
	s.one, s.full = nil, nil
}

// sessionError reports that there is no session process, or that it can't start keepers.
type sessionError struct{ err error }

func (e *sessionError) Error() string { return "start the session process: " + e.err.Error() }
func (e *sessionError) Unwrap() error { return e.err }

// packets returns a pair of sockets that preserve message boundaries: one to use, and one to pass on.
func packets() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(fds[1]), "control")
	if ours, err = connOf(fds[0]); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// connOf takes ownership of a descriptor.
func connOf(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "control")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("not a unix socket")
	}
	return conn, nil
}

// keeper starts a keeper with its control socket and its output.
func (s *session) keeper(want kind, ctl, out *os.File) (*os.Process, error) {
	s.ctl.SetDeadline(time.Now().Add(sessionTime))
	if err := sendFiles(s.ctl, numbers(int(want)), ctl, out); err != nil {
		return nil, err
	}
	var b [8]byte
	n, err := s.ctl.Read(b[:])
	if err != nil {
		return nil, err
	}
	pid, errno := number(b[:n], 0), number(b[:n], 1)
	if errno != 0 || pid == 0 {
		return nil, fmt.Errorf("start a supervisor process: %w", syscall.Errno(errno))
	}
	return os.FindProcess(pid)
}

// close stops the session process. The keepers that it has started continue.
func (s *session) close() {
	if s != nil {
		s.ctl.Close()
		s.process.Kill() // it has nothing to clean up
		s.process.Wait()
	}
}

func sendFiles(c *net.UnixConn, message []byte, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := c.WriteMsgUnix(message, unix.UnixRights(fds...), nil)
	return err
}

// receiveFiles receives a message with descriptors, which the caller must close.
func receiveFiles(c *net.UnixConn) (message []byte, fds []int, err error) {
	message, control := make([]byte, 64), make([]byte, unix.CmsgSpace(4*4))
	n, m, _, _, err := c.ReadMsgUnix(message, control)
	if err != nil {
		return nil, nil, err
	}
	all, err := unix.ParseSocketControlMessage(control[:m])
	for _, c := range all {
		if more, err := unix.ParseUnixRights(&c); err == nil {
			fds = append(fds, more...)
		}
	}
	if n == 0 { // the other side closed it
		return nil, fds, os.ErrClosed
	}
	return message[:n], fds, err
}

// beSession is the session process.
func beSession() int {
	closeInherited()
	// Commands have the same user: they must not read its memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 1
	}
	os.Chdir("/") // don't keep a directory busy
	ctl, err := connOf(ctlFD)
	if err != nil {
		return 1
	}
	failed := errnoNone(sandbox.LoopbackUp())
	all := newMeeting()
	for {
		body, fds, err := receiveFiles(ctl)
		if err != nil {
			return 0 // the program has exited
		}
		pid, errno := 0, failed
		if errno == 0 && len(fds) == 2 {
			pid, errno = startKeeper(kind(number(body, 0)), fds, all)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
		ctl.Write(numbers(pid, int(errno)))
	}
}

func errnoNone(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err)
}

// startKeeper starts a keeper that shares this process's network and sockets.
func startKeeper(want kind, fds []int, all *meeting) (pid int, errno syscall.Errno) {
	if all.full() {
		return 0, syscall.EMFILE
	}
	ours, theirs, err := packets()
	if err != nil {
		return 0, errnoOf(err)
	}
	defer theirs.Close()
	attr := want.apart().Within()
	attr.Setsid, attr.Pdeathsig = true, syscall.SIGCONT
	pid, err = syscall.ForkExec("/proc/self/exe", keeperArgv(want), &syscall.ProcAttr{
		Env: helperEnv(), Files: []uintptr{0, 1, 2, uintptr(fds[0]), uintptr(fds[1]), theirs.Fd()}, Sys: attr,
	})
	if err != nil {
		ours.Close()
		return 0, errnoOf(err)
	}
	go all.serve(ours)
	return pid, 0
}

// helperEnv returns a keeper's own environment: no secrets, settings for a small runtime, and variables for binaries
// with coverage or race detection.
func helperEnv() []string {
	env := []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=32MiB"}
	for _, name := range []string{"GOCOVERDIR", "GORACE"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func keeperArgv(want kind) []string {
	return []string{"adze-keeper", helperArg, strconv.Itoa(int(want))}
}

// Messages between the program and a keeper, over a stream socket: a letter, the length of the body, and the body.
const (
	msgRun     = 'R' // to the keeper: a spec
	msgStop    = 'T' // to the keeper: grace in milliseconds
	msgReady   = 'K' // the keeper is ready for its command
	msgProxy   = 'P' // a socket that listens in the command's network, as a descriptor
	msgStarted = 'S' // pid
	msgFailed  = 'F' // errno; if the sandbox couldn't be made, a text with the reason
	msgExited  = 'X' // wait status, number of leftover processes; the sandbox's report as JSON
	msgEmpty   = 'E' // nothing is left; the keeper exits
	msgLeft    = 'L' // number of processes that couldn't be stopped; the keeper exits
)

// maxMessage bounds a message: command lines and environments are smaller.
const maxMessage = 64 << 20

func send(w io.Writer, kind byte, body []byte) error {
	m := make([]byte, 5, 5+len(body))
	m[0] = kind
	binary.BigEndian.PutUint32(m[1:], uint32(len(body)))
	_, err := w.Write(append(m, body...))
	return err
}

func receive(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxMessage {
		return 0, nil, fmt.Errorf("read message of %d bytes: larger than %d", n, maxMessage)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// numbers writes numbers, and number reads the i-th; 0 if it is missing.
func numbers(ns ...int) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func number(b []byte, i int) int {
	if len(b) < 4*i+4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[4*i:]))
}

// encode writes a spec as strings with their lengths: environments can have any bytes, so JSON can't be used.
func (s *spec) encode() []byte {
	var b []byte
	str := func(v string) {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	list := func(v []string) {
		b = binary.AppendUvarint(b, uint64(len(v)))
		for _, e := range v {
			str(e)
		}
	}
	str(s.dir)
	str(s.script)
	list(s.argv)
	list(s.env)
	str(s.input)
	str(strconv.FormatBool(s.split))
	str(strconv.FormatBool(s.proxied))
	switch {
	case s.made != nil:
		str(string(s.made.Encode()))
	case s.box != nil:
		str(string(sandbox.New(s.box, s.plan, boxTemp(s.marker)).Encode()))
	default:
		str("")
	}
	return b
}

// decodeSpec reads the result of encode, with its sandbox if there is one.
func decodeSpec(b []byte) (*spec, *sandbox.Box, error) {
	bad := errors.New("read the command: invalid message")
	str := func() (v string, ok bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return "", false
		}
		v, b = string(b[k:k+int(n)]), b[k+int(n):]
		return v, true
	}
	list := func() (v []string, ok bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) {
			return nil, false
		}
		b = b[k:]
		for range n {
			e, ok := str()
			if !ok {
				return nil, false
			}
			v = append(v, e)
		}
		return v, true
	}
	s := &spec{}
	var ok [8]bool
	s.dir, ok[0] = str()
	s.script, ok[1] = str()
	s.argv, ok[2] = list()
	s.env, ok[3] = list()
	s.input, ok[4] = str()
	split, isSplit := str()
	s.split, ok[5] = split == "true", isSplit
	proxied, isProxied := str()
	s.proxied, ok[7] = proxied == "true", isProxied
	raw, last := str()
	if ok[6] = last; slices.Contains(ok[:], false) || len(s.argv) == 0 || len(b) > 0 {
		return nil, nil, bad
	}
	if raw == "" {
		return s, nil, nil
	}
	box, err := sandbox.DecodeBox([]byte(raw))
	return s, box, err
}
