package search

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// visitor handles the files of one worker for one member.
type visitor interface {
	// visit is called with a file that passed all rules and filters.
	visit(f *visited)
	// done is called when there is no more to visit.
	done()
	// named is called with a file that was named by its path, to which filters and git's rules don't apply.
	named(path string) error
}

// visited is a file being visited; it is only valid during the visit.
type visited struct {
	at       *openDir
	name     []byte
	kind     kind
	withheld bool    // it must not be opened
	content  content // shared by the members
}

// path returns the path of the file.
func (f *visited) path() string { return f.at.file(f.name) }

// openDir is a directory being visited. It stays open while jobs refer to it: its files, or subdirectories that are
// opened relative to it.
type openDir struct {
	handle dirHandle
	rules  *ignore.Dir
	base   int // length of the path of the directory that the walk began in
	users  atomic.Int32

	withheld []func(name string) bool // for each member, see Scope.Withhold; nil: none
}

// hold returns an openDir with one reference.
func (w *walk) hold(f dirHandle, rules *ignore.Dir, base int) *openDir {
	s := &openDir{handle: f, rules: rules, base: base}
	s.users.Store(1)
	w.live.Add(1)
	return s
}

// leave drops a reference; the last one closes the directory.
func (w *walk) leave(s *openDir) {
	if s.users.Add(-1) == 0 {
		s.handle.close()
		w.live.Add(-1)
	}
}

// path returns the directory's absolute path with forward slashes and none at its end.
func (s *openDir) path() string { return strings.TrimSuffix(s.rules.Path(), "/") }

// rel returns the path relative to where the walk began.
func (s *openDir) rel() string {
	p := s.path()
	if len(p) <= s.base {
		return ""
	}
	return p[s.base+1:]
}

// file returns the path of an entry, in the system's format.
func (s *openDir) file(name []byte) string {
	return filepath.FromSlash(s.path() + "/" + string(name))
}

// walk visits all files of a scope with several workers, which share a stack of directories: the last one found is
// visited first, while its names are still in the kernel's cache.
type walk struct {
	scope   *Scope // of the first member: what all have in common
	shared  *Shared
	members []*member
	reads   bool
	tree    *TreeRequest
	began   time.Time
	open    func(path string, named bool) (dirHandle, error)
	named   map[string]bool // the directories that the walk begins in, if there are several
	all     []*worker

	stop atomic.Bool
	live atomic.Int32 // open directories

	mu     sync.Mutex
	wake   *sync.Cond
	stack  []job
	idle   int
	hungry atomic.Bool // a worker is idle
}

// job is a directory to visit, or a share of its files.
type job struct {
	parent *openDir // nil: open by path
	name   string
	rules  *ignore.Dir // of the parent
	base   int
	files  *dirEntries // with at: files of that directory
	at     *openDir
	who    members
}

// maxLive bounds the directories that stay open for their children; beyond it those are opened by path.
const maxLive = 192

func newWalk(members []*member) *walk {
	first := members[0]
	w := &walk{
		scope: first.scope, shared: first.scope.Shared, members: members, reads: first.reads,
		tree: first.tree, began: time.Now(), open: openHandle,
	}
	if w.scope.portable {
		w.open = openPortable
	}
	w.wake = sync.NewCond(&w.mu)
	workers := w.scope.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	w.all = make([]*worker, workers)
	for i := range w.all {
		w.all[i] = &worker{walk: w, seats: make([]*seat, len(members))}
		w.all[i].file.content.size = w.scope.bufferSize()
	}
	for i, m := range members {
		visitorOf := m.equip(w, m)
		for _, k := range w.all {
			s := &seat{member: m}
			s.visitor, k.seats[i] = visitorOf(&s.sum), s
		}
	}
	return w
}

// run visits the paths. It returns when all workers are done.
func (w *walk) run() error {
	paths, err := resolved(w.scope.Paths)
	if err != nil {
		return err
	}
	rules := w.scope.Rules
	if rules == nil {
		rules = ignore.New(ignore.Options{Roots: paths})
	}
	if len(paths) > 1 {
		w.named = map[string]bool{}
		for _, p := range paths {
			w.named[slashed(p)] = true
		}
	}
	for _, path := range paths {
		if err := w.begin(w.all[0], rules, path); err != nil {
			w.abandon()
			return err
		}
	}
	var wg sync.WaitGroup
	for _, k := range w.all[1:] {
		wg.Go(k.loop)
	}
	w.all[0].loop()
	wg.Wait()
	w.abandon()
	return nil
}

// slashed returns a path in the form of openDir.path.
func slashed(path string) string {
	return strings.TrimRight(filepath.ToSlash(filepath.Clean(path)), "/")
}

// resolved follows the links in named paths, so that the ignore rules of their targets apply, and removes duplicates.
func resolved(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("search %s: the path must be absolute", path)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("search %s: %w", path, nofollow.Cause(err))
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out, nil
}

// begin pushes one of the named paths on the stack, or visits it if it is a file.
func (w *walk) begin(first *worker, rules *ignore.Rules, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("search %s: %w", path, nofollow.Cause(err))
	}
	k := ignore.Kind(st.IsDir())
	v := rules.Check(path, k)
	if v.State == ignore.Refused {
		return fmt.Errorf("search %s: %w", path, v)
	}
	err = first.each(^members(0), func(s *seat) error {
		if v.State == ignore.Hidden && !s.member.scope.NoIgnore {
			s.sum.Notes = append(s.sum.Notes, fmt.Sprintf("%s is %v; it was searched because it was named", path, v))
		}
		if st.Mode().IsRegular() {
			s.sum.Seen++
			return s.visitor.named(path)
		}
		return nil
	})
	if err != nil || st.Mode().IsRegular() {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("search %s: not a regular file or directory", path)
	}
	f, err := w.open(path, true)
	if err != nil {
		return fmt.Errorf("search %s: %w", path, nofollow.Cause(err))
	}
	start, _ := rules.Start(path)
	w.stack = append(w.stack, job{at: w.hold(f, start, len(slashed(path))), who: ^members(0)})
	return nil
}

