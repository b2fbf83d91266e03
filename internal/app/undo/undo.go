// Package undo undoes what calls changed on disk: files, links, modes and directories, without git.
//
//	t := undo.New(undo.Options{Home: home, Session: id, Roots: roots})
//	w := t.Before(ctx, request, decision)     // saves what the call may change
//	outcome := run(ctx)
//	found := w.After(ctx)                     // what it changed
//
// For a call that declares the paths it writes, these are saved. Before the first call that may change anything, the
// whole workspace is saved; the difference between scans before and after a call is attributed to the call. Contents
// are in a [Store]. A [Plan] is what an undo or a redo would do, and [Plan.Apply] does it. The changes of a tried call
// are reported: see [Tracker.Kept].
package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sums"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/tool"
)

// Options configure a Tracker.
type Options struct {
	Home    string   // Adze's directory; never saved
	Session string   // ID
	Roots   []string // of the workspace, canonical
	Limits  Limits
	// Jobs returns the running background commands.
	Jobs func() []string
	// Watch reports changes, so that not all files are compared for each call. nil: they are.
	Watch *watch.Hub
	// Sums may know contents that calls read and write. nil: all are hashed.
	Sums *sums.Recent
	// Unrecorded means that nothing is saved on disk, and nothing can be undone: the workspace isn't compared.
	Unrecorded bool
}

// Tracker detects the changes of calls. It is safe for concurrent use. A nil Tracker detects none.
type Tracker struct {
	o       Options
	closing chan struct{} // closed by Close

	opening sync.Mutex
	store   *Store // nil: not opened yet

	mu   sync.Mutex
	snap *snapshot
	jobs map[string]Ref  // background commands that were running at the last scan
	kept map[Ref]Found   // changes of tried calls
	own  map[string]bool // their paths, since the last scan
}

// Ref identifies a call: its agent and its ID.
type Ref struct{ By, ID string }

// New returns a tracker. Nothing is read or written before the first call.
func New(o Options) *Tracker {
	return &Tracker{o: o, jobs: map[string]Ref{}, own: map[string]bool{}, closing: make(chan struct{})}
}

// Found is the changes of a call.
type Found struct {
	Changes []Change
	Lost    []Lost        // other changes, which undo can't restore
	Jobs    map[Ref]Found // changes of background commands, by the call that started each
	Running bool          // it started a background command
	Ended   bool          // of a background command: nothing follows
	ID      string        // of a background command that has ended: "bg_1"

	missing  string   // why changes of the workspace aren't known; "": they are
	unsaved  []Change // the states of what is lost, as far as known
	compared bool     // the workspace was compared before and after, so changes of other programs are in it
}

// Window is the time span of a call.
type Window struct {
	t      *Tracker
	call   Ref
	scans  bool
	found  Found
	before map[string]State // of the paths that the call writes
	order  []string
	busy   bool // a background command was running at its start
	failed error
}

// Store returns the store of contents.
func (t *Tracker) Store() (*Store, error) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.store != nil {
		return t.store, nil
	}
	if t.o.Unrecorded {
		t.store = &Store{memory: map[hash][]byte{}, sums: t.o.Sums}
		return t.store, nil
	}
	store, err := OpenStore(t.o.Home, t.o.Session)
	if err == nil {
		store.sums, t.store = t.o.Sums, store
	}
	return store, err
}

// Scans reports whether a call with this access may change files that it doesn't name.
func Scans(access []tool.Access, d tool.Decision) bool {
	if d.Grant != nil {
		access = d.Grant
	}
	return slices.ContainsFunc(access, func(a tool.Access) bool {
		return a.Changes() && !named(a)
	})
}

// named reports whether an access is a write to one path.
func named(a tool.Access) bool {
	return a.Verb == tool.Writes && a.Target != "*" && !strings.HasSuffix(a.Target, "/")
}

// Prepare saves the workspace in the background, because a call that needs it may run soon.
func (t *Tracker) Prepare(ctx context.Context, access []tool.Access) {
	if t == nil || t.o.Unrecorded || !Scans(access, tool.Decision{}) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		_ = t.ready(ctx) // reported with the call
	}()
	go func() {
		defer cancel()
		select {
		case <-t.closing:
		case <-ctx.Done():
		}
	}()
}

