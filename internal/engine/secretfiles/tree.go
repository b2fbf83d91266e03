package secretfiles

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

// tree is the state of the roots: all directories, and the files that are or may become hidden. One goroutine owns it;
// mu guards the fields that the goroutines of a walk share.
type tree struct {
	options *Options
	system  system
	stop    *atomic.Bool
	places  []string // roots and directories that are walked once: allowed targets of links
	roots   []*dir
	repos   *repos

	watcher   watcher // nil: times are compared
	unwatched atomic.Bool
	entries   atomic.Int64

	arrived *arrivals
	walked  bool // the first walk has ended: what is found from now on has appeared

	lost  bool                 // only a new walk helps
	queue []*dir               // to be read
	names map[changedName]bool // whether a file of that name appeared
	list  []string             // the last result

	mu      sync.Mutex
	byWd    map[int32][]*dir // a directory may be mounted several times
	files   map[*file]struct{}
	unread  map[*dir]struct{} // directories that the user may not read
	orphans []*dir
	failed  string // why the tree is incomplete
	remedy  remedy
}

// remedy is how the next List handles a failure.
type remedy int

const (
	remedyNone remedy = iota // only Invalidate helps
	remedyCompare
	remedyWalk
)

// dir is a directory.
type dir struct {
	parent  *dir
	name    string // for a root: its path
	once    bool
	dropped bool
	racy    bool // it may have changed after it was read without a change of its times
	wd      int32
	stamp   stamp // when it was last read
	entries int
	dirs    map[string]*dir
	files   map[string]*file
}

// changedName is a name in a directory that must be checked.
type changedName struct {
	dir  *dir
	name string
}

// unwatchedWd is the watch number of a directory without a watch.
const unwatchedWd = -1

func (d *dir) path() string {
	if d.parent == nil {
		return d.name
	}
	return join(d.parent.path(), d.name)
}

func newTree(o *Options, s system, stop *atomic.Bool, arrived *arrivals) *tree {
	t := &tree{
		options: o, system: s, stop: stop, byWd: map[int32][]*dir{}, files: map[*file]struct{}{},
		unread: map[*dir]struct{}{},
		names:  map[changedName]bool{}, arrived: arrived,
	}
	t.places = outermost(append(slices.Clone(o.Roots), o.Once...))
	t.repos = newRepos(o.Roots)
	for _, path := range outermost(o.Roots) {
		t.roots = append(t.roots, &dir{name: path, wd: unwatchedWd})
	}
	for _, path := range outermost(o.Once) {
		if _, inside := names.Within(path, o.Roots); !inside {
			t.roots = append(t.roots, &dir{name: path, wd: unwatchedWd, once: true})
		}
	}
	return t
}

// outermost returns the paths that aren't below others.
func outermost(paths []string) (out []string) {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if _, inside := names.Within(p, out); !inside {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}

func (t *tree) close() {
	if t.watcher != nil {
		t.watcher.Close()
		t.watcher = nil
	}
}

// walkAll reads all directories.
func (t *tree) walkAll() {
	if w, err := t.system.watch(); err == nil {
		t.watcher = w
	}
	t.queue = append(t.queue, t.roots...)
	t.readQueue()
	t.walked = true
}

// readQueue reads the directories in the queue and those found in them.
func (t *tree) readQueue() {
	if len(t.queue) == 0 {
		return
	}
	p := &pool{tree: t, stack: t.queue}
	p.wake.L = &p.mu
	t.queue = nil
	var wg sync.WaitGroup
	for range min(4, max(2, runtime.GOMAXPROCS(0))) {
		wg.Go(p.work)
	}
	wg.Wait()
	for _, d := range t.orphans {
		t.drop(d)
	}
	t.orphans = nil
	if t.unwatched.Load() {
		t.close()
	}
}

// fail stops the walk: the tree is incomplete.
func (t *tree) fail(problem string, next remedy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failLocked(problem, next)
}

func (t *tree) failLocked(problem string, next remedy) {
	if t.failed == "" {
		t.failed, t.remedy = problem, next
	}
}

func (t *tree) hasFailed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed != ""
}

// pending reports whether something changed since the tree was read; then catchUp has work to do, or the tree is lost.
func (t *tree) pending(first bool) bool {
	if t.failed != "" {
		return false
	}
	for _, root := range t.roots {
		if root.once {
			continue
		}
		st, err := lstat(root.name)
		if is := err == nil && st.kind == kindDir; is != (root.stamp.kind == kindDir) || is && !st.same(root.stamp) {
			t.lost = true
			return true
		}
	}
	for d := range t.unread {
		if d.dropped {
			delete(t.unread, d)
		} else if mayRead(d.path()) {
			delete(t.unread, d)
			t.queue = append(t.queue, d)
		}
	}
	if t.watcher != nil {
		t.readEvents()
	} else {
		t.compare(first)
	}
	return t.lost || len(t.queue)+len(t.names) > 0
}

// maxEvents is the maximum number of events read at a time; with more, a new walk is faster.
const maxEvents = 100_000

// readEvents records the names that the watches report.
func (t *tree) readEvents() {
	n := 0
	err := t.watcher.Read(func(e watch.Event) {
		if n++; e.Overflow || n > maxEvents {
			t.lost = true
		}
		for _, d := range t.byWd[e.WD] {
			switch {
			case e.Self && d.parent == nil:
				t.lost = true
			case e.Self:
				t.changed(d.parent, d.name, false)
			case e.Name != "":
				t.changed(d, e.Name, e.Arrived)
			}
			if e.Ended {
				d.wd = unwatchedWd
			}
		}
		if e.Ended {
			delete(t.byWd, e.WD)
		}
	})
	if err != nil {
		t.lost = true
	}
}

