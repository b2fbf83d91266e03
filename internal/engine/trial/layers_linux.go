package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/filelock"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Layers are the directories for the changes of a session's trials. It is safe for concurrent use.
type Layers struct {
	o     Options
	id    string
	dirs  []string // of this session: in State, and in roots on other mounts
	lock  []*os.File
	kept  []keptDir // the workspace and its git directories
	last  []string  // temp directories, directories of caches and caches that can have a layer
	temp  int       // how many of them are temp directories
	empty int       // how many of them are empty at first: temp directories and directories of caches
	home  string    // the home directory if it can have an overlay, or ""
	made  []string  // which of last don't exist; the overlay of the home directory has them
	why   error     // why nothing can be tried

	mounts mountTable

	at      func(point string) // for tests: called at every point of keeping
	keeping sync.Mutex         // one trial is kept at a time

	dropping sync.Mutex // held while a trial is dropped in the background; before mu

	mu     sync.Mutex
	n      int
	free   []string // directories of session layers that no trial uses
	used   int64    // disk space of session layers, by free space since they were counted
	spare  []spare  // directories of trials that changed nothing
	closed bool
}

// keptDir is a directory whose changes can be kept.
type keptDir struct {
	path string
	id   sandbox.ID
	dir  string // for its uppers, on the same mount
}

// Limits returns the default limits of a command that is tried.
func Limits() *sandbox.Trials {
	limits := &sandbox.Trials{Bytes: DefaultBytes, Processes: DefaultProcesses, CPU: DefaultCPU}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		limits.Memory = int64(uint64(info.Totalram)*uint64(info.Unit)) / 4 * 3
	}
	return limits
}

// Open prepares trials, and recovers from a killed session. If commands can't be tried, Supported returns why.
func Open(o Options) (*Layers, error) {
	if o.State == "" || len(o.Roots) == 0 {
		return nil, errors.New("open trials: no state directory or no workspace")
	}
	limits := Limits()
	o.Bytes, o.Memory = cmp.Or(o.Bytes, limits.Bytes), cmp.Or(o.Memory, limits.Memory)
	o.Processes, o.CPU = cmp.Or(o.Processes, limits.Processes), cmp.Or(o.CPU, limits.CPU)
	if o.Protected == nil {
		o.Protected = func(string) bool { return false }
	}
	var id [8]byte
	rand.Read(id[:]) // never fails
	l := &Layers{o: o, id: "s-" + hex.EncodeToString(id[:])}
	if l.why = l.open(); l.why != nil {
		l.Close()
	}
	return l, nil
}

func (l *Layers) open() error {
	if err := supported(l.o.Without); err != nil {
		return err
	}
	for _, path := range slices.Concat(l.o.Roots, l.o.Git) {
		p := keptDir{path: filepath.Clean(path)}
		if err := l.choose(&p); err != nil {
			return err
		}
		l.kept = append(l.kept, p)
	}
	if err := Recover(l.o.State, l.o.Roots); err != nil {
		return err
	}
	main, err := l.own(l.o.State)
	if err != nil {
		return err
	}
	old, _ := filepath.Glob(filepath.Join(l.o.State, emptyPrefix+"*"))
	go func() {
		for _, dir := range old {
			_ = removeAll(dir) // or a later session
		}
	}()
	for i := range l.kept {
		p := &l.kept[i]
		if p.dir == l.o.State {
			p.dir = main
			continue
		}
		if p.dir, err = l.own(p.dir); err != nil {
			return err
		}
	}
	l.chooseLasting()
	_, err = l.check()
	return err
}

