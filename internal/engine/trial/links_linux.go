package trial

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/hardlink"
)

// Hard-linked files: overlayfs copies a file of the lower when it changes or gets another name, so names of one
// file may be in the lower, in a directory of the upper that is moved as a whole, or both. Before anything is moved,
// names in the upper that belong to a file in the lower are linked to it.

// inode is a file in an upper.
type inode struct {
	layer int
	ino   uint64
}

// name is one of several names of a file in an upper, if the lower has a file too.
type name struct {
	c    Change
	s    step
	step int // index in found.steps; -1: nothing changed
}

func (n *name) rank() int {
	switch n.s.Op {
	case opExchange:
		return 2
	case opInPlace:
		return 1
	}
	return 0
}

// gone is a name of a hard-linked file that is deleted in the lower.
type gone struct {
	layer int
	rel   string
	lower seen
}

// alike has the attributes that a copy by overlayfs shares with its original.
type alike struct {
	layer    int
	size     int64
	mtime    unix.Timespec
	mode     uint32
	uid, gid uint32
}

func (s seen) alike(layer int) alike { return alike{layer, s.Size, s.Mtime, s.Mode, s.UID, s.GID} }

// relink is a name in an upper that is linked to a file in the lower.
type relink struct {
	layer     int
	rel, from string // paths in the layer
	step      int    // index in found.steps: moves the name
	needs     int    // index in found.steps: changes the file; -1: none
}

// split makes files that also have names outside the workspace, such as in a package store, separate files: they are
// replaced and not written in place, so that nothing outside changes.
func (f *found) split() {
	changes := func(s *step) bool {
		return (s.Op == opInPlace || s.Op == opMeta) && s.Lower.Links > 1 && s.Lower.is(unix.S_IFREG)
	}
	links := map[hardlink.ID]uint64{}
	for i := range f.steps {
		if s := &f.steps[i]; changes(s) {
			links[hardlink.ID{Dev: s.dev, Ino: s.Lower.Ino}] = s.Lower.Links
		}
	}
	if len(links) == 0 {
		return
	}
	inside := hardlink.Inside(f.t.l.o.Roots, links)
	for i := range f.steps {
		if s := &f.steps[i]; changes(s) && !inside[hardlink.ID{Dev: s.dev, Ino: s.Lower.Ino}] {
			s.Op = opExchange
			c := &f.Changes[s.change]
			c.Split = true
			c.Attributes = strings.TrimPrefix(c.Attributes+", other names outside the workspace stay unchanged", ", ")
		}
	}
	for _, n := range slices.Concat(slices.Collect(maps.Values(f.names))...) {
		if n.step >= 0 {
			n.s.Op = f.steps[n.step].Op
		}
	}
}

// linked finds the names in uppers that belong to a file in the lower: one that stays there and got another name, or
// one that was moved and has others.
func (f *found) linked() {
	stays := map[inode]*name{}
	for id, names := range f.names {
		// The file that stays is one with the same content, if there is one.
		first := slices.MinFunc(names, func(a, b *name) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()),
				cmp.Compare(a.s.Rel, b.s.Rel))
		})
		if first.s.Op == opExchange {
			continue // all are moved, and stay one file
		}
		stays[id] = first
		for _, n := range names {
			if n.s.Lower.Ino == first.s.Lower.Ino {
				continue
			}
			if n.s.Op = opExchange; n.step < 0 {
				n.c.Kind, n.c.Attributes = ModeOnly, "another name of "+filepath.Base(first.s.Rel)
				f.add(n.c, n.s)
				n.step = len(f.steps) - 1
			}
			f.steps[n.step].Op = opExchange
			f.relinks = append(f.relinks, relink{id.layer, n.s.Rel, first.s.Rel, n.step, first.step})
			f.named(id.layer, n.s.Rel)
		}
	}
	moved := map[alike][]gone{}
	for _, g := range f.gone {
		key := g.lower.alike(g.layer)
		moved[key] = append(moved[key], g)
	}
	if len(stays) == 0 && len(moved) == 0 {
		return
	}
	for i := range f.steps {
		if s := &f.steps[i]; s.Op == opCreate || s.Op == opExchange && f.Changes[i].Kind == Replaced {
			f.relinkIn(i, stays, moved)
		}
	}
}

// relinkIn finds the names in what one step moves.
func (f *found) relinkIn(i int, stays map[inode]*name, moved map[alike][]gone) {
	s := f.steps[i]
	root := f.t.layers[s.Layer].Upper
	filepath.WalkDir(filepath.Join(root, s.Rel), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // it can't be read
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		r := relink{layer: s.Layer, rel: rel, step: i, needs: -1}
		if n := stays[inode{s.Layer, st.Ino}]; n != nil {
			r.from, r.needs = n.s.Rel, n.step
			f.named(s.Layer, rel)
		} else if g, ok := f.origin(rel, moved[seeing(&st).alike(s.Layer)]); ok {
			r.from = g.rel
		}
		if r.from != "" {
			f.relinks = append(f.relinks, r)
		}
		return nil
	})
}

