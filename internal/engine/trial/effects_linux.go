package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// op is how a change is kept.
type op string

const (
	opCreate   op = "create"   // move from the upper
	opExchange op = "exchange" // exchange with the upper
	opInPlace  op = "write"    // write the file, which has other names
	opDelete   op = "delete"   // move to the upper
	opMeta     op = "meta"     // change mode, owner, times and attributes
)

// step is how one change is kept.
type step struct {
	Op    op
	Layer int
	Rel   string // path in the layer
	Upper seen   // state in the upper
	Lower seen   // state in the lower; zero: doesn't exist
	// OldAttrs and NewAttrs are the extended attributes, if they changed.
	OldAttrs, NewAttrs map[string][]byte `json:",omitempty"`
	change             int               // index in found.Changes; -1: none
	dev                uint64            // of the lower
}

// seen is the metadata that shows whether a file is still the same.
type seen struct {
	Ino          uint64        `json:",omitempty"`
	Mode         uint32        `json:",omitempty"`
	UID, GID     uint32        `json:",omitempty"`
	Size         int64         `json:",omitempty"`
	Links        uint64        `json:",omitempty"`
	Atime, Mtime unix.Timespec `json:",omitzero"`
	Ctime        unix.Timespec `json:",omitzero"`
}

func seeing(st *unix.Stat_t) seen {
	return seen{
		Ino: st.Ino, Mode: st.Mode, UID: st.Uid, GID: st.Gid, Size: st.Size, Links: uint64(st.Nlink), Atime: st.Atim,
		Mtime: st.Mtim, Ctime: st.Ctim,
	}
}

func (s seen) is(kind uint32) bool { return s.Mode&unix.S_IFMT == kind }
func (s seen) dir() bool           { return s.is(unix.S_IFDIR) }

// found is the result of a walk through the uppers.
type found struct {
	Effects
	steps []step
	strip []string // paths in uppers that have attributes of overlayfs
	t     *Trial
	ctx   context.Context

	names   map[inode][]*name // of hard-linked files in an upper
	gone    []gone
	relinks []relink

	protected string   // the last protected path
	git       []string // changed directories that git already takes for a repository
	restore   []func() // restores modes of directories
}

// Effects returns what the command changed. The command must have ended. Another trial may use the session layers from
// now on.
func (t *Trial) Effects(ctx context.Context) (Effects, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return Effects{}, fmt.Errorf("find the effects of a trial: it was dropped")
	}
	f := &found{t: t, ctx: ctx, names: map[inode][]*name{}}
	f.Emptied = t.emptied
	defer func() {
		for _, restore := range slices.Backward(f.restore) {
			restore()
		}
		f.restore = nil
	}()
	for i := range t.layers {
		if err := f.layer(i); err != nil {
			return Effects{}, fmt.Errorf("find the effects of a trial: %w", err)
		}
	}
	f.split()
	f.linked()
	f.notKept()
	t.release()
	t.found = f
	out := f.Effects
	out.Changes = slices.Clone(out.Changes)
	sort.Slice(out.Changes, func(i, j int) bool { return out.Changes[i].Path < out.Changes[j].Path })
	sort.Slice(out.Special, func(i, j int) bool { return out.Special[i].Path < out.Special[j].Path })
	slices.Sort(out.Conflicts)
	out.Conflicts = slices.Compact(out.Conflicts)
	return out, nil
}

// layer compares one upper with its lower.
func (f *found) layer(i int) error {
	l := &f.t.layers[i]
	upper, err := openDir(unix.AT_FDCWD, l.Upper)
	if err != nil {
		return err
	}
	defer upper.Close()
	lower, err := openDir(unix.AT_FDCWD, l.Lower)
	if err != nil {
		return err
	}
	defer lower.Close()
	p := pair{f: f, layer: i, upper: upper, lower: lower}
	if err := p.meta(); err != nil {
		return err
	}
	return p.walk()
}

// pair is a directory in an upper and the one below it.
type pair struct {
	f            *found
	layer        int
	rel          string // "" is the root
	upper, lower *os.File
	was          *unix.Stat_t // the upper one before it was made readable; nil: unchanged
}