// chooseLasting selects the temp directories and caches that get layers.
func (l *Layers) chooseLasting() {
	add := func(paths []string, covered func(path string) bool) int {
		var real []string
		for _, path := range paths {
			if p, ok := l.lasting(path); ok {
				real = append(real, p)
			}
		}
		sorted.By(real, func(a, b string) int { return cmp.Compare(len(a), len(b)) }) // parents first
		for _, p := range real {
			if !slices.Contains(l.last, p) && !covered(p) {
				l.last = append(l.last, p)
			}
		}
		return len(l.last)
	}
	// These are initially empty, so directories below one have their own layer.
	none := func(string) bool { return false }
	l.temp = add(l.o.Temp, none)
	if real, ok := l.lasting(cmp.Or(l.o.Home, userHome())); ok && owned(real) == nil {
		l.home = real
	}
	l.empty = add(l.o.CacheDirs, none)
	add(l.o.Caches, func(p string) bool {
		return slices.ContainsFunc(l.last[l.empty:], func(have string) bool { return ownedBelow(p, have) })
	})
	if slices.ContainsFunc(l.last[l.empty:], func(have string) bool { return names.Below(l.home, have) }) {
		l.home = ""
	}
	l.made = slices.DeleteFunc(slices.Clone(l.last), func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

// absent reports whether the overlay of the home directory can have a directory that doesn't exist. In a directory of
// caches commands create it.
func (l *Layers) absent(path string) bool {
	return l.home != "" && path != l.home && names.Below(path, l.home) &&
		!slices.ContainsFunc(l.kept, func(p keptDir) bool { return names.Below(path, p.path) }) &&
		!slices.ContainsFunc(l.last[l.temp:], func(have string) bool { return names.Below(path, have) })
}

// ownedBelow reports whether a path is in a directory, and the user owns everything in between: overlayfs copies the
// directories above a change.
func ownedBelow(path, dir string) bool {
	if !names.Below(path, dir) {
		return false
	}
	for ; path != dir; path = filepath.Dir(path) {
		if owned(path) != nil {
			return false
		}
	}
	return true
}

// lasting returns a temp directory or a cache with links resolved, if it can have a layer.
func (l *Layers) lasting(path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, l.absent(path)
	}
	st, err2 := os.Stat(real)
	if err != nil || err2 != nil || !st.IsDir() || slices.Contains(l.last, real) || real == "/" {
		return "", false
	}
	if real == "/dev/shm" || strings.HasPrefix(real, "/dev/shm/") { // the sandbox has its own
		return "", false
	}
	for _, p := range l.kept {
		if names.Below(real, p.path) {
			return "", false
		}
	}
	if owned(real) != nil && !st.Mode().IsRegular() && st.Mode()&os.ModeSticky == 0 {
		return "", false
	}
	return real, true
}

func userHome() string {
	home, _ := os.UserHomeDir()
	return home
}

// HasCache reports whether the trial has a directory of caches. Without one, its command needs another.
func (t *Trial) HasCache() bool {
	l := t.l
	return slices.ContainsFunc(l.last[l.temp:l.empty], func(dir string) bool {
		return !slices.Contains(l.made, dir) || t.wholeHome && !l.homeInTemp()
	})
}

// homeInTemp reports whether the home directory is in a temp directory. Commands may read these, so it isn't shown
// there.
func (l *Layers) homeInTemp() bool {
	return slices.ContainsFunc(l.last[:l.temp], func(dir string) bool { return names.Below(l.home, dir) })
}

// own creates the directory of this session in a state directory.
func (l *Layers) own(state string) (string, error) {
	dir := filepath.Join(state, l.id)
	if slices.Contains(l.dirs, dir) {
		return dir, nil
	}
	all, err := makeState(state)
	if err != nil {
		return "", err
	}
	defer all.Close()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("prepare trials: %w", err)
	}
	l.dirs = append(l.dirs, dir)
	lock, err := locked(filepath.Join(dir, lockName), filelock.Try, lockWait)
	if err != nil {
		return "", err
	}
	l.lock = append(l.lock, lock)
	if _, err := lock.WriteString(owner(os.Getpid())); err != nil {
		return "", fmt.Errorf("prepare trials: %w", err)
	}
	return dir, nil
}

// Supported reports whether commands can be tried here, and why not, as a clause for doctor.
func (l *Layers) Supported() (ok bool, why string) {
	if l.why != nil {
		return false, reason(l.why)
	}
	if _, err := l.check(); err != nil {
		return false, reason(err)
	}
	return true, ""
}

// reason returns an error without its common prefix.
func reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+ErrUnsupported.Error())
}

// New prepares a trial of one command. Call Drop when its effects are kept or no longer needed.
func (l *Layers) New(ctx context.Context) (*Trial, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.why != nil {
		return nil, l.why
	}
	mounts, err := l.check()
	if err != nil {
		return nil, err
	}
	l.dropping.Lock()
	defer l.dropping.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("start a trial: the session is closed")
	}
	l.n++
	t := &Trial{l: l}
	err = t.prepare("t" + strconv.Itoa(l.n))
	if err == nil {
		err = t.lastingLayers(mounts)
	}
	if err != nil {
		t.remove()
		return nil, fmt.Errorf("start a trial: %w", err)
	}
	return t, nil
}