// named records a new name of a file in the workspace, which always requires approval: the names look like separate
// files to the command, so that it may act differently than outside a trial. For example, 'cp' of a file to its other
// name empties it.
func (f *found) named(layer int, rel string) {
	f.Special = append(f.Special, Special{filepath.Join(f.t.layers[layer].Lower, rel), "hard link"})
}

// maxAlike is the maximum number of deleted files that a new one is compared with.
const maxAlike = 16

// origin returns the deleted file with the same content and attributes as a new one, preferably one of the same name.
func (f *found) origin(rel string, all []gone) (gone, bool) {
	all = slices.Clone(all)
	sorted.By(all, func(a, b gone) int {
		rank := func(g gone) int {
			if filepath.Base(g.rel) == filepath.Base(rel) {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
	seen := map[uint64]bool{}
	for _, g := range all {
		if seen[g.lower.Ino] {
			continue
		}
		seen[g.lower.Ino] = true
		if len(seen) > maxAlike {
			break
		}
		if f.moved(g, rel) {
			return g, true
		}
	}
	return gone{}, false
}

// moved reports whether a new file has the content and the attributes of a deleted
// one.
func (f *found) moved(g gone, rel string) bool {
	l := f.t.layers[g.layer]
	open := func(root, rel string) *os.File {
		dir, err := openBelow(root, filepath.Dir(rel))
		if err != nil {
			return nil
		}
		defer dir.Close()
		file, _ := openAt(dir, filepath.Base(rel), unix.O_RDONLY)
		return file
	}
	x := open(l.Lower, g.rel)
	if x == nil {
		return false
	}
	defer x.Close()
	y := open(l.Upper, rel)
	if y == nil {
		return false
	}
	defer y.Close()
	return sameContent(x, y) && !new(step).compare(y, x)
}

// checkLinks returns an error if another process changed a file that gets another name.
func (k *mover) checkLinks() error {
	for _, r := range k.relinks {
		dir, err := k.open(dirKey{false, r.layer, filepath.Dir(r.from)})
		if err != nil {
			return ErrConflict
		}
		if st, ok := statAt(dir, filepath.Base(r.from)); !ok || !before(st.Ctim, k.Layers[r.layer].Start) {
			return ErrConflict
		}
	}
	return nil
}

// link links names in the uppers to files in the lowers. It changes nothing in the workspace. A name that can't be
// linked stays a separate file.
func (k *mover) link() {
	type place struct {
		layer int
		rel   string
	}
	if len(k.relinks) == 0 {
		return
	}
	moves := map[place]*step{}
	for i := range k.Steps {
		if s := &k.Steps[i]; s.Op == opCreate || s.Op == opExchange {
			moves[place{s.Layer, s.Rel}] = s
		}
	}
	k.Shared = map[uint64]bool{}
	for _, r := range k.relinks {
		st, err := k.relink(r)
		if err != nil {
			continue
		}
		k.Shared[st.Ino] = true
		if s := moves[place{r.layer, r.rel}]; s != nil {
			s.Upper = seeing(st)
		}
	}
}

func (k *mover) relink(r relink) (*unix.Stat_t, error) {
	from, err := k.open(dirKey{false, r.layer, filepath.Dir(r.from)})
	if err != nil {
		return nil, err
	}
	parent, err := openBelow(k.Layers[r.layer].Upper, filepath.Dir(r.rel))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	restore, err := loosened(parent, ".")
	if err != nil {
		return nil, err
	}
	defer restore()
	aside := filepath.Join(k.dir, "link")
	os.Remove(aside)
	if err := unix.Linkat(int(from.Fd()), filepath.Base(r.from), unix.AT_FDCWD, aside, 0); err != nil {
		return nil, err
	}
	defer os.Remove(aside)
	var was, st unix.Stat_t
	if err := unix.Fstat(int(parent.Fd()), &was); err != nil {
		return nil, err
	}
	if err := unix.Renameat(unix.AT_FDCWD, aside, int(parent.Fd()), filepath.Base(r.rel)); err != nil {
		return nil, err
	}
	unix.UtimesNanoAt(int(parent.Fd()), ".", []unix.Timespec{was.Atim, was.Mtim}, 0)
	return &st, unix.Fstatat(int(parent.Fd()), filepath.Base(r.rel), &st, unix.AT_SYMLINK_NOFOLLOW)
}
