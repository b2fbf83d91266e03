// Package ondisk answers the questions of a policy about the disk, from the disk itself.
//
//	world := permission.World{Roots: roots, Home: home, Disk: ondisk.New(roots)}
//
// It resolves links, and finds the programs that the configuration of a repository makes git run. It only reads, and
// runs nothing, not even git. An answer checks a bounded number of files, and the policy asks a bounded number of
// questions; beyond the bounds the answer is "not known", so that the policy asks the user.
//
// It doesn't know the environment, such as GIT_DIR.
package ondisk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
	"github.com/adze-dev/adze/permission"
)

// New returns the disk for the policy of a workspace with these directories. Each call of the returned function is for
// one decision.
func New(roots []string) func() permission.Disk {
	o := options{roots: roots, windows: runtime.GOOS == "windows"}
	return func() permission.Disk { return open(o) }
}

// options are the locations of the user's files.
type options struct {
	// roots are the directories of the workspace.
	roots []string
	// home is the value of ~ in a configuration; "": the user's home directory.
	home string
	// windows is set on Windows, where a path may be one of another machine.
	windows bool
}

// disk answers the questions of one decision. It is for one goroutine.
type disk struct {
	options  options
	home     string
	resolver realpath.Resolver
}

var _ permission.Disk = (*disk)(nil)

// open returns a disk. It reads nothing before the first question.
func open(o options) *disk {
	d := &disk{options: o, home: o.home}
	if d.home == "" {
		d.home, _ = homedir.Dir() // without a home directory ~ is unknown, and Git reports that
	}
	return d
}

// Resolve makes an absolute path canonical: it follows links and .. like the system, even if the rest doesn't exist
// yet. A path that the system would reject (a file in place of a directory, a name that is too long) is only cleaned of
// . and .., and a relative one stays relative. A path that differs between processes, such as /proc/self/cwd, is "*":
// unknown. So is a path that a process could follow in several steps but not in one: through too many links, or longer
// than the system allows.
func (d *disk) Resolve(path string) string {
	if d.remote(path) {
		return "*"
	}
	if !filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	abs, _, err := d.resolver.Resolve(path)
	switch {
	case err == nil:
		return abs
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG) &&
		slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return len(name) > 255 }):
		return filepath.Clean(path)
	}
	return "*"
}

// remote reports whether a path isn't on a drive of this machine.
func (d *disk) remote(path string) bool {
	return d.options.windows && names.Elsewhere(path, d.options.roots)
}

// errTooMuch reports that a limit was reached.
var errTooMuch = errors.New("too many files to check")

// read reads a regular file of at most max bytes. It follows links, and never blocks on a pipe.
func read(path string, max int64) ([]byte, error) {
	abs, _, err := realpath.Resolve(path)
	if err != nil {
		return nil, err
	}
	f, err := nofollow.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() <= max {
		data.Grow(int(info.Size()) + bytes.MinRead) // an index may have many megabytes
	}
	_, err = data.ReadFrom(io.LimitReader(f, max+1))
	if err == nil && int64(data.Len()) > max {
		err = errTooMuch
	}
	return data.Bytes(), err
}

// Exists reports whether there is something at a path.
func (d *disk) Exists(path string) bool {
	if !filepath.IsAbs(path) || d.remote(path) {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil || !absent(err)
}

// Repository looks at the directories above a path, up to the root of the workspace. Git prefers a .git, so that the
// files of a linked worktree in a bare repository are ordinary.
func (d *disk) Repository(path string) bool {
	root, ok := names.Within(path, d.options.roots)
	if !ok {
		return false
	}
	for dir := path; dir != root; {
		entry := filepath.Base(dir)
		dir = filepath.Dir(dir)
		exists := entriesOf(dir)
		if exists(".git") {
			return false
		}
		signs := names.GitSignsOf(func(name string) bool {
			return names.GitSign(name) == names.GitSign(entry) || exists(name)
		})
		if signs.Repository() {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}