// Close removes the changes of trials that weren't kept. No trial may be running. Directories without files are left to
// the next session, unless they are in the workspace: removing one may wait for the disk.
func (l *Layers) Close() error {
	l.dropping.Lock()
	defer l.dropping.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.mounts.close()
	var errs []error
	for _, dir := range l.dirs {
		state := filepath.Dir(dir)
		inside := slices.ContainsFunc(l.o.Roots, func(root string) bool { return names.Below(state, root) })
		if !inside && hasNoFiles(dir) && os.Rename(dir, filepath.Join(state, emptyPrefix+l.id)) == nil {
			continue
		}
		errs = append(errs, removeAll(dir))
		if all, err := lockState(state, closeWait); err == nil {
			removeUnused(state)
			all.Close()
		}
	}
	for _, f := range l.lock {
		f.Close()
	}
	l.dirs, l.lock = nil, nil
	return errors.Join(errs...)
}

// Trial is a trial of one command.
type Trial struct {
	l      *Layers
	dirs   map[string]string // directories of its uppers, by the directory of the session
	layers []layer           // layers whose changes can be kept
	last   []sandbox.Overlay // temp directories and caches
	set    string            // directory of those
	alone  string            // the same, if no other trial may use it; see Isolate
	holes  []string          // in uppers of temp directories, for mounts
	left   int64             // free disk space at its start
	used   int64             // disk space of session layers then

	emptied   bool // session layers were emptied
	wholeHome bool // the home directory has no mount points, so that it can have an overlay

	substitutes []Substitute // in uppers

	mu      sync.Mutex
	found   *found // by Effects
	spent   bool   // it was kept, or keeping failed
	dropped bool
}

// layer is one directory in one trial.
type layer struct {
	sandbox.Overlay
	start unix.Timespec // later changes in the lower are conflicts
}