func (w *walk) quit() {
	w.stop.Store(true)
	w.mu.Lock()
	w.wake.Broadcast()
	w.mu.Unlock()
}

// abandon releases the jobs of a walk that stopped early.
func (w *walk) abandon() {
	for _, j := range w.stack {
		if j.parent != nil {
			w.leave(j.parent)
		}
		if j.at != nil {
			w.leave(j.at)
		}
	}
	w.stack = nil
}

// path returns the directory to visit.
func (j *job) path() string {
	if j.at != nil {
		return j.at.path()
	}
	return strings.TrimSuffix(j.rules.Path(), "/") + "/" + j.name
}

// take waits for a job; false if none is left or the walk was stopped.
func (w *walk) take() (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.stop.Load() {
			return job{}, false
		}
		if n := len(w.stack); n > 0 {
			j := w.stack[n-1]
			w.stack[n-1] = job{}
			w.stack = w.stack[:n-1]
			return j, true
		}
		w.idle++
		if w.idle == len(w.all) {
			// all are idle, so none will find more; idle stays at its maximum and the others return too
			w.wake.Broadcast()
			return job{}, false
		}
		w.hungry.Store(true)
		w.wake.Wait()
		if w.idle == len(w.all) {
			return job{}, false
		}
		w.idle--
		w.hungry.Store(w.idle > 0)
	}
}

// give pushes jobs on the stack.
func (w *walk) give(jobs []job) {
	w.mu.Lock()
	w.stack = append(w.stack, jobs...)
	if w.idle > 0 {
		w.wake.Broadcast()
	}
	w.mu.Unlock()
}

// TreeRequest is a request for everything below directories.
type TreeRequest struct {
	Paths []string // absolute directories
	// Known reports whether it is known if a directory is entered; otherwise ignore rules decide. A directory that was
	// seen before is known, so that a changed ignore file doesn't make entries appear or disappear. nil: none is.
	Known   func(path string) (enter, known bool)
	Skip    []string // absolute paths that are not visited
	Limit   int      // entries after which the walk stops; 0: no limit
	Workers int      // as in Scope
}

// Node is a file, a directory or a link.
type Node struct {
	Path string
	Shut bool // a directory that wasn't entered: git ignores it, Known says so, or its path is as long as MaxPath
	Stat Stat
}

// Stat is the metadata that shows whether a file has changed.
type Stat struct {
	Mode              fs.FileMode
	Links             uint32 // number of names; 0 if the system doesn't report it
	Size              int64
	Modified, Changed int64 // nanoseconds; Changed is 0 if the system doesn't report it
	Inode             uint64
}

// Lasting returns the Stat without what changes when a device, a socket or a pipe is used.
func (s Stat) Lasting() Stat {
	if s.Mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		return Stat{Mode: s.Mode, Inode: s.Inode}
	}
	return s
}

// TreeResult is the result of Tree.
type TreeResult struct {
	Nodes []Node // in no order
	Summary
}

// Tree lists all entries below directories: hidden and ignored files, links and empty directories too. Directories that
// git ignores and those that are too deep are listed and not entered. AI ignore files don't apply: nothing is read.
func Tree(ctx context.Context, req TreeRequest) (*TreeResult, error) {
	res := &TreeResult{}
	var count atomic.Int64
	m := &member{scope: &Scope{Paths: req.Paths, Workers: req.Workers}, tree: &req}
	m.equip = func(_ *walk, m *member) func(*Summary) visitor {
		return func(*Summary) visitor { return &gatherer{member: m, count: &count, limit: int64(req.Limit)} }
	}
	all, stopped, err := m.run(ctx, &res.Summary)
	if err != nil {
		return res, err
	}
	n := 0
	for _, g := range all {
		n += len(g.(*gatherer).nodes)
	}
	res.Nodes = make([]Node, 0, n)
	for _, g := range all {
		res.Nodes = append(res.Nodes, g.(*gatherer).nodes...)
	}
	return res, res.conclude(ctx, ctx, stopped)
}

// gatherer collects the entries of one worker.
type gatherer struct {
	member *member
	nodes  []Node
	count  *atomic.Int64
	limit  int64
}

func (g *gatherer) visit(f *visited) {
	st, err := f.at.handle.describe(f.name)
	if err != nil {
		return // it no longer exists
	}
	g.nodes = append(g.nodes, Node{Path: f.path(), Shut: f.kind == shut, Stat: st.Lasting()})
	if g.limit > 0 && g.count.Add(1) >= g.limit {
		g.member.quit()
	}
}

func (g *gatherer) done() {}

func (g *gatherer) named(path string) error {
	return fmt.Errorf("list %s: not a directory", path)
}

// enters reports whether Tree enters a directory.
func (k *worker) enters(at *openDir, name string) bool {
	if k.skipped(at, name) || tooDeep(at, name) {
		return false
	}
	if k.walk.named != nil && k.walk.named[at.path()+"/"+name] {
		return false
	}
	if k.walk.tree.Known != nil {
		if enter, known := k.walk.tree.Known(at.file([]byte(name))); known {
			return enter
		}
	}
	return !at.rules.Hidden(name, ignore.Directory)
}

func (k *worker) skipped(at *openDir, name string) bool {
	for _, path := range k.walk.tree.Skip {
		if strings.HasSuffix(path, name) && filepath.Base(path) == name && at.file([]byte(name)) == path {
			return true
		}
	}
	return false
}
