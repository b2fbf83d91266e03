package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Keep moves the changes to the workspace: those that only selects, or all if it is nil. Changes in a git directory are
// kept together. Either all are kept, or none: then an error that wraps ErrConflict means that another process changed
// a file. A trial can be kept once.
func (t *Trial) Keep(ctx context.Context, only func(path string) bool) (Kept, error) {
	t.mu.Lock()
	fresh, dropped := t.found == nil && !t.spent, t.dropped || t.spent
	t.mu.Unlock()
	if dropped {
		return Kept{}, errors.New("keep a trial: it was kept or dropped before")
	}
	if fresh {
		if _, err := t.Effects(ctx); err != nil {
			return Kept{}, err
		}
	}
	t.l.keeping.Lock()
	defer t.l.keeping.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped || t.spent || t.found == nil {
		return Kept{}, errors.New("keep a trial: it was kept or dropped before")
	}
	t.spent = true
	if err := ctx.Err(); err != nil {
		return Kept{}, err
	}
	steps, links := t.selected(only)
	k := t.mover(steps)
	k.relinks = links
	defer k.close()
	kept, err := k.keep()
	if err != nil {
		return Kept{}, fmt.Errorf("keep a trial: %w", err)
	}
	return kept, nil
}

// selected returns the steps for the selected changes, in order, and the names that belong to files of the workspace
// after these steps.
func (t *Trial) selected(only func(path string) bool) ([]step, []relink) {
	if only == nil {
		only = func(string) bool { return true }
	}
	git := map[string]bool{}
	for _, c := range t.found.Changes {
		if dir := t.gitOf(c.Path); dir != "" && only(c.Path) {
			git[dir] = true
		}
	}
	var out []step
	done := map[int]bool{-1: true}
	for i, s := range t.found.steps {
		path := t.found.Changes[s.change].Path
		if dir := t.gitOf(path); dir != "" && git[dir] || dir == "" && only(path) {
			out = append(out, s)
			done[i] = true
		}
	}
	links := slices.DeleteFunc(slices.Clone(t.found.relinks), func(r relink) bool {
		return !done[r.step] ||
			!done[r.needs]
	})
	sorted.By(out, func(a, b step) int {
		x, y := t.rank(a), t.rank(b)
		if x == y && a.Op == opMeta { // a directory after its content
			return cmp.Compare(len(b.Rel), len(a.Rel))
		}
		return cmp.Compare(x, y)
	})
	return append(t.loosen(out), out...), links
}

// gitOf returns the git directory that contains a path, or "".
func (t *Trial) gitOf(path string) string {
	for _, dir := range t.l.o.Git {
		if names.Below(path, dir) {
			return dir
		}
	}
	if before, _, ok := strings.Cut(path+"/", "/.git/"); ok {
		return before + "/.git"
	}
	return ""
}

// rank returns the order of steps: first what others refer to, then what refers to others, then deletions. Modes of
// directories are last, because they may forbid changes.
func (t *Trial) rank(s step) int {
	path := t.found.Changes[s.change].Path
	dir := t.gitOf(path)
	rel := strings.TrimPrefix(path, dir)
	switch {
	case s.Op == opMeta && s.Lower.dir():
		return 10
	case s.Op == opDelete:
		return 9
	case dir != "" && names.Below(rel, "/objects"):
		return 0
	case dir != "" && rel == "/index":
		return 7
	case dir != "" && (names.Below(rel, "/refs") || rel == "/packed-refs" || rel == "/HEAD" ||
		names.Below(rel, "/logs")):
		return 6
	case s.Op == opCreate:
		return 1
	}
	return 3
}

// loosen returns steps that make directories writable for the others. Their original mode is restored by a step at the
// end.
func (t *Trial) loosen(steps []step) []step {
	if os.Getuid() == 0 {
		return nil
	}
	var out []step
	done := map[string]bool{}
	for _, s := range steps {
		dir := filepath.Dir(s.Rel)
		key := fmt.Sprint(s.Layer, dir)
		if s.Rel == "" || done[key] {
			continue
		}
		done[key] = true
		f, err := openBelow(t.layers[s.Layer].Lower, dir)
		if err != nil {
			continue // the step fails
		}
		var st unix.Stat_t
		err = unix.Fstat(int(f.Fd()), &st)
		f.Close()
		if err != nil || st.Mode&0o300 == 0o300 || int(st.Uid) != os.Getuid() {
			continue
		}
		if dir == "." {
			dir = ""
		}
		wider := seeing(&st)
		wider.Mode |= 0o700
		out = append(out, step{Op: opMeta, Layer: s.Layer, Rel: dir, Upper: wider, Lower: seeing(&st), change: -1})
	}
	return out
}

