package sandbox

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Listening are the files of the sockets that the commands of a session listen
// on, each as a descriptor that was taken from the socket itself. Connecting
// goes through such a descriptor, so no path leads to a socket that the session
// has not made.
type Listening interface {
	// In says which mount namespace the command is in. The descriptor stays the
	// caller's.
	In(mounts int)
	// Add adds a socket's file, which stays the caller's; -1 if it has none. The
	// socket may not listen if it reports false.
	Add(file int) bool
	// Find returns a descriptor of the file, which the caller closes.
	Find(ID) (file int, ok bool)
	// Meet says that the command connects to a socket that has no file. It may
	// not if it reports false.
	Meet() bool
}

// mostListening bounds how many files are kept. They are few: a file that was
// removed is forgotten.
const mostListening = 4096

// Sockets is Listening for one command, which can't pass descriptors to others.
type Sockets struct {
	mu    sync.Mutex
	files map[ID]int
	most  int
}

// NewSockets has none yet.
func NewSockets() *Sockets { return &Sockets{files: map[ID]int{}, most: mostListening} }

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
	if old, ok := s.files[id]; ok { // another one by the same number can only follow one that is gone
		unix.Close(old)
		delete(s.files, id)
	}
	if len(s.files) >= s.most {
		s.sweep()
	}
	if len(s.files) >= s.most {
		return id, false
	}
	own, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return id, false
	}
	s.files[id] = own
	return id, true
}

// sweep forgets files that have no name any more.
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

// socketID is the identity of a file that is a socket.
func socketID(file int) (ID, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return ID{}, false
	}
	return ID{Dev: st.Dev, Ino: st.Ino}, true
}

func (b *Box) inSession() bool { return b.listening != nil }

// Share lets the sandbox's commands reach the sockets of others, and the other
// way round. Without it they reach their own.
func (b *Box) Share(l Listening) { b.listening = l }
