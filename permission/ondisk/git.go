package ondisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// Git returns a program that the repository around dir would make git run, by its own configuration or that of a submodule.
// The user's and the system's configuration may name any program, except by a relative path, which would be in the
// repository. known is false if that couldn't be determined, and also if the repository would make git read files elsewhere
// (core.worktree) or print lines of a secret file.
func (d *disk) Git(dir string) (program string, known bool) {
	r := &repoReader{disk: d, budget: d.budget(), seen: map[string]bool{}}
	err := r.around(dir)
	for _, file := range []string{"/etc/gitconfig", d.home + "/.gitconfig", d.home + "/.config/git/config"} {
		if err == nil {
			err = (&configReader{repoReader: r, own: true}).file(file, 0)
		}
	}
	var found *programError
	if errors.As(err, &found) {
		return found.program, true
	}
	return "", err == nil
}

// programError stops reading a repository: a program was found.
type programError struct{ program string }

func (e *programError) Error() string { return "git is configured to run " + e.program }

// Limits of one answer. Git has the same limit on nested includes.
const (
	maxConfig   = 1 << 20
	maxIndex    = 32 << 20
	maxPointer  = 8 << 10
	maxIncludes = 10
	fileCost    = 20 // a file counts as this many names
)

// repoReader reads one repository and its submodules.
type repoReader struct {
	disk   *disk
	budget *budget
	seen   map[string]bool                              // repositories that were read
	index  func(gitDir, top string, hashSize int) error // nil: only submodules matter
	lax    bool                                         // programs that git would run don't matter
}

// around finds the repository that git would use in dir, like git: in each directory from dir upwards, first .git, then the
// directory itself, which may be a bare repository.
func (r *repoReader) around(dir string) error {
	at, _, err := realpath.Resolve(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return fmt.Errorf("find the repository around %s: not a directory", dir)
	}
	for {
		if !r.budget.spend(fileCost) {
			return errTooMuch
		}
		switch found, err := r.in(at); {
		case err != nil || found:
			return err
		case looksBare(at):
			return r.repository(at, "")
		}
		up := filepath.Dir(at)
		if up == at {
			return nil
		}
		at = up
	}
}

// Worktree returns the top of the working tree of the repository that git would use in dir, a resolved directory; "" if
// there is none, or the repository is bare. known is false if that couldn't be determined. Git reports whether the
// configuration moves the working tree.
func (d *disk) Worktree(dir string) (top string, known bool) {
	b := d.budget()
	for at := dir; filepath.IsAbs(dir) && b.spend(fileCost); at = filepath.Dir(at) {
		switch _, err := os.Lstat(filepath.Join(at, ".git")); {
		case err == nil:
			return at, true
		case !absent(err):
			return "", false
		case at == filepath.Dir(at), looksBare(at):
			return "", true
		}
	}
	return "", false
}

