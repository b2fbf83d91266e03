package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/filelock"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// placeholders are the placeholders of one sandbox in one directory. A placeholder prevents a protected path that
// doesn't exist from being created: only existing paths can be mounted over. In a git directory it is a file that git
// treats like a missing one; elsewhere it is a socket, which git, compilers and searches ignore. It is recognized by
// its unusual mode. Sandboxes that need it lock the directory, and the last one removes it; the next sandbox there
// takes over what a killed process has left.
type placeholders struct {
	dir   *os.File // locked; nil: that failed
	paths []string
}

const (
	dirMark  = unix.S_IFDIR | 0o1500
	fileMark = unix.S_IFREG | 0o1400
	sockMark = unix.S_IFSOCK | 0o1400
)

// kindOf returns the type of a placeholder, and its content.
func kindOf(path string) (mark uint32, content string) {
	switch filepath.Base(path) {
	case "hooks", "info":
		return dirMark, ""
	case "commondir":
		return fileMark, ".\n" // the directory itself
	case "config", "config.worktree", "gitdir", "attributes", "alternates":
		return fileMark, ""
	}
	return sockMark, ""
}

// holdProtected finds the protected paths that exist, and creates placeholders for the others.
func (b *Box) holdProtected() {
	write := b.writable()
	roots := append(slices.Clone(b.spec.Roots), b.spec.Write...)
	real := map[string]string{}
	for _, path := range slices.Concat(b.spec.Protect, b.spec.unwritable()) {
		for _, r := range roots {
			rel, ok := names.Rel(path, r)
			if !ok {
				continue
			}
			if _, ok := real[r]; !ok {
				real[r], _ = filepath.EvalSymlinks(r)
			}
			if real[r] != "" {
				b.protectBelow(real[r], strings.Split(rel, "/"), write, 0)
				break
			}
		}
	}
	b.protectSockets(write)
	slices.Sort(b.protect)
	b.protect = slices.Compact(b.protect)
}

// protectSockets protects the sockets of other programs that still exist, by their resolved paths. Bubblewrap would
// create the directories again of a socket that is removed at this moment.
func (b *Box) protectSockets(write []string) {
	if b.Wrapped() {
		return
	}
	for _, path := range b.spec.HostSockets {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || holding(real, write) == "" {
			continue
		}
		if st, err := os.Lstat(real); err == nil && st.Mode()&os.ModeSocket != 0 {
			b.protect = append(b.protect, real)
		}
	}
}

// protectBelow walks down to a protected path. A link on the way is protected itself, and then its target; where the
// path ends early, what could be created there.
func (b *Box) protectBelow(at string, parts []string, write []string, links int) {
	for i, part := range parts {
		at = filepath.Join(at, part)
		if holding(at, write) == "" {
			return // out of reach anyway
		}
		st, err := os.Lstat(at)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if b.hold(at) {
				b.protect = append(b.protect, at)
			}
			return
		case err != nil: // it can't be read, but a command may change that
			if dir := filepath.Dir(at); slices.Contains(write, dir) {
				b.unprotected = fmt.Errorf("protect %s: %w", at, err)
			} else {
				b.protect = append(b.protect, dir)
			}
			return
		case st.Mode()&os.ModeSymlink != 0:
			b.protect = append(b.protect, at)
			real, err := filepath.EvalSymlinks(at)
			if err != nil {
				b.protectTarget(at, parts[i+1:], write, links)
				return
			}
			at = real
		}
		if i == len(parts)-1 {
			if marked(at) { // another sandbox's placeholder
				b.hold(at)
			}
			if holding(at, write) != "" {
				b.protect = append(b.protect, at)
			}
		}
	}
}

// protectTarget protects the target of a dangling link.
func (b *Box) protectTarget(link string, rest, write []string, links int) {
	const limit = 8
	target, err := os.Readlink(link)
	if err != nil || links == limit {
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	root := holding(target, write)
	rel, ok := names.Rel(target, root)
	if !ok || rel == "." {
		return
	}
	b.protectBelow(root, append(strings.Split(rel, "/"), rest...), write, links+1)
}

// hold creates a placeholder, or joins the sandboxes that hold it. It reports false if something else is there, or
// nothing can be created there, not even by a command.
func (b *Box) hold(path string) bool {
	dir := filepath.Dir(path)
	h := b.held[dir]
	if h == nil {
		h = &placeholders{dir: lockShared(dir)}
		if b.held == nil {
			b.held = map[string]*placeholders{}
		}
		b.held[dir] = h
	}
	mark, content := kindOf(path)
	if err := makePlaceholder(path, mark, content); err != nil && err != unix.EEXIST || !marked(path) {
		return false
	}
	h.paths = append(h.paths, path)
	return true
}

// lockShared locks a directory against the removal of placeholders. Another sandbox that is removing its own takes a
// moment. nil: a command holds the lock, so that none are removed.
func lockShared(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	for range 500 {
		if filelock.LockShared(f) == nil {
			return f
		}
		time.Sleep(time.Millisecond)
	}
	f.Close()
	return nil
}

// holds reports whether a path is a placeholder of the sandbox.
func (b *Box) holds(path string) bool {
	h := b.held[filepath.Dir(path)]
	return h != nil && slices.Contains(h.paths, path)
}

// makePlaceholder creates a placeholder with its mode: changing the mode of a path afterwards could change that of a
// directory which was created there meanwhile.
func makePlaceholder(path string, mark uint32, content string) error {
	switch mark & unix.S_IFMT {
	case unix.S_IFDIR:
		return unix.Mkdir(path, mark&0o7777)
	case unix.S_IFSOCK:
		return unix.Mknod(path, mark, 0)
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(content)); err != nil {
		return err
	}
	return unix.Fchmod(fd, mark&0o7777)
}

// marked reports whether a path is a placeholder.
func marked(path string) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Geteuid() {
		return false
	}
	mark, content := kindOf(path)
	if st.Mode&^unix.S_ISGID != mark { // a directory inherits that bit
		return false
	}
	if mark == dirMark {
		names, _ := os.ReadDir(path)
		return len(names) == 0
	}
	return st.Size == int64(len(content))
}

// release removes the placeholders, unless another sandbox still holds them.
func (h *placeholders) release() {
	if h.dir == nil && len(h.paths) > 0 { // the reason that prevented the lock may be gone
		h.dir, _ = os.Open(filepath.Dir(h.paths[0]))
	}
	if h.dir == nil {
		return
	}
	defer filelock.Close(h.dir)
	if filelock.Lock(h.dir) != nil {
		return
	}
	for _, path := range h.paths {
		if marked(path) {
			os.Remove(path)
		}
	}
}
