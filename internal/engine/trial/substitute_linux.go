package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// A command sees some files differently: git's configuration without credentials. In a layer such a copy is in the
// upper before the command starts, so that programs can replace the file; a mount point can't be replaced. Afterwards a
// changed copy gives the new content of the file.

// Substitute lets the command see other texts in place of files. Those that are in no layer are returned, for Spec. It
// is called before Spec.
func (t *Trial) Substitute(list []Substitute) (others []sandbox.Cover, err error) {
	for _, s := range list {
		i, rel, ok := t.find(s.Path)
		if !ok {
			others = append(others, sandbox.Cover{Path: s.Path, As: sandbox.Replaced, Text: string(s.Text)})
			continue
		}
		switch err := t.plant(i, rel, s); {
		case errors.Is(err, fs.ErrNotExist): // it was deleted meanwhile
		case err != nil:
			return nil, fmt.Errorf("start a trial: %s: %w", s.Path, err)
		default:
			t.substitutes = append(t.substitutes, s)
		}
	}
	return others, nil
}

// plant creates a copy in an upper, and the directories above it, with the metadata of those in the lower.
func (t *Trial) plant(layer int, rel string, s Substitute) (err error) {
	lower, upper := t.layers[layer].Lower, t.layers[layer].Upper
	if _, err := os.Lstat(filepath.Join(lower, rel)); err != nil {
		return err
	}
	var made []string // the innermost first
	defer func() {
		for i := 0; err != nil && i <= len(made); i++ {
			os.Remove(filepath.Join(upper, append([]string{rel}, made...)[i]))
		}
	}()
	for dir := range parents(rel) {
		switch err := os.Mkdir(filepath.Join(upper, dir), 0o700); {
		case err == nil:
			made = append([]string{dir}, made...)
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(upper, rel), s.Text, 0o600); err != nil {
		return err
	}
	for _, name := range append([]string{rel}, made...) { // a directory after its content, which changes its time
		if err := copyMeta(filepath.Join(lower, name), filepath.Join(upper, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyMeta copies owner, attributes, mode and times.
func copyMeta(from, to string) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: from, Err: err}
	}
	if os.Getuid() == 0 {
		if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	copyAttributes(from, to)
	if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
		return &fs.PathError{Op: "chmod", Path: to, Err: err}
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// substituted returns the substitute of a path.
func (t *Trial) substituted(path string) (Substitute, bool) {
	i := slices.IndexFunc(t.substitutes, func(s Substitute) bool { return s.Path == path })
	if i < 0 {
		return Substitute{}, false
	}
	return t.substitutes[i], true
}

// original gives a changed copy the content that the file would have if the command had seen it. It returns the
// metadata of the upper afterwards.
func (p *pair) original(name string, s Substitute) (*unix.Stat_t, error) {
	changed, err := readAt(p.upper, name)
	if err != nil {
		return nil, err
	}
	real, err := readAt(p.lower, name)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(real, s.Real) { // its copy is of an older version
		if bytes.Equal(changed, s.Text) {
			return p.rewrite(name, real)
		}
		p.f.Conflicts = append(p.f.Conflicts, p.path(name))
		return p.rewrite(name, real)
	}
	text := s.Real
	if !bytes.Equal(changed, s.Text) {
		if text, err = s.Merge(changed); err != nil {
			return nil, err
		}
	}
	return p.rewrite(name, text)
}

// rewrite replaces a file in the upper by one with another content. Other names of the old one keep its content.
func (p *pair) rewrite(name string, text []byte) (*unix.Stat_t, error) {
	path := p.above(name)
	if err := rewrite(path, text); err != nil {
		return nil, err
	}
	st, ok := statAt(p.upper, name)
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return st, nil
}

func rewrite(path string, text []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), ".adze-")
	if err != nil {
		return err
	}
	_, err = fresh.Write(text)
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = copyMeta(path, fresh.Name())
	}
	if err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		os.Remove(fresh.Name())
	}
	return err
}

func readAt(dir *os.File, name string) ([]byte, error) {
	f, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MostContent))
}

// restored gives a copy of a substitute that is git's configuration in a new directory its content, as if the command
// had moved or copied the file. Elsewhere it stays as the command saw it.
func (f *found) restored(path, above string, st *unix.Stat_t) *unix.Stat_t {
	base := filepath.Base(path)
	config := strings.Contains(path, "/.git/") && (base == "config" || base == "config.worktree")
	if !config || len(f.t.substitutes) == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > MostContent {
		return st
	}
	text, err := os.ReadFile(above)
	if err != nil {
		return st
	}
	for _, s := range f.t.substitutes {
		if merged, err := s.Merge(text); err == nil {
			var now unix.Stat_t
			if !bytes.Equal(merged, text) && rewrite(above, merged) == nil && unix.Lstat(above, &now) == nil {
				return &now
			}
			break
		}
	}
	return st
}
