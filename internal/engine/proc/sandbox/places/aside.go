package places

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// repositories are the git repositories of a workspace: .git directories, files and links of that name, and
// directories with the entries of one. Git runs the programs that their settings and hooks name, for everyone who
// enters them.
type repositories struct {
	mu    sync.Mutex
	seen  map[string]bool // by the last walk before a command
	known map[string]bool // not created by a sandboxed command, or approved
}

func (r *repositories) saw(w walked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = map[string]bool{}
	for _, p := range w.parts() {
		r.seen[p.path] = true
	}
}

// part is what makes git take a directory for a repository: a .git, or the HEAD of another directory. There, a file
// that git obeys is one too; of is the HEAD. In a .git, these are protected even if they don't exist.
type part struct{ path, of string }

func (w *walked) parts() (out []part) {
	for _, dir := range w.repositories {
		if names.IsGit(filepath.Base(dir)) {
			out = append(out, part{path: dir})
			continue
		}
		head := headOf(dir)
		out = append(out, part{path: head})
		for _, path := range obeyedIn(dir) {
			out = append(out, part{path, head})
		}
	}
	for _, path := range w.links {
		out = append(out, part{path: path})
	}
	return out
}

// obeyedIn returns the files that git obeys in a repository outside of a .git, if they exist.
func obeyedIn(dir string) []string {
	if strings.Contains(dir+"/", "/.git/") {
		return nil
	}
	return slices.DeleteFunc(gitObeys(dir, ""), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// Settle makes the repositories that the last Spec found known, so that Aside doesn't move them. The caller knows
// that no sandboxed command has run since they were created.
func (b *Base) Settle() {
	r := &b.repositories
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = r.seen
}

// unknown returns the parts of repositories that appeared, outermost first. Those at or below approved paths become
// known.
func (b *Base) unknown(found walked, approved []string) (out []string) {
	r := &b.repositories
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]bool{}
	}
	for _, p := range found.parts() {
		switch {
		case r.known[p.path]:
		case slices.ContainsFunc(approved, func(a string) bool { return names.Below(p.path, a) }):
			r.known[p.path] = true
		case p.of == "" || r.known[p.of]: // without a HEAD, the rest is ordinary
			out = append(out, p.path)
		}
	}
	out = slices.DeleteFunc(out, func(path string) bool { return r.obeysKnown(path, b.git) })
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
	return out
}

// obeysKnown reports whether git obeys the settings and hooks of a known repository in a path: in a linked worktree,
// or in the repository's directory for one. A file with a further name could be changed later.
func (r *repositories) obeysKnown(path string, outside []string) bool {
	known := func(dir string) bool { return r.known[dir] || r.known[dir+"/HEAD"] || slices.Contains(outside, dir) }
	if filepath.Base(path) == "HEAD" {
		path = filepath.Dir(path)
	}
	if names.IsGit(filepath.Base(path)) && singleFile(path) {
		if path = gitFile(path); known(path) {
			return true
		}
	}
	common, kind := filepath.Dir(filepath.Dir(path)), filepath.Base(filepath.Dir(path))
	_, err := os.Lstat(filepath.Join(path, "config.worktree"))
	return kind == "worktrees" && known(common) && singleFile(filepath.Join(path, "commondir")) &&
		gitconfig.Text(filepath.Join(path, "commondir")) == "../.." && errors.Is(err, fs.ErrNotExist)
}

