// Package ondisk answers the questions of a policy about the disk, from the disk itself.
//
//	world := permission.World{Roots: roots, Home: home, Disk: ondisk.New(roots)}
//
// It resolves links, lists the names that a pattern matches, and finds the programs that the configuration of a repository
// makes git run. It only reads, and runs nothing, not even
// git. Each answer, and all answers of one decision, check a bounded number of files; beyond the bounds the answer is "not known",
// so that the policy asks. Within one decision nothing is looked up twice.
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

	"github.com/adze-dev/adze/internal/homedir"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
	"github.com/adze-dev/adze/internal/workspace/realpath"
	"github.com/adze-dev/adze/permission"
)

// New returns the disk for the policy of a workspace with these directories. Each call of the returned function is for
// one decision.
func New(roots []string) func() permission.Disk {
	d := open(options{roots: roots, windows: runtime.GOOS == "windows"})
	return func() permission.Disk { return d.now() }
}

// options are the locations of the user's files and the limits of an answer.
type options struct {
	// roots are the directories of the workspace.
	roots []string
	// home is the value of ~ in a configuration; "": the user's home directory.
	home string
	// windows is set on Windows, where a path may be one of another machine.
	windows bool
	// entries bounds the number of names that one answer checks; 0: 20,000.
	entries int
}

// disk answers questions about the disk. It is safe for concurrent use, except for the one that now returns.
type disk struct {
	options options
	home    string
	memo    *memo // nil: nothing is cached
}

var _ permission.Disk = (*disk)(nil)

// open returns a disk. It reads nothing before the first question.
func open(o options) *disk {
	if o.entries == 0 {
		o.entries = 20_000
	}
	d := &disk{options: o, home: o.home}
	if d.home == "" {
		d.home, _ = homedir.Dir() // without a home directory ~ is unknown, and Git reports that
	}
	return d
}

// Resolve makes an absolute path canonical: it follows links and .. like the system, even if the rest doesn't exist yet. A
// path that the system would reject (a file in place of a directory, a name that is too long) is only cleaned of . and ..,
// and a relative one stays relative. A path that differs between processes, such as /proc/self/cwd, is "*": unknown. So is a
// path that a process could follow in several steps but not in one: through too many links, or longer than the system
// allows.
func (d *disk) Resolve(path string) string {
	if d.remote(path) {
		return "*"
	}
	if !filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	abs, _, err := d.memo.resolve(path)
	switch {
	case err == nil:
		return abs
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG) && slices.ContainsFunc(strings.Split(path, "/"), unnameable):
		return filepath.Clean(path)
	}
	return "*"
}

// remote reports whether a path names another machine that isn't part of the workspace: looking at //server/share connects
// to the server, and logs in there.
func (d *disk) remote(path string) bool {
	slashed := func(path string) string { return strings.ToLower(strings.ReplaceAll(path, `\`, "/")) }
	path = slashed(path)
	return d.options.windows && strings.HasPrefix(path, "//") && !slices.ContainsFunc(d.options.roots, func(root string) bool {
		return strings.HasPrefix(path+"/", slashed(root)+"/")
	})
}

// unnameable reports whether a name is longer than file systems allow.
func unnameable(name string) bool { return len(name) > 255 }

// budget is the remaining part of an answer's limits.
type budget struct {
	left     int
	decision *int // what all answers of a decision have left
}

// maxAnswers is how many answers of one decision may be as large as an answer may be.
const maxAnswers = 10

func (d *disk) budget() *budget {
	b := &budget{left: d.options.entries}
	if d.memo != nil {
		b.decision = &d.memo.left
	}
	return b
}

// spend uses n entries and reports whether the answer is still within its limits.
func (b *budget) spend(n int) bool {
	b.left -= n
	if b.decision == nil {
		return b.left >= 0
	}
	*b.decision -= n
	return b.left >= 0 && *b.decision >= 0
}

// errTooMuch reports that a limit was reached.
var errTooMuch = errors.New("too many files to check")

// chunk is the number of names read from a directory between two checks of the limit.
const chunk = 512

// list calls visit with the entries of a directory until it returns false. It follows links like the system.
func (b *budget) list(dir string, visit func(os.DirEntry) bool) error {
	f, err := os.Open(dir + "/.") // without the dot, opening a pipe in place of a directory would block
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(chunk)
		if !b.spend(len(entries)) {
			return errTooMuch
		}
		for _, e := range entries {
			if !visit(e) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

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
	return filepath.IsAbs(path) && !d.remote(path) && !d.memo.isAbsent(path)
}

// now returns the disk for one decision, which caches what it looks up. It is for one goroutine.
func (d *disk) now() *disk {
	now := *d
	now.memo = &memo{left: maxAnswers * d.options.entries, directories: map[string]dirListing{}, absent: map[string]bool{}}
	return &now
}

// memo is the cache of one decision.
type memo struct {
	left        int // entries that the decision may still check
	resolver    realpath.Resolver
	directories map[string]dirListing
	absent      map[string]bool // whether a path doesn't exist
}

// dirListing is the content of a directory, or why it can't be listed.
type dirListing struct {
	entries []os.DirEntry
	err     error
}

func (m *memo) resolve(path string) (abs string, exists bool, err error) {
	if m == nil {
		return new(realpath.Resolver).Resolve(path)
	}
	return m.resolver.Resolve(path)
}

func (m *memo) isAbsent(path string) bool {
	if m == nil {
		_, err := os.Lstat(path)
		return err != nil && absent(err)
	}
	is, known := m.absent[path]
	if !known {
		_, err := os.Lstat(path)
		is = err != nil && absent(err)
		m.absent[path] = is
	}
	return is
}

// list is budget.list with a cache of completely listed directories.
func (m *memo) list(b *budget, dir string, visit func(os.DirEntry) bool) error {
	if m == nil {
		return b.list(dir, visit)
	}
	known, ok := m.directories[dir]
	if !ok {
		var all []os.DirEntry
		stopped := false
		err := b.list(dir, func(e os.DirEntry) bool {
			all = append(all, e)
			stopped = !visit(e)
			return !stopped
		})
		if !stopped && (err == nil || absent(err)) {
			m.directories[dir] = dirListing{all, err}
		}
		return err
	}
	if !b.spend(len(known.entries)) {
		return errTooMuch
	}
	for _, e := range known.entries {
		if !visit(e) {
			return nil
		}
	}
	return known.err
}
