package proc

import (
	"encoding/binary"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// This file implements how the commands of a session find each other's sockets.

// meeting is what a session process knows about its commands. Commands that connect to each other can pass descriptors
// of directories. When a mount namespace ends its mounts are detached, and such a directory would lose the mounts that
// protect paths below it. So the mount namespaces of commands that have met are kept until the last of those commands
// has exited.
type meeting struct {
	mu      sync.Mutex
	sockets *sandbox.Sockets
	owner   map[sandbox.ID]*member // of a socket's file
	members map[*member]bool
	kept    []int // mount namespaces
}

// member is a keeper with its command.
type member struct {
	mounts int  // its mount namespace, or -1 if it has no sockets
	met    bool // it has connected to another one
}

// maxKept bounds the number of mount namespaces that are kept. Later commands use another session.
const maxKept = 1000

func newMeeting() *meeting {
	return &meeting{sockets: sandbox.NewSockets(), owner: map[sandbox.ID]*member{}, members: map[*member]bool{}}
}

func (m *meeting) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept) >= maxKept
}

// The requests of a keeper. Each message comes with the descriptor of its mount namespace.
const (
	askAdd  = 'A' // with a socket's file, or none
	askFind = 'F' // with the identity of a file; the answer comes with a descriptor
	askMeet = 'M'
)

// serve answers a keeper until it exits.
func (m *meeting) serve(c *net.UnixConn) {
	defer c.Close()
	one := &member{mounts: -1}
	defer m.leave(one)
	for {
		body, fds, err := receiveFiles(c)
		if err != nil {
			closeFDs(fds)
			return
		}
		file, ok := m.answer(one, body, fds)
		closeFDs(fds)
		var rights []byte
		if file >= 0 {
			rights = unix.UnixRights(file)
		}
		answer := byte(0)
		if ok {
			answer = 1
		}
		c.WriteMsgUnix([]byte{answer}, rights, nil)
		if file >= 0 {
			unix.Close(file)
		}
	}
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// answer handles a request of a keeper. file is the descriptor for the response, or -1. ok is false if it failed: an
// unknown command can't connect to others.
func (m *meeting) answer(one *member, body []byte, fds []int) (file int, ok bool) {
	if len(fds) == 0 {
		return -1, false // no more descriptors
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if one.mounts < 0 {
		own, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return -1, false
		}
		one.mounts = own
		m.members[one] = true
	}
	switch body[0] {
	case askAdd:
		if len(fds) > 1 {
			if id, ok := m.sockets.Put(fds[1]); ok {
				m.owner[id] = one
				m.forget()
			}
		}
	case askMeet:
		for other := range m.members {
			other.met = other.met || len(m.members) > 1
		}
	case askFind:
		if len(body) != 17 {
			return -1, false
		}
		id := sandbox.ID{Dev: binary.BigEndian.Uint64(body[1:]), Ino: binary.BigEndian.Uint64(body[9:])}
		if file, ok := m.sockets.Find(id); ok {
			if other := m.owner[id]; other != one {
				one.met = true
				// Another command may have its socket by now, if it has connected to others.
				other.met = true
			}
			return file, true
		}
	}
	return -1, true
}

// forget drops the owners of files that no longer exist, when there are many.
func (m *meeting) forget() {
	const many = 10000
	if len(m.owner) < many {
		return
	}
	for id := range m.owner {
		if !m.sockets.Has(id) {
			delete(m.owner, id)
		}
	}
}

// leave keeps the mount namespace of a command that has connected to others, as long as one of them is running.
func (m *meeting) leave(one *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.members, one)
	switch {
	case one.mounts < 0:
	case one.met:
		m.kept = append(m.kept, one.mounts)
	default:
		unix.Close(one.mounts)
	}
	for other := range m.members {
		if other.met {
			return
		}
	}
	closeFDs(m.kept)
	m.kept = nil
}

// sharing is the keeper's side.
type sharing struct {
	mu      sync.Mutex // one request at a time
	conn    *net.UnixConn
	mounts  int
	answers chan given
}

// given is a response of the session process.
type given struct {
	ok  bool
	fds []int
}

// share returns the sockets of the session. lost is called when the session process exits, which ends what it keeps.
func share(conn *net.UnixConn, lost func()) *sharing {
	s := &sharing{conn: conn, mounts: -1, answers: make(chan given)}
	go func() {
		defer close(s.answers)
		for {
			body, fds, err := receiveFiles(conn)
			if err != nil {
				lost()
				return
			}
			s.answers <- given{body[0] == 1, fds}
		}
	}()
	return s
}

// ask sends a request to the session process. If that has exited, the response is no.
func (s *sharing) ask(body []byte, more ...int) given {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mounts < 0 {
		return given{}
	}
	if _, _, err := s.conn.WriteMsgUnix(body, unix.UnixRights(append([]int{s.mounts}, more...)...), nil); err != nil {
		return given{}
	}
	return <-s.answers
}

// In implements sandbox.Listening.
func (s *sharing) In(mounts int) {
	s.mounts, _ = unix.FcntlInt(uintptr(mounts), unix.F_DUPFD_CLOEXEC, 3) // -1 if it fails, and nothing is shared
}

// Add implements sandbox.Listening.
func (s *sharing) Add(file int) bool {
	if file < 0 {
		return s.ask([]byte{askAdd}).ok
	}
	return s.ask([]byte{askAdd}, file).ok
}

// Find implements sandbox.Listening.
func (s *sharing) Find(id sandbox.ID) (file int, ok bool) {
	got := s.ask(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{askFind}, id.Dev), id.Ino))
	if len(got.fds) != 1 {
		return -1, false
	}
	return got.fds[0], true
}

// Meet implements sandbox.Listening.
func (s *sharing) Meet() bool { return s.ask([]byte{askMeet}).ok }