// in reads the repository whose .git is in top, if there is one.
func (r *repoReader) in(top string) (found bool, err error) {
	name := filepath.Join(top, ".git")
	if _, err := os.Lstat(name); err != nil {
		if absent(err) {
			return false, nil
		}
		return true, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return true, err
	}
	if info.IsDir() {
		return true, r.repository(name, top)
	}
	text, err := read(name, maxPointer)
	if err != nil {
		return true, err
	}
	target, ok := strings.CutPrefix(string(text), "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" || strings.ContainsAny(target, "\x00\n") {
		return true, fmt.Errorf("%s does not say where the repository is", name)
	}
	return true, r.repository(below(top, target), top)
}

// absent reports whether an error means that a path doesn't exist, including a file in place of a parent directory.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// below returns a path as written in a file of dir. It is not cleaned: the system follows links.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// looksBare reports whether git may use a directory itself as a repository.
func looksBare(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// repository reads the repository in gitDir, whose files are in top; "" if it is bare. A repository that git may not accept
// is an error: git would continue above it.
func (r *repoReader) repository(gitDir, top string) error {
	abs, _, err := realpath.Resolve(gitDir)
	if err != nil {
		return err
	}
	if r.seen[abs] {
		return nil
	}
	r.seen[abs] = true
	common, shared := gitDir, false
	switch text, err := read(gitDir+"/commondir", maxPointer); {
	case err == nil:
		common, shared = below(gitDir, strings.TrimRight(string(text), "\r\n")), true
	case !absent(err):
		return err
	}
	if err := valid(gitDir, common); err != nil {
		return err
	}
	c := &configReader{repoReader: r, top: top}
	if err := c.all(gitDir, common, shared); err != nil {
		return err
	}
	if c.worktree != "" && !c.sameDirectory(gitDir, top) {
		return fmt.Errorf("%s: the files of the repository are elsewhere, in %s", gitDir, c.worktree)
	}
	if err := r.belongs(abs, common, top, c.worktree != ""); err != nil {
		return err
	}
	if err := r.hooks(common); err != nil {
		return err
	}
	if err := r.links(common, top); err != nil {
		return err
	}
	if r.index != nil {
		return r.index(gitDir, top, c.hashSize)
	}
	return r.submodules(gitDir, top, c.hashSize)
}

// belongs returns an error if a repository may belong to another directory: it is elsewhere and doesn't know top, or has its
// objects elsewhere. Then git would show files outside the workspace.
func (r *repoReader) belongs(abs, common, top string, knows bool) error {
	if top == "" {
		return nil
	}
	roots := append([]string{top}, r.disk.options.roots...)
	if _, inside := names.Within(abs, roots); !inside && !knows {
		text, err := read(abs+"/gitdir", maxPointer) // a linked working tree, which the repository lists
		back, _, err2 := realpath.Resolve(below(abs, strings.TrimRight(string(text), "\r\n")))
		if err != nil || err2 != nil || back != filepath.Join(top, ".git") {
			return fmt.Errorf("%s: the repository is not that of %s", abs, top)
		}
	}
	home, _, err := realpath.Resolve(common)
	if err != nil {
		return err
	}
	own := func(path string) bool {
		real, _, err := realpath.Resolve(path)
		_, inside := names.Within(real, append(roots, home))
		return err == nil && inside
	}
	if !own(common+"/objects") || !own(common+"/refs") {
		return fmt.Errorf("%s: its objects are elsewhere", common)
	}
	text, err := read(common+"/objects/info/alternates", maxPointer)
	if err != nil && !absent(err) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && line[0] != '#' && !own(below(common+"/objects", line)) {
			return fmt.Errorf("%s takes objects from %s", common, line)
		}
	}
	return nil
}

// mostGitNames bounds the number of names in a git directory that are checked.
const mostGitNames = 4000

// links returns an error for a link in a git directory that leads out of it and of the workspace: git would print its
// target. belongs checks objects.
func (r *repoReader) links(common, top string) error {
	home, _, err := realpath.Resolve(common)
	if err != nil {
		return err
	}
	roots := append([]string{home}, r.disk.options.roots...)
	if top != "" {
		roots = append(roots, top)
	}
	left := mostGitNames
	return filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			return errTooMuch
		}
		switch {
		case err != nil:
			return err
		case e.IsDir() && path == filepath.Join(home, "objects"):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink == 0:
			return nil
		}
		real, _, err := realpath.Resolve(path)
		if _, secret := names.Secret(real); err != nil || secret {
			return fmt.Errorf("%s is a link to what may be secret", path)
		}
		if _, inside := names.Within(real, roots); !inside {
			return fmt.Errorf("%s is a link that leads outside the workspace", path)
		}
		return nil
	})
}

// hooks reports the one hook that read-only commands may run: status and diff refresh the index.
func (r *repoReader) hooks(common string) error {
	if r.disk.overruled["core.hookspath"] || r.lax {
		return nil
	}
	hook := common + "/hooks/post-index-change"
	if _, err := os.Lstat(hook); !absent(err) {
		return &programError{filepath.Clean(hook)}
	}
	return nil
}

// valid returns an error if git doesn't accept a directory as a repository. It is stricter than git, which continues above a
// directory that it may not enter, so a dot follows each name.
func valid(gitDir, common string) error {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(common + "/" + name + "/."); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a complete repository: no directory %s", common, name)
		}
	}
	if target, err := os.Readlink(gitDir + "/HEAD"); err == nil && strings.HasPrefix(target, "refs/") {
		return nil
	}
	head, err := read(gitDir+"/HEAD", maxPointer)
	if err != nil {
		return err
	}
	if ref, ok := strings.CutPrefix(string(head), "ref: "); ok && strings.HasPrefix(ref, "refs/") {
		return nil
	}
	id := strings.TrimRight(string(head), "\r\n")
	if (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == "" {
		return nil
	}
	return fmt.Errorf("%s is not a complete repository: HEAD names no branch and no commit", gitDir)
}

// submodules reads the repositories of submodules, because status and diff run git in them.
func (r *repoReader) submodules(gitDir, top string, hashSize int) error {
	if top == "" {
		return nil
	}
	paths, err := gitlinks(gitDir, hashSize)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if !r.budget.spend(fileCost) {
			return errTooMuch
		}
		if !filepath.IsLocal(p) {
			return fmt.Errorf("%s: a submodule at %s", gitDir, p)
		}
		if _, err := r.in(filepath.Join(top, p)); err != nil {
			return err
		}
	}
	return nil
}