// Aside moves repositories that sandboxed commands created, and that the user did not approve, to archives in dir,
// where git doesn't find them: a .git with all its content, the HEAD of other directories, without which git doesn't
// take them for a repository, and what git obeys in one that was there. It returns what it did, in sentences.
func (b *Base) Aside(dir string, approved ...string) (notes []string) {
	found := b.tree.walkAll()
	defer found.restore()
	var moved []string
	for _, path := range b.unknown(found, approved) {
		if slices.ContainsFunc(moved, func(m string) bool { return names.Below(path, m) }) {
			continue
		}
		note := "A command created " + path + ", which makes git run programs that settings and hooks name. "
		switch to, err := b.moveAside(path, dir); {
		case err == nil:
			note += "The user did not approve that, so it was moved to " + to + "."
		case to != "":
			note += fmt.Sprintf("The user did not approve that, so it was renamed to %s: %v.", to, err)
		case errors.Is(err, fs.ErrNotExist):
			continue
		default:
			note += fmt.Sprintf("The user did not approve that, but it could not be moved: %v. Don't run git there.",
				err)
		}
		if moved = append(moved, path); len(moved) <= maxMoved {
			notes = append(notes, note)
		}
	}
	if n := len(moved) - maxMoved; n > 0 {
		notes = append(notes, fmt.Sprintf("It created %d more, which were moved to %s too.", n, dir))
	}
	return notes
}

// maxMoved is the maximum number of paths that are reported one by one.
const maxMoved = 10

// headOf returns the HEAD of a directory, which may have another case.
func headOf(dir string) string {
	path := filepath.Join(dir, "HEAD")
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if names.GitSign(e.Name()) == names.GitSign("HEAD") {
			return filepath.Join(dir, e.Name())
		}
	}
	return path
}

// maxAside is the maximum size of an archive. What is larger is renamed.
const maxAside = 1 << 30

// moveAside moves a file, a link or a git directory to an archive in dir, and returns its path. If that fails, it
// returns where it is now: it has another name, and git doesn't take it for a repository.
func (b *Base) moveAside(path, dir string) (to string, err error) {
	root, err := b.tree.open(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer root.Close()
	m := mover{root: root, base: filepath.Base(path)}
	m.at = fmt.Sprintf("%s.aside-%d", m.base, time.Now().UnixNano())
	if err := root.Rename(m.base, m.at); err != nil {
		return "", err
	}
	_ = root.Rename(filepath.Join(m.at, "HEAD"), filepath.Join(m.at, headAside))
	if to, err = m.pack(dir); err != nil {
		return filepath.Join(filepath.Dir(path), m.at), err
	}
	return to, root.RemoveAll(m.at)
}

const headAside = "HEAD.aside"

// mover writes an archive.
type mover struct {
	root     *os.Root
	base, at string // the old and the new name
	tar      *tar.Writer
	size     int64
}

func (m *mover) pack(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, time.Now().Format("20060102-150405-*.tar"))
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	m.tar = tar.NewWriter(f)
	st, err := m.root.Lstat(m.at)
	switch {
	case err != nil:
	case st.IsDir():
		err = fs.WalkDir(m.root.FS(), m.at, m.add)
	default:
		err = m.add(m.at, fs.FileInfoToDirEntry(st), nil)
	}
	if err != nil {
		return "", err
	}
	return f.Name(), m.tar.Close()
}

// add adds one file. Sockets, pipes and devices are omitted.
func (m *mover) add(path string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	st, err := e.Info()
	if err != nil {
		return err
	}
	target := ""
	switch kind := st.Mode().Type(); {
	case kind == fs.ModeSymlink:
		if target, err = m.root.Readlink(path); err != nil {
			return err
		}
	case kind == fs.ModeDir && st.Mode().Perm()&0o700 != 0o700, kind == 0 && st.Mode().Perm()&0o400 == 0:
		if err := m.root.Chmod(path, 0o700); err != nil {
			return err
		}
	case kind != 0 && kind != fs.ModeDir:
		return nil
	}
	header, err := tar.FileInfoHeader(st, target)
	if err != nil {
		return err
	}
	header.Name = m.base + strings.TrimPrefix(path, m.at)
	if header.Name == m.base+"/"+headAside {
		header.Name = m.base + "/HEAD"
	}
	if m.size += header.Size; m.size > maxAside {
		return fmt.Errorf("it has over %d MB", maxAside>>20)
	}
	if err := m.tar.WriteHeader(header); err != nil || header.Size == 0 {
		return err
	}
	return m.content(path, header.Size)
}

func (m *mover) content(path string, size int64) error {
	f, err := m.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return errors.Join(err, errors.New("it is being changed"))
	}
	_, err = io.CopyN(m.tar, f, size)
	return err
}