func (t *tree) changed(d *dir, name string, arrived bool) {
	at := changedName{d, name}
	t.names[at] = t.names[at] || arrived
}

// compare puts the directories whose times changed in the queue.
func (t *tree) compare(first bool) {
	began, n := time.Now(), 0
	var visit func(d *dir, path string) bool
	visit = func(d *dir, path string) bool {
		if n++; n%64 == 0 && time.Since(began) > t.system.compare {
			return false
		}
		if _, isUnread := t.unread[d]; !isUnread {
			if st, err := lstat(path); err != nil || st != d.stamp || d.racy && first {
				t.queue = append(t.queue, d)
			}
		}
		for name, sub := range d.dirs {
			if !visit(sub, join(path, name)) {
				return false
			}
		}
		return true
	}
	for _, root := range t.roots {
		if !root.once && root.stamp.kind == kindDir && !visit(root, root.name) {
			t.queue = nil
			t.fail("the workspace has too many directories for this system's watches", remedyCompare)
			return
		}
	}
}

// catchUp processes all changes.
func (t *tree) catchUp() {
	if t.lost {
		return
	}
	changed := t.names
	t.names = map[changedName]bool{}
	for e, arrived := range changed {
		if !e.dir.dropped && !t.stop.Load() {
			t.look(e.dir, e.name, arrived)
		}
	}
	if t.watcher == nil && len(t.queue) > 0 {
		t.repos.reset()
	}
	queued := map[*dir]bool{} // by its times and by a name, so that it isn't read twice at once
	t.queue = slices.DeleteFunc(t.queue, func(d *dir) bool {
		again := queued[d]
		queued[d] = true
		return d.dropped || again
	})
	t.readQueue()
}

// look checks a name that changed. arrived means that a file appeared there, which may be gone again.
func (t *tree) look(d *dir, name string, arrived bool) {
	if name == ".git" {
		t.repos.reset()
	}
	path := join(d.path(), name)
	st, err := lstat(path)
	if err == nil && st.kind == kindDir {
		t.dropFile(d, name)
		if t.skips(d, name) {
			return
		}
		if sub := d.dirs[name]; sub != nil {
			if t.watcher != nil && sub.wd != unwatchedWd {
				if wd, err := t.watcher.Add(path); err == nil && wd == sub.wd {
					return // the same directory: it reports its own changes
				}
			}
			t.drop(sub)
		} else {
			d.entries++
			t.entries.Add(1)
		}
		t.queue = append(t.queue, d.add(name))
		return
	}
	if sub := d.dirs[name]; sub != nil {
		t.drop(sub)
		delete(d.dirs, name)
	}
	t.dropFile(d, name)
	if err != nil {
		if arrived && t.options.Hide(path, func() bool { return false }) {
			t.arrived.add(path)
		}
		return
	}
	if d.entries++; t.entries.Add(1) > int64(t.options.Limit) {
		t.lost = true // deleted files count too: count again
	}
	if st.kind == kindFile || st.kind == kindLink {
		if f := t.ask(path, st.kind == kindLink); f != nil {
			t.keep(d, name, f)
			t.arrives(f, arrived)
		}
	}
}

// arrives records a hidden file that appeared. The target of a link is compared when the list is made.
func (t *tree) arrives(f *file, arrived bool) {
	if arrived && f.hide && !f.link {
		t.arrived.add(f.path)
	}
}

// add makes a directory below d.
func (d *dir) add(name string) *dir {
	sub := &dir{parent: d, name: name, wd: unwatchedWd, once: d.once}
	if d.dirs == nil {
		d.dirs = map[string]*dir{}
	}
	d.dirs[name] = sub
	return sub
}

// drop removes a directory and everything below it.
func (t *tree) drop(d *dir) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(d)
}

func (t *tree) dropLocked(d *dir) {
	d.dropped = true
	t.entries.Add(-int64(d.entries))
	t.unwatch(d)
	delete(t.unread, d)
	for _, f := range d.files {
		delete(t.files, f)
	}
	for _, sub := range d.dirs {
		t.dropLocked(sub)
	}
	d.dirs, d.files, d.entries = nil, nil, 0
}

// unwatch removes the watch of a directory, if no other directory shares it.
func (t *tree) unwatch(d *dir) {
	if d.wd == unwatchedWd {
		return
	}
	rest := slices.DeleteFunc(t.byWd[d.wd], func(o *dir) bool { return o == d })
	if len(rest) > 0 {
		t.byWd[d.wd] = rest
	} else {
		delete(t.byWd, d.wd)
		if t.watcher != nil {
			t.watcher.Remove(d.wd)
		}
	}
	d.wd = unwatchedWd
}

func (t *tree) keep(d *dir, name string, f *file) {
	if d.files == nil {
		d.files = map[string]*file{}
	}
	d.files[name] = f
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files[f] = struct{}{}
	if len(t.files) > 10*t.options.Most {
		t.failLocked("the workspace has more than "+humanize.Number(10*t.options.Most)+" files with secret names",
			remedyNone)
	}
}

func (t *tree) dropFile(d *dir, name string) {
	if f := d.files[name]; f != nil {
		delete(d.files, name)
		delete(t.files, f)
	}
}

// skips reports whether a directory isn't walked: it is omitted, or it contains git's objects, whose names are
// irrelevant.
func (t *tree) skips(d *dir, name string) bool {
	for _, path := range t.options.Omit {
		if strings.HasSuffix(path, name) && join(d.path(), name) == path {
			return true
		}
	}
	if name != "objects" {
		return false
	}
	for ; d != nil; d = d.parent {
		if filepath.Base(d.name) == ".git" {
			return true
		}
	}
	return false
}

// join is a faster filepath.Join for a clean path and a name.
func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