// tighten returns the steps that restore the modes that loosen changed, unless the mode itself is a change.
func tighten(loosened, steps []step) []step {
	var out []step
	for _, l := range loosened {
		if !slices.ContainsFunc(steps, func(s step) bool {
			return s.Op == opMeta && s.Layer == l.Layer &&
				s.Rel == l.Rel && s.change >= 0
		}) {
			out = append(out, step{Op: opMeta, Layer: l.Layer, Rel: l.Rel, Upper: l.Lower, Lower: l.Upper, change: -1})
		}
	}
	return out
}

// mover moves files between uppers and lowers.
type mover struct {
	journal
	dir   string       // of the trial, for its journal and files
	at    func(string) // for tests: called at every point
	dirs  map[dirKey]*os.File
	begun int             // steps that were begun
	after map[int]seen    // state after steps, as far as known
	own   map[uint64]bool // hard-linked files that steps changed
	left  []string        // paths that another process changed during keeping

	relinks []relink
}

type dirKey struct {
	upper bool
	layer int
	rel   string
}

func (t *Trial) mover(steps []step) *mover {
	n := 0
	for n < len(steps) && steps[n].change < 0 {
		n++
	}
	steps = append(steps, tighten(steps[:n], steps[n:])...)
	k := &mover{dir: t.home(), at: t.l.at, dirs: map[dirKey]*os.File{}, after: map[int]seen{}, own: map[uint64]bool{}}
	k.Steps, k.t = steps, t
	for _, l := range t.layers {
		k.Layers = append(k.Layers, over{l.Lower, l.Upper, l.start})
	}
	return k
}

func (k *mover) close() {
	for _, f := range k.dirs {
		f.Close()
	}
}

func (k *mover) point(format string, args ...any) {
	if k.at != nil {
		k.at(fmt.Sprintf(format, args...))
	}
}

// keep does all steps, or none.
func (k *mover) keep() (Kept, error) {
	if err := k.check(); err != nil {
		return Kept{}, err
	}
	k.link()
	for _, path := range k.t.found.strip {
		stripped(path)
	}
	for i := range k.Steps { // of moved files
		if s := &k.Steps[i]; s.Op == opCreate || s.Op == opExchange {
			stripped(filepath.Join(k.Layers[s.Layer].Upper, s.Rel))
		}
	}
	err := k.sync()
	if err != nil {
		return Kept{}, err
	}
	if k.Fence, err = fence(k.dir); err != nil {
		return Kept{}, err
	}
	k.point("before the journal")
	if err := k.write(k.dir); err != nil {
		return Kept{}, err
	}
	k.point("after the journal")
	for i := range k.Steps {
		k.begun = i + 1
		if err = k.do(i); err != nil {
			err = fmt.Errorf("%s: %w", k.path(i), err)
			break
		}
		k.point("after step %d", i)
	}
	if err == nil {
		err = k.verify()
	}
	if err == nil {
		k.point("before the end")
		err = os.Rename(filepath.Join(k.dir, journalName), filepath.Join(k.dir, keptName))
	}
	if err != nil {
		k.rollback()
		return Kept{}, k.explain(err)
	}
	k.point("after the end")
	return k.result(), nil
}

// explain adds to an error what could not be undone.
func (k *mover) explain(err error) error {
	if len(k.left) == 0 {
		return err
	}
	return fmt.Errorf("%w. These files changed meanwhile and were left as they are: %s", err,
		strings.Join(k.left, ", "))
}

func (k *mover) result() Kept {
	kept := Kept{before: map[string]string{}}
	for i, s := range k.Steps {
		if s.change < 0 {
			continue
		}
		c := k.t.found.Changes[s.change]
		kept.Changes = append(kept.Changes, c)
		switch s.Op {
		case opExchange, opDelete:
			kept.before[c.Path] = filepath.Join(k.Layers[s.Layer].Upper, s.Rel)
		case opInPlace:
			kept.before[c.Path] = k.saved(i)
		}
	}
	sort.Slice(kept.Changes, func(i, j int) bool { return kept.Changes[i].Path < kept.Changes[j].Path })
	return kept
}

func (k *mover) path(i int) string {
	return filepath.Join(k.Layers[k.Steps[i].Layer].Lower, k.Steps[i].Rel)
}