func (p *pair) path(name string) string {
	return filepath.Join(p.f.t.layers[p.layer].Lower, p.rel, name)
}
func (p *pair) above(name string) string {
	return filepath.Join(p.f.t.layers[p.layer].Upper, p.rel, name)
}

// meta compares the directories themselves.
func (p *pair) meta() error {
	var u, l unix.Stat_t
	if err := unix.Fstat(int(p.upper.Fd()), &u); err != nil {
		return err
	}
	if err := unix.Fstat(int(p.lower.Fd()), &l); err != nil {
		return err
	}
	if p.was != nil {
		u = *p.was
	}
	if p.rel != "" {
		p.f.strip = append(p.f.strip, p.above(""))
	}
	note := differences(&u, &l)
	s := step{Op: opMeta, Layer: p.layer, Rel: p.rel, Upper: seeing(&u), Lower: seeing(&l)}
	if s.compare(p.upper, p.lower) {
		note = append(note, "attributes")
	}
	if len(note) == 0 {
		return nil
	}
	p.f.protect(p.path(""))
	c := Change{Path: p.path(""), Kind: ModeOnly, Old: fileOf(&l), New: fileOf(&u)}
	c.Attributes = strings.Join(note, ", ")
	p.f.add(c, s)
	return nil
}

func (p *pair) walk() error {
	if err := p.f.ctx.Err(); err != nil {
		return err
	}
	names, err := p.upper.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	p.repository(names)
	for _, name := range names {
		if err := p.entry(name); err != nil {
			return fmt.Errorf("%s: %w", p.path(name), err)
		}
	}
	return nil
}

// entry compares one name.
func (p *pair) entry(name string) error {
	u, ok := statAt(p.upper, name)
	if !ok {
		return nil
	}
	if tooLong(p.path(name), p.above(name)) {
		p.f.TooLong++
		return nil
	}
	l, there := statAt(p.lower, name)
	s := step{Layer: p.layer, Rel: filepath.Join(p.rel, name), Upper: seeing(u)}
	c := Change{Path: p.path(name), New: p.file(p.upper, name, u)}
	if there {
		s.Lower, c.Old, s.dev = seeing(l), p.file(p.lower, name, l), l.Dev
	}
	switch {
	case isWhiteout(u) && !there:
		// It was created and deleted, or another process deleted it.
	case isWhiteout(u):
		s.Op, c.Kind, c.New = opDelete, Deleted, File{}
		s.Upper = seen{}
		c.Files, c.Bytes, _ = p.below(p.lower, name, l, nil)
		p.f.add(c, s)
	case !there:
		if p.deletedBelow(name) {
			p.f.Conflicts = append(p.f.Conflicts, c.Path)
		}
		s.Op, c.Kind = opCreate, Created
		c.Files, c.Bytes, c.Inside = p.below(p.upper, name, u, p.f)
		p.f.add(c, s)
	case s.Upper.dir() && s.Lower.dir() && !opaque(p.above(name)):
		return p.merged(name, u)
	case s.Upper.dir() || s.Lower.dir() || u.Mode&unix.S_IFMT != l.Mode&unix.S_IFMT:
		s.Op, c.Kind = opExchange, Replaced
		p.below(p.lower, name, l, nil)
		c.Files, c.Bytes, c.Inside = p.below(p.upper, name, u, p.f)
		p.f.add(c, s)
	default:
		return p.changed(name, c, s)
	}
	return nil
}

// deletedBelow reports whether another process may have deleted the lower file: overlayfs copied it from a lower, and
// its directory changed meanwhile. The command may also have moved the file here.
func (p *pair) deletedBelow(name string) bool {
	var st unix.Stat_t
	if unix.Fstat(int(p.lower.Fd()), &st) != nil || before(st.Mtim, p.f.t.layers[p.layer].start) {
		return false
	}
	_, err := unix.Lgetxattr(p.above(name), overlayPrefix+"origin", nil) // without a value, in a user namespace
	return err == nil
}

