// Package secretfiles finds the files below a workspace that commands must not read, and keeps the list current.
//
//	f := secretfiles.New(secretfiles.Options{Roots: []string{"/home/me/app"}})
//	defer f.Close()
//	f.Start()
//	paths, ok := f.List(200 * time.Millisecond) // "/home/me/app/.env", true
//
// The first walk reads all directories. Afterwards List is current as of its call: on Linux, inotify watches report
// changes; elsewhere, and if the kernel allows no more watches, List compares the times of all directories.
//
// It doesn't detect changes by another machine on a network file system, a file system that is mounted over a
// directory, and hard links.
package secretfiles

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

// Options configure a Finder.
type Options struct {
	// Roots are the directories of the workspace, without links in their paths.
	Roots []string
	// Once are directories that are walked without watching them, such as /etc.
	Once []string
	// Omit are directories that are not walked: their files are hidden in another way.
	Omit []string
	// Hide decides about one file. tracked reports whether git tracks the file and its size is that in git's index.
	// Hide is called concurrently and must not call the Finder. nil: DefaultHide.
	Hide func(path string, tracked func() bool) bool
	// Skip reports whether Hide hides no file in a directory whose name is ordinary (names.Ordinary): then Hide isn't
	// called for these, which halves the time of a walk. nil: never, or DefaultSkip if Hide is nil.
	Skip func(dir string) bool
	// Watch is shared with other parts of a session. nil: not shared.
	Watch *watch.Hub
	// Limit is the maximum number of directory entries; 0: 2,000,000.
	Limit int
	// Most is the maximum number of hidden files; 0: 2,000.
	Most int
}

// DefaultHide hides files that are secret by name, unless git tracks them.
func DefaultHide(path string, tracked func() bool) bool {
	_, secret := names.Secret(path)
	return secret && !tracked()
}

// DefaultSkip returns the Skip of DefaultHide.
func DefaultSkip(dir string) bool {
	_, secret := names.Secret(filepath.Join(dir, "x"))
	return !secret
}

// system is replaced by tests.
type system struct {
	watch   func() (watcher, error)
	compare time.Duration // how long comparing the times of directories may take
}

// Finder finds the files below some roots that commands must not read. It is safe for concurrent use.
type Finder struct {
	options Options
	system  system
	token   chan struct{} // its receiver owns tree
	tree    *tree
	arrived arrivals
	stale   atomic.Bool // the rules have changed since the tree was made
	closed  atomic.Bool
	problem atomic.Pointer[string]
}

// New prepares a Finder. It starts nothing.
func New(o Options) *Finder {
	if o.Hide == nil {
		o.Hide, o.Skip = DefaultHide, DefaultSkip
	}
	if o.Limit == 0 {
		o.Limit = 2_000_000
	}
	if o.Most == 0 {
		o.Most = 2_000
	}
	f := &Finder{
		options: o, token: make(chan struct{}, 1), system: system{watch: o.watcher, compare: 10 * time.Millisecond},
	}
	f.token <- struct{}{}
	return f
}

// watcher returns a new watcher.
func (o *Options) watcher() (watcher, error) {
	hub := o.Watch
	if hub == nil {
		hub = &watch.Hub{}
	}
	return hub.Open(watch.Names)
}

// Start starts the walk in the background, unless it has started. After the walk it processes changes, so that the next
// List takes less time.
func (f *Finder) Start() {
	select {
	case <-f.token:
	default:
		return // a walk is running, or List
	}
	if work := f.work(true); work != nil {
		go f.run(work)
		return
	}
	f.release()
}

// Invalidate must be called when the results of Hide have changed: a walk in the background decides again about all
// files.
func (f *Finder) Invalidate() {
	f.stale.Store(true)
	f.Start()
}

// maxRounds is how often List processes changes made while it processed changes.
const maxRounds = 3

// List returns the resolved paths of the files to hide, sorted, current as of the call. ok is false if they aren't
// known: the walk takes longer than wait, or there is a Problem.
func (f *Finder) List(wait time.Duration) (paths []string, ok bool) {
	ok = f.current(wait, func(hidden []string) { paths = slices.Clone(hidden) })
	return paths, ok
}

// current calls use with the current list. The caller owns the tree until use returns.
func (f *Finder) current(wait time.Duration, use func(hidden []string)) (ok bool) {
	deadline := time.Now().Add(wait)
	for round := 0; ; round++ {
		if !f.acquire(deadline) {
			f.report("the workspace is still being searched")
			return false
		}
		var work func()
		if round < maxRounds || f.tree == nil || f.tree.lost {
			work = f.work(round == 0)
		}
		if work == nil {
			break
		}
		go f.run(work)
	}
	defer f.release()
	if f.closed.Load() {
		f.report("the search is closed")
		return false
	}
	paths, problem := f.tree.hidden()
	f.report(problem)
	if problem == "" {
		use(paths)
	}
	return problem == ""
}

// Problem returns why the last List wasn't ok, in a short clause; "" if it was.
func (f *Finder) Problem() string {
	if p := f.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Close stops a running walk and releases the watches. It waits at most a second for a file system that doesn't
// respond.
func (f *Finder) Close() {
	f.closed.Store(true)
	if f.acquire(time.Now().Add(time.Second)) {
		f.release()
	}
}

// work returns the work to do before the list is current; nil: none. first is false if the caller has just done it. The
// caller owns the tree.
func (f *Finder) work(first bool) func() {
	switch {
	case f.closed.Load():
		return nil
	case f.tree == nil, f.tree.lost, f.stale.Load():
		return f.walk
	case f.tree.pending(first):
		return f.tree.catchUp
	}
	return nil
}

func (f *Finder) walk() {
	f.stale.Store(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	if f.tree != nil {
		wg.Go(f.tree.close) // the kernel takes milliseconds
	}
	f.tree = newTree(&f.options, f.system, &f.closed, &f.arrived)
	f.tree.walkAll()
}

func (f *Finder) run(work func()) {
	defer f.release()
	work()
}

// acquire waits for the tree. It doesn't check the clock if the tree is free.
func (f *Finder) acquire(deadline time.Time) bool {
	select {
	case <-f.token:
		return true
	default:
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-f.token:
		return true
	case <-timer.C:
		return false
	}
}

// release releases the tree. After Close, its last owner cleans up.
func (f *Finder) release() {
	if f.closed.Load() && f.tree != nil {
		f.tree.close()
		f.tree = nil
	}
	f.token <- struct{}{}
}

func (f *Finder) report(problem string) {
	if p := f.problem.Load(); p == nil || *p != problem {
		f.problem.Store(&problem)
	}
}