// prepare creates the uppers, or reuses those of a trial that changed nothing.
func (t *Trial) prepare(name string) error {
	made, ok := t.l.takeSpare()
	if !ok {
		made = spare{dirs: map[string]string{}}
	}
	t.dirs = made.dirs
	starts := map[string]unix.Timespec{}
	for i, p := range t.l.kept {
		dir, ok := t.dirs[p.dir]
		if !ok {
			dir = filepath.Join(p.dir, name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			t.dirs[p.dir] = dir
		}
		o := sandbox.Overlay{Lower: p.path, Upper: upperIn(dir, i), Work: filepath.Join(dir, strconv.Itoa(i)+".work")}
		if err := makeUpper(o, made.whole); err != nil {
			return err
		}
		if _, ok := starts[p.dir]; !ok {
			at, err := fence(dir)
			if err != nil {
				return err
			}
			starts[p.dir] = at
		}
		t.layers = append(t.layers, layer{o, starts[p.dir]})
	}
	if made.whole {
		return nil
	}
	return os.Mkdir(filepath.Join(t.home(), "empty"), 0o700)
}

// home returns the directory of the trial on the mount of its first root.
func (t *Trial) home() string { return t.dirs[t.l.kept[0].dir] }

// lastingLayers takes unused session layers, or creates them.
func (t *Trial) lastingLayers(mounts []string) error {
	l := t.l
	if len(l.last) == 0 {
		return nil
	}
	t.emptied = l.emptyFull()
	t.left, t.used = freeSpace(l.dirs[0]), l.used
	if n := len(l.free); n > 0 {
		t.set, l.free = l.free[n-1], l.free[:n-1]
	} else {
		t.set = filepath.Join(l.dirs[0], "set"+strconv.Itoa(l.n))
		if err := os.Mkdir(t.set, 0o700); err != nil {
			return err
		}
	}
	home := sandbox.Overlay{Lower: l.home}
	whole := l.home != "" && mountIn(mounts, l.home) == "" // one overlay of all is faster than one for each cache
	t.wholeHome = whole
	for i, path := range l.last {
		missing := slices.Contains(l.made, path)
		o := sandbox.Overlay{Lower: path}
		switch {
		case missing && (!whole || l.homeInTemp()):
			continue
		case i < l.empty: // files of other programs aren't for commands without approval
			o.Instead = true
		case whole && names.Below(path, l.home):
			home.Parts = append(home.Parts, path)
			continue
		case mountIn(mounts, path) != "":
			continue // then the cache is read-only
		}
		if err := t.lasting(&o); err != nil {
			return err
		}
	}
	if home.Whole = whole && !l.homeInTemp() && len(l.made) > 0; !home.Whole && home.Parts == nil {
		return nil
	}
	if err := t.lasting(&home); err != nil {
		return err
	}
	return t.makeMissing(home)
}

// makeMissing creates the missing directories in the overlay of the home directory.
func (t *Trial) makeMissing(home sandbox.Overlay) error {
	if !home.Whole || home.Upper == "" {
		return nil
	}
	upper, err := os.OpenRoot(home.Upper)
	if err != nil {
		return err
	}
	defer upper.Close()
	for _, path := range t.l.made {
		rel := strings.TrimPrefix(path, home.Lower+"/")
		for dir := range parents(rel + "/") {
			if err := directory(upper, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyFull removes the unused session layers if they use over seven eighths of the limit, and reports whether it did.
// What they use is estimated by the free disk space before and after each trial, and counted if that is much, or was
// long ago. Layers that can't be read are removed, too.
func (l *Layers) emptyFull() bool {
	if len(l.free) == 0 || l.used < l.o.Bytes/2 && l.n%8 != 0 {
		return false
	}
	var err error
	if l.used, err = sandbox.DiskUse(l.free); err == nil && l.used <= l.o.Bytes/8*7 {
		return false
	}
	for _, set := range l.free {
		removeAll(set) // or the session's end removes it
	}
	l.free, l.used = nil, 0
	return true
}

// freeSpace returns the free space of a directory's file system.
func freeSpace(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return int64(st.Bfree) * int64(st.Bsize)
}

// lasting adds a layer of the session.
func (t *Trial) lasting(o *sandbox.Overlay) error {
	name := strings.ReplaceAll(strings.ReplaceAll(o.Lower, "%", "%25"), "/", "%2F")
	if len(name) > 200 {
		return nil // such a long path isn't a cache
	}
	o.Upper = filepath.Join(t.set, name+".upper")
	o.Work = filepath.Join(t.set, name+".work")
	if _, err := os.Lstat(o.Upper); err != nil {
		if err := makeUpper(*o, false); err != nil {
			return err
		}
	} else if !o.Instead {
		if err := os.Mkdir(o.Work, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	t.last = append(t.last, *o)
	return nil
}

// Spec returns the sandbox for the command. limits is what it may read besides the layers, and which files look empty
// to it; nil: it may read everything.
func (t *Trial) Spec(limits *sandbox.Limits, covers ...sandbox.Cover) *sandbox.Spec {
	s := &sandbox.Spec{
		Mode: sandbox.Trial, Limits: limits, Covers: covers, Pins: map[string]sandbox.ID{}, Without: t.l.o.Without,
	}
	s.Trial = &sandbox.Trials{
		Dir: filepath.Join(t.home(), "empty"), Bytes: t.l.o.Bytes, Used: t.used, Count: slices.Clone(t.l.dirs),
		Memory: t.l.o.Memory, Processes: t.l.o.Processes, CPU: t.l.o.CPU,
	}
	for i, l := range t.layers {
		s.Trial.Layers = append(s.Trial.Layers, l.Overlay)
		s.Pins[l.Lower] = t.l.kept[i].id
	}
	s.Trial.Layers = append(s.Trial.Layers, t.last...)
	s.Trial.Show = t.show(limits)
	for _, dir := range append([]string{t.l.o.State}, t.l.dirs...) {
		for _, o := range s.Trial.Layers {
			if state := filepath.Dir(dir); names.Below(state, o.Lower) && state != o.Lower &&
				!slices.Contains(s.Trial.Conceal, state) && dir != t.l.o.State {
				s.Trial.Conceal = append(s.Trial.Conceal, state)
			}
		}
	}
	return s
}

// Drop discards changes that weren't kept.
func (t *Trial) Drop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return nil
	}
	t.dropped = true
	defer t.release()
	if t.alone != "" {
		return errors.Join(t.remove(), removeAll(t.alone))
	}
	if t.recycle() {
		return nil
	}
	return t.remove()
}

// release lets another trial use the session layers.
func (t *Trial) release() {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	if t.set != "" && !t.l.closed {
		t.l.free = append(t.l.free, t.set)
		t.l.used += max(0, t.left-freeSpace(t.l.dirs[0]))
	}
	t.set = ""
}

func (t *Trial) remove() error {
	var errs []error
	for _, dir := range t.dirs {
		errs = append(errs, removeAll(dir))
	}
	for _, o := range t.last {
		if !o.Instead && !emptyWork(o.Work) {
			errs = append(errs, removeAll(o.Work))
		}
	}
	return errors.Join(errs...)
}