// merged compares a directory that is in both.
func (p *pair) merged(name string, was *unix.Stat_t) error {
	upper, err := p.f.openClosed(p.upper, name)
	if err != nil {
		return err
	}
	defer upper.Close()
	lower, err := openDir(int(p.lower.Fd()), name)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the directory can't be read, so it isn't known what changed in it: %w", err)
	}
	if err != nil {
		return err
	}
	defer lower.Close()
	in := pair{f: p.f, layer: p.layer, rel: filepath.Join(p.rel, name), upper: upper, lower: lower, was: was}
	if err := in.meta(); err != nil {
		return err
	}
	return in.walk()
}

// changed compares a file, or a link, that is in both.
func (p *pair) changed(base string, c Change, s step) error {
	if sub, ok := p.f.t.substituted(c.Path); ok && s.Upper.is(unix.S_IFREG) && s.Lower.is(unix.S_IFREG) {
		u, err := p.original(base, sub)
		if err != nil {
			return err
		}
		s.Upper, c.New = seeing(u), fileOf(u)
	}
	same, attrs := p.same(base, &s)
	note := []string{}
	if s.Upper.Mode != s.Lower.Mode {
		note = append(note, fmt.Sprintf("mode %04o → %04o", s.Lower.Mode&0o7777, s.Upper.Mode&0o7777))
	}
	if s.Upper.UID != s.Lower.UID || s.Upper.GID != s.Lower.GID {
		note = append(note, "owner")
	}
	if attrs {
		note = append(note, "attributes")
	}
	switch {
	case !same:
		s.Op, c.Kind = opExchange, Changed
		if s.Lower.Links > 1 && s.Lower.is(unix.S_IFREG) {
			s.Op = opInPlace
		}
		p.f.inspect(c.Path, base, s.Upper, c.New.Target)
	case len(note) > 0 || s.Upper.Mtime != s.Lower.Mtime:
		s.Op, c.Kind = opMeta, ModeOnly
		if c.TimeOnly = len(note) == 0; c.TimeOnly {
			note = append(note, "time")
		}
		p.f.inspect(c.Path, base, s.Upper, c.New.Target)
	}
	c.Attributes = strings.Join(note, ", ")
	n := &name{c: c, s: s, step: -1}
	if s.Op != "" { // otherwise it was opened for writing, or got another name
		p.f.add(c, s)
		n.step = len(p.f.steps) - 1
	}
	if s.Upper.Links > 1 && s.Upper.is(unix.S_IFREG) {
		id := inode{p.layer, s.Upper.Ino}
		p.f.names[id] = append(p.f.names[id], n)
	}
	return nil
}

// add records a change, and whether another process changed the same file.
func (f *found) add(c Change, s step) {
	if s.Lower.Ino != 0 && !(s.Op == opMeta && s.Lower.dir()) && !before(s.Lower.Ctime, f.t.layers[s.Layer].start) {
		f.Conflicts = append(f.Conflicts, c.Path)
	}
	s.change = len(f.Changes)
	f.Changes = append(f.Changes, c)
	f.steps = append(f.steps, s)
}

// below counts the files of a directory, or of a file. In a lower it checks that no other process changed it; in new
// files it looks for special ones and for attributes of overlayfs.
func (p *pair) below(dir *os.File, name string, st *unix.Stat_t, fresh *found) (files int, size int64, in []Change) {
	w := &counter{p: p, fresh: fresh, start: p.f.t.layers[p.layer].start}
	w.entry(dir, name, p.path(name), p.above(name), st)
	return w.files, w.size, w.inside
}

// maxInside is how many files of a directory are listed.
const maxInside = 500

// tooLong reports whether a path is too long for a system call, in the workspace or in an upper. Only relative paths
// lead to what is there: it isn't looked at.
func tooLong(path, above string) bool { return max(len(path), len(above)) >= unix.PathMax }

// counter walks a tree.
type counter struct {
	p     *pair
	fresh *found // nil: it is a lower
	start unix.Timespec
	files int
	size  int64

	inside []Change // the first files of a directory
}