var errClosed = errors.New("the session is closed")

// ready saves the workspace, unless it is saved.
func (t *Tracker) ready(ctx context.Context) error {
	if t.snap != nil {
		return nil
	}
	select {
	case <-t.closing: // Prepare's goroutine may get here after Close
		return errClosed
	default:
	}
	store, err := t.Store()
	if err != nil {
		return err
	}
	if err := store.markOpen(); err != nil {
		return err
	}
	s := t.snapshot(store)
	if err := s.base(ctx); err != nil {
		return err
	}
	t.snap = s
	return nil
}

func (t *Tracker) snapshot(store *Store) *snapshot {
	return &snapshot{
		roots: outermost(t.o.Roots), skip: []string{filepath.Clean(t.o.Home)}, limits: t.o.Limits, store: store,
		watched: watched{hub: t.o.Watch, since: ownStart()},
	}
}

// outermost returns the directories that are not in another one.
func outermost(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		inside := slices.ContainsFunc(dirs, func(other string) bool { return other != d && names.Below(d, other) })
		if !inside && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// Before saves what a call may change.
func (t *Tracker) Before(ctx context.Context, q tool.Request, d tool.Decision) *Window {
	if t == nil {
		return nil
	}
	w := &Window{t: t, call: Ref{q.Call.By, q.Call.ID}, scans: Scans(q.Access, d)}
	for _, a := range q.Access {
		if named(a) && (!w.scans || t.o.Unrecorded || !t.covers(a.Target)) {
			w.save(a.Target)
		}
	}
	if !w.scans || t.o.Unrecorded {
		return w
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	base := t.snap == nil
	if w.failed = t.ready(ctx); w.failed != nil || base {
		w.busy = len(t.jobs) > 0
		return w
	}
	running := t.running() // a command that ends during the scan was running before it
	diff, err := t.scan(ctx)
	if w.failed = err; err != nil {
		return w
	}
	t.between(diff, &w.found)
	t.forget(running, &w.found)
	w.busy = len(t.jobs) > 0
	return w
}

// scan returns what changed since the last scan. If it fails, the workspace is saved again before the next call.
func (t *Tracker) scan(ctx context.Context) (difference, error) {
	diff, err := t.snap.scan(ctx)
	if err != nil {
		t.forgetAll()
	}
	return diff, err
}

func (t *Tracker) forgetAll() {
	if t.snap != nil {
		t.snap.stop()
	}
	t.snap = nil
}

// covers reports whether a path is in the workspace.
func (t *Tracker) covers(path string) bool {
	_, ok := names.Within(path, t.o.Roots)
	return ok
}

// between attributes the changes between two calls to the background command that was running; without one, they are by
// another program.
func (t *Tracker) between(d difference, f *Found) {
	if job, ok := t.job(); ok {
		d.changes = slices.DeleteFunc(d.changes, func(c Change) bool { return names.BelowAny(c.Path, t.own) })
		d.lost = slices.DeleteFunc(d.lost, func(l Lost) bool { return names.BelowAny(l.Path, t.own) })
		f.give(job, d)
	}
	clear(t.own)
}

// forget drops the background commands that are no longer running.
func (t *Tracker) forget(running []string, f *Found) {
	for id, call := range t.jobs {
		if !slices.Contains(running, id) {
			delete(t.jobs, id)
			f.ends(call, id)
		}
	}
}

// ends records that a background command has ended.
func (f *Found) ends(call Ref, id string) {
	if f.Jobs == nil {
		f.Jobs = map[Ref]Found{}
	}
	job := f.Jobs[call]
	job.Ended, job.ID = true, id
	f.Jobs[call] = job
}

func (f *Found) give(to Ref, d difference) {
	if len(d.changes)+len(d.lost) == 0 {
		return
	}
	if f.Jobs == nil {
		f.Jobs = map[Ref]Found{}
	}
	job := f.Jobs[to]
	job.Changes, job.Lost = append(job.Changes, d.changes...), append(job.Lost, d.lost...)
	job.compared = true
	f.Jobs[to] = job
}

func (t *Tracker) running() []string {
	if t.o.Jobs == nil {
		return nil
	}
	return t.o.Jobs()
}

// job returns the call of the newest background command that was running at the last scan.
func (t *Tracker) job() (Ref, bool) {
	newest := ""
	for id := range t.jobs {
		if len(id) > len(newest) || len(id) == len(newest) && id > newest { // bg_9, bg_10
			newest = id
		}
	}
	return t.jobs[newest], newest != ""
}

// After returns what the call changed.
func (w *Window) After(ctx context.Context) Found {
	if w == nil {
		return Found{}
	}
	kept, tried := w.t.takeKept(w.call)
	switch {
	case w.t.o.Unrecorded && tried: // nothing else changed
		w.order = nil
	case w.t.o.Unrecorded && w.scans:
		w.found.missing = "not compared: this session isn't recorded"
	case w.scans:
		w.scanAfter(context.WithoutCancel(ctx))
	}
	w.lookAfter()
	w.found.Changes, w.found.Lost = append(w.found.Changes, kept.Changes...), append(w.found.Lost, kept.Lost...)
	w.found.unsaved = append(w.found.unsaved, kept.unsaved...)
	return w.found
}

func (w *Window) scanAfter(ctx context.Context) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	running := t.running()
	if w.failed == nil && t.snap != nil {
		diff, err := t.scan(ctx)
		job, ok := t.job()
		switch w.failed = err; {
		case err != nil:
		case ok && w.busy:
			w.found.give(job, diff)
		default:
			w.found.Changes, w.found.Lost = diff.changes, append(w.found.Lost, diff.lost...)
			w.found.compared, w.found.unsaved = true, diff.unsaved
		}
	}
	if w.failed != nil {
		for _, root := range t.o.Roots {
			w.found.Lost = append(w.found.Lost, Lost{root, w.failed.Error()})
		}
	}
	t.forget(running, &w.found)
	for _, id := range running {
		if _, known := t.jobs[id]; !known {
			t.jobs[id], w.found.Running = w.call, true
		}
	}
}

// Undoable returns the changes that can be undone: none of a session that isn't recorded.
func (t *Tracker) Undoable(f Found) Found {
	if t == nil || t.o.Unrecorded {
		return Found{}
	}
	return f
}

// Ended returns what background commands changed since the last call, if one of them has ended. With killed, all of
// them have.
func (t *Tracker) Ended(ctx context.Context, killed bool) (f Found) {
	if t == nil {
		return f
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var running []string
	if !killed {
		running = t.running()
	}
	for id := range t.jobs {
		if t.snap != nil && !slices.Contains(running, id) {
			if diff, err := t.scan(ctx); err == nil {
				t.between(diff, &f)
				t.forget(running, &f)
			}
			break
		}
	}
	return f
}

// Close keeps only the contents of these names and closes the store. It is called once.
func (t *Tracker) Close(names func() (map[string]bool, error)) error {
	if t == nil {
		return nil
	}
	close(t.closing)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetAll()
	t.opening.Lock()
	defer t.opening.Unlock()
	store := t.store
	if store == nil {
		return nil // nothing was saved
	}
	if store.memory != nil {
		return nil
	}
	var err error
	if kept, failed := names(); failed == nil {
		err = store.Compact(kept)
	}
	return cmp.Or(err, store.Close())
}

const maxNamed = 5

// Note returns what undo can't restore, for the model; "": nothing. Paths in these directories are relative.
func (f Found) Note(roots []string) string {
	if len(f.Lost) == 0 {
		return ""
	}
	var shown []string
	for _, l := range f.Lost {
		shown = append(shown, fmt.Sprintf("%s (%s)", humanize.Cut(names.Short(l.Path, roots...), 200), l.Why))
	}
	return "undo can't restore these changes: " + humanize.List(shown, maxNamed) + "."
}
