package watch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// system is an inotify instance.
type system struct {
	fd     int // valid while a Watcher is open
	buffer []byte
}

const (
	names = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF |
		unix.IN_MOVE_SELF
	// Writes through a shared mapping are only reported when the file is closed.
	writes = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB
	flags  = unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK | unix.IN_MASK_ADD
)

// Open returns a Watcher without directories. Close it.
func (h *Hub) Open(i Interest) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) == 0 {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return nil, err
		}
		h.system.fd, h.Most, h.watches = fd, cmp.Or(h.Most, Limit()), map[int32]int{}
	}
	w := &Watcher{hub: h, interest: i, watches: map[int32]bool{}}
	h.open = append(h.open, w)
	return w, nil
}

// Limit returns the maximum number of directories that a session watches: editors need some too.
func Limit() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if n, err2 := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && err2 == nil {
		return n / 2
	}
	return 8192 / 2 // the default of old kernels
}

// Add watches a directory, without following links; a directory has one number, even if it is mounted several times.
func (w *Watcher) Add(path string) (int32, error) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	mask := uint32(names | flags)
	if w.interest == Writes {
		mask |= writes
	}
	for {
		n, err := unix.InotifyAddWatch(h.system.fd, path, mask)
		if err == unix.EINTR {
			continue
		}
		wd := int32(n)
		if err == nil && !w.watches[wd] {
			if h.watches[wd] == 0 && len(h.watches) >= h.Most {
				unix.InotifyRmWatch(h.system.fd, uint32(wd))
				return 0, unix.ENOSPC
			}
			w.watches[wd] = true
			h.watches[wd]++
		}
		return wd, err
	}
}

// Remove ends a watch.
func (w *Watcher) Remove(wd int32) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.drop(wd)
}

func (w *Watcher) drop(wd int32) {
	if !w.watches[wd] {
		return
	}
	delete(w.watches, wd)
	if w.hub.watches[wd]--; w.hub.watches[wd] <= 0 {
		delete(w.hub.watches, wd)
		unix.InotifyRmWatch(w.hub.system.fd, uint32(wd))
	}
}

// Close ends all watches of the Watcher.
func (w *Watcher) Close() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.open, w)
	if i < 0 {
		return
	}
	h.open = slices.Delete(h.open, i, i+1)
	if len(h.open) == 0 {
		if h.closeFD != nil {
			h.closeFD(h.system.fd)
		} else {
			unix.Close(h.system.fd)
		}
		return
	}
	for wd := range w.watches {
		w.drop(wd)
	}
}

// Read visits the changes so far without blocking: the kernel queues a change before the call that made it returns.
func (w *Watcher) Read(visit func(Event)) error {
	events, lost, err := w.take()
	if lost {
		visit(Event{Overflow: true})
	}
	for _, e := range events {
		visit(e)
	}
	return err
}

func (w *Watcher) take() (events []Event, lost bool, err error) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	err = w.hub.read()
	events, lost = w.waiting, w.lost
	w.waiting, w.lost = nil, false
	return events, lost, err
}

// read gives the queued events to the watchers.
func (h *Hub) read() error {
	if h.system.buffer == nil {
		h.system.buffer = make([]byte, 64<<10)
	}
	for {
		n, err := unix.Read(h.system.fd, h.system.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return err
		}
		for b := h.system.buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask := binary.NativeEndian.Uint32(b[4:])
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			h.give(mask, Event{
				WD: int32(binary.NativeEndian.Uint32(b)), Name: string(name), Overflow: mask&unix.IN_Q_OVERFLOW != 0,
				Arrived: mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 && mask&unix.IN_ISDIR == 0,
				Self:    mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT|unix.IN_IGNORED) != 0,
				Ended:   mask&unix.IN_IGNORED != 0,
			})
			b = b[end:]
		}
	}
}

func (h *Hub) give(mask uint32, e Event) {
	for _, w := range h.open {
		if e.Overflow || w.watches[e.WD] && (w.interest == Writes || mask&writes == 0) {
			w.give(e)
		}
		if e.Ended {
			delete(w.watches, e.WD)
		}
	}
	if e.Ended {
		delete(h.watches, e.WD)
	}
}