func (w *counter) entry(dir *os.File, name, path, above string, st *unix.Stat_t) {
	f := w.p.f
	switch {
	case !tooLong(path, above):
	case w.fresh == nil:
		f.Special = append(f.Special, Special{filepath.Dir(path), "too deep"})
		return
	default: // what can't be named isn't kept
		if removeIn(dir, name) != nil {
			f.Special = append(f.Special, Special{filepath.Dir(path), "too deep"})
		}
		f.TooLong++
		return
	}
	if w.fresh == nil {
		f.protect(path)
		if !before(st.Ctim, w.start) {
			f.Conflicts = append(f.Conflicts, path)
		}
		if st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG {
			rel, _ := filepath.Rel(f.t.layers[w.p.layer].Lower, path)
			f.gone = append(f.gone, gone{w.p.layer, rel, seeing(st)})
		}
	} else {
		target := ""
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			target = readlinkAt(dir, name)
		}
		if isWhiteout(st) { // it has no content
			os.Remove(above)
			return
		}
		st = f.restored(path, above, st)
		f.inspect(path, name, seeing(st), target)
		f.marked(above, st)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		w.files++
		w.size += st.Size
		if w.fresh != nil && len(w.inside) < maxInside && dir != w.p.upper {
			w.inside = append(w.inside, Change{Path: path, Kind: Created, New: w.p.file(dir, name, st)})
		}
		return
	}
	open := openDirAt
	if w.fresh != nil {
		open = w.fresh.openClosed
	}
	in, err := open(dir, name)
	if err != nil {
		return // it can't be read
	}
	defer in.Close()
	names, _ := in.Readdirnames(-1)
	if w.fresh != nil {
		slices.Sort(names)
		f.repository(path, names)
	}
	for _, n := range names {
		if st, ok := statAt(in, n); ok {
			w.entry(in, n, path+"/"+n, above+"/"+n, st)
		}
	}
}

// marked records a file with attributes of overlayfs.
func (f *found) marked(above string, st *unix.Stat_t) {
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return
	}
	if n, err := unix.Llistxattr(above, nil); err == nil && n > 0 {
		f.strip = append(f.strip, above)
	}
}

// inspect records changes that always require approval.
func (f *found) inspect(path, name string, s seen, target string) {
	tell := func(what string) { f.Special = append(f.Special, Special{path, what}) }
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		tell("named pipe")
	case unix.S_IFSOCK:
		tell("socket")
	case unix.S_IFCHR, unix.S_IFBLK:
		tell("device")
	case unix.S_IFLNK:
		if f.leadsOut(path, target) {
			tell("link out of the workspace")
		}
	case unix.S_IFREG:
		if s.Mode&unix.S_ISUID != 0 {
			tell("setuid")
		}
		if s.Mode&unix.S_ISGID != 0 {
			tell("setgid")
		}
	}
	f.protect(path)
}

// leadsOut reports whether a link's target is outside the workspace. Links on the way are resolved as the trial left
// them: a chain of links is judged link by link.
func (f *found) leadsOut(path, target string) bool {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	target = filepath.Clean(target)
	return !slices.ContainsFunc(f.t.layers, func(l layer) bool { return names.Below(target, l.Lower) })
}

// maxNotKept is the maximum number of paths in NotKept.
const maxNotKept = 5

// notKept finds the changes in temp directories.
func (f *found) notKept() {
	for i := range min(f.t.l.temp, len(f.t.last)) {
		o := f.t.last[i]
		start := f.t.layers[0].start
		filepath.WalkDir(o.Upper, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if slices.Contains(f.t.holes, path) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if err != nil || path == o.Upper || unix.Lstat(path, &st) != nil || before(st.Ctim, start) {
				return nil
			}
			if d.IsDir() {
				if _, err := os.Lstat(o.Lower + strings.TrimPrefix(path, o.Upper)); err == nil && !opaque(path) {
					return nil // its content was changed
				}
			}
			if f.MoreNotKept++; f.MoreNotKept <= maxNotKept {
				f.NotKept = append(f.NotKept, o.Lower+strings.TrimPrefix(path, o.Upper))
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	f.MoreNotKept = max(0, f.MoreNotKept-maxNotKept)
}

func fileOf(st *unix.Stat_t) File {
	return File{Mode: nofollow.Mode(st.Mode), Size: st.Size, Time: time.Unix(st.Mtim.Unix())}
}

// file returns the state of a name.
func (p *pair) file(dir *os.File, name string, st *unix.Stat_t) File {
	f := fileOf(st)
	if f.Mode&fs.ModeSymlink != 0 {
		f.Target = readlinkAt(dir, name)
	}
	return f
}
