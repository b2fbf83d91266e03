// Package watch reports changes in directories. The parts of a session share one instance of the kernel's watcher, so
// that a directory takes one of the user's watches, however many parts are interested in it.
//
//	h := &watch.Hub{}
//	w, err := h.Open(watch.Names)
//	wd, err := w.Add("/home/me/app")
//	err = w.Read(func(e watch.Event) { … })
package watch

import "sync"

// Hub is a kernel watcher that several Watchers share. The zero value is ready; it holds nothing before the first Open.
// It is safe for concurrent use.
type Hub struct {
	Most int // maximum number of watches; 0: half of those of the user

	mu      sync.Mutex
	closeFD func(fd int) // nil: as usual
	system  system
	watches map[int32]int // how many watchers have each
	open    []*Watcher
}

// CloseBy sets how the kernel's descriptor is closed after the last Watcher. It takes milliseconds.
func (h *Hub) CloseBy(closeFD func(fd int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeFD = closeFD
}

// Interest is what a Watcher reports.
type Interest int

const (
	Names  Interest = iota // names that appear and disappear
	Writes                 // also changes of files and their metadata
)

// Watcher reports the changes in some directories.
type Watcher struct {
	hub      *Hub
	interest Interest
	watches  map[int32]bool
	waiting  []Event
	lost     bool
}

// Event is a change.
type Event struct {
	WD       int32
	Name     string // the changed name in the directory
	Self     bool   // the directory itself was deleted or moved
	Ended    bool   // the watch no longer exists
	Arrived  bool   // a file was created there, or moved or linked to that name
	Overflow bool   // events are missing
}

// maxWaiting is the maximum number of events that wait for a Watcher: with more, it gets an overflow.
const maxWaiting = 100_000

// give adds an event to those that wait.
func (w *Watcher) give(e Event) {
	n := len(w.waiting)
	switch {
	case w.lost, n > 0 && w.waiting[n-1] == e:
	case e.Overflow || n >= maxWaiting:
		w.lost, w.waiting = true, nil
	default:
		w.waiting = append(w.waiting, e)
	}
}