// check returns an error if something changed since the trial started, before any step.
func (k *mover) check() error {
	for i, p := range k.t.l.kept {
		if id, ok := identify(p.path); !ok || id != p.id {
			return fmt.Errorf("%s was replaced: %w", k.Layers[i].Lower, ErrConflict)
		}
	}
	if c := k.t.found.Conflicts; len(c) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(c[:min(3, len(c))], ", "), ErrConflict)
	}
	for i := range k.Steps {
		k.point("check %d", i)
		if err := k.checkStep(&k.Steps[i]); err != nil {
			return fmt.Errorf("%s: %w", k.path(i), err)
		}
	}
	return k.checkLinks()
}

func (k *mover) checkStep(s *step) error {
	if s.Rel == "" {
		return nil
	}
	dir, err := k.lower(s)
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrConflict, err)
	}
	st, there := statAt(dir, filepath.Base(s.Rel))
	switch {
	case s.Lower.Ino == 0 && there:
		return fmt.Errorf("created by something else: %w", ErrConflict)
	case s.Lower.Ino == 0:
		return nil
	case !there:
		return fmt.Errorf("deleted by something else: %w", ErrConflict)
	case s.Op == opMeta && s.Lower.dir():
		if st.Ino != s.Lower.Ino {
			return ErrConflict
		}
		return nil
	case st.Ino != s.Lower.Ino || st.Ctim != s.Lower.Ctime:
		return ErrConflict
	case s.Lower.dir():
		return k.untouched(dir, filepath.Base(s.Rel), k.Layers[s.Layer].Start, false)
	}
	return nil
}

// untouched returns an error if something in a tree changed since a time. The ctime of its top is new if it was moved.
func (k *mover) untouched(dir *os.File, name string, since unix.Timespec, moved bool) error {
	st, ok := statAt(dir, name)
	if !ok {
		return ErrConflict
	}
	if k.own[st.Ino] || k.Shared[st.Ino] {
		return nil
	}
	when := st.Ctim
	if moved {
		when = st.Mtim
	}
	if !before(when, since) {
		return ErrConflict
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	in, err := openDir(int(dir.Fd()), name)
	if err != nil {
		return nil // it can't be read
	}
	defer in.Close()
	names, _ := in.Readdirnames(-1)
	for _, n := range names {
		if err := k.untouched(in, n, since, false); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// verify returns an error if a process wrote to a file after it was moved away.
func (k *mover) verify() error {
	for i := range k.Steps {
		s := &k.Steps[i]
		if s.Op != opExchange && s.Op != opDelete || s.Lower.dir() {
			continue
		}
		dir, err := k.upper(s)
		if err != nil {
			return err
		}
		if st, ok := statAt(dir, filepath.Base(s.Rel)); !ok || !k.same(s.Lower, st) {
			return fmt.Errorf("%s: %w", k.path(i), ErrConflict)
		}
	}
	return nil
}

// same reports whether a moved file is unchanged, apart from what steps did to it by another name.
func (k *mover) same(s seen, st *unix.Stat_t) bool {
	return s.sameContent(st) || st.Ino == s.Ino && k.own[st.Ino]
}

// sameContent reports whether a moved file is unchanged.
func (s seen) sameContent(st *unix.Stat_t) bool {
	return st.Ino == s.Ino && st.Mode == s.Mode && st.Uid == s.UID && st.Gid == s.GID &&
		(s.dir() || st.Size == s.Size && st.Mtim == s.Mtime)
}

// lower and upper open the directory of a step's path.
func (k *mover) lower(s *step) (*os.File, error) {
	return k.open(dirKey{false, s.Layer, filepath.Dir(s.Rel)})
}
func (k *mover) upper(s *step) (*os.File, error) {
	return k.open(dirKey{true, s.Layer, filepath.Dir(s.Rel)})
}

func (k *mover) open(key dirKey) (*os.File, error) {
	if f := k.dirs[key]; f != nil {
		return f, nil
	}
	root := k.Layers[key.layer].Lower
	if key.upper {
		root = k.Layers[key.layer].Upper
	}
	f, err := openBelow(root, key.rel)
	if err != nil {
		return nil, err
	}
	if key.upper { // a directory that overlayfs copied may not be writable; its mode is no longer needed
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&0o700 != 0o700 {
			unix.Chmod(fdPath(f), st.Mode&0o7777|0o700)
		}
	}
	const limit = 256 // maximum number of open directories
	if len(k.dirs) >= limit {
		for key, f := range k.dirs {
			f.Close()
			delete(k.dirs, key)
		}
	}
	k.dirs[key] = f
	return f, nil
}
