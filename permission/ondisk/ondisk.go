// Package ondisk answers the questions of a policy about the disk, from the disk itself.
//
//	world := permission.World{Roots: roots, Home: home, Disk: ondisk.New(roots)}
//
// It resolves links, lists the names that a pattern matches, finds the programs that the configuration of a repository
// makes git run, and finds secret files that a search through a directory would read. It only reads, and runs nothing,
// not even git. A user waits for the answers: each takes a bounded time and looks at a bounded number of files, and
// beyond the bounds the answer is "not known", so that the policy asks. Within one decision nothing is looked up twice.
//
// It doesn't know the environment (GIT_DIR and the like).
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
	"time"

	"github.com/adze-dev/adze/internal/homedir"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
	"github.com/adze-dev/adze/internal/workspace/realpath"
	"github.com/adze-dev/adze/permission"
)

// New returns the disk for the policy of a workspace with these directories. Each call of the returned function is for
// one decision.
func New(roots []string) func() permission.Disk {
	d := open(options{
		roots: roots,
		// Harmless repositories have these, and no command that only reads a repository and prints into a pipe uses them.
		overruled: []string{"core.pager", "core.sshCommand", "core.askPass", "credential.helper"},
	})
	return func() permission.Disk { return d.now() }
}

// options are where the user's files are and how much an answer may cost.
type options struct {
	// roots are the directories of the workspace: a link in a searched directory may lead into them, and into the
	// directories of the system. Secret reports any other place that a link leads to.
	roots []string
	// home is what ~ means in a configuration; "": the user's home directory.
	home string
	// overruled are keys of git's configuration that git will be given other values for, such as "core.fsmonitor" or
	// "credential.*.helper": what a repository sets them to is not reported. A star stands for any subsection.
	overruled []string
	// patience is how long one answer may take, where there is more than a little to look at; 0: 20 ms.
	patience time.Duration
	// entries is how many names one answer may look at; 0: 20,000.
	entries int
}

// disk answers questions about the disk. It may be used by several goroutines at once, but for the one that now returns.
type disk struct {
	options   options
	home      string
	overruled map[string]bool
	memo      *memo // nil: nothing is cached
}

var _ permission.Disk = (*disk)(nil)

// open prepares answers; nothing is read before the first question.
func open(o options) *disk {
	if o.patience == 0 {
		o.patience = 20 * time.Millisecond
	}
	if o.entries == 0 {
		o.entries = 20_000
	}
	d := &disk{options: o, home: o.home, overruled: map[string]bool{}}
	if d.home == "" {
		d.home, _ = homedir.Dir() // without a home, ~ is not known, and Git reports that
	}
	for _, key := range o.overruled {
		d.overruled[splitKey(key).pattern()] = true
	}
	return d
}

// Resolve makes an absolute path canonical: links and .. are followed as the system would, also where the rest does
// not exist yet. A path that the system would refuse (a file in place of a directory, a name that is too long) is only
// cleaned of . and .., and one that is not absolute stays that way. What leads another process elsewhere than this one,
// as /proc/self/cwd does, is "*": not known. So is a path that a process could follow in several steps, but not in
// one: through too many links, or longer than the system takes.
func (d *disk) Resolve(path string) string {
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

// unnameable reports whether a name is longer than any file system's names.
func unnameable(name string) bool { return len(name) > 255 }

// budget is what is left of one answer's bounds.
type budget struct {
	began    time.Time
	patience time.Duration
	entries  int
	spent    int
}

func (d *disk) budget() *budget {
	return &budget{began: time.Now(), patience: d.options.patience, entries: d.options.entries}
}

// An answer that needs at most fewEntries may take fewTimes its Patience, a second by default: a busy machine can stop
// any program for longer than an answer should take.
const (
	fewEntries = 1000
	fewTimes   = 50
)

// spend takes n entries and reports whether the answer is still within its bounds.
func (b *budget) spend(n int) bool {
	b.spent += n
	patience := b.patience
	if b.spent <= fewEntries {
		patience *= fewTimes
	}
	return b.spent <= b.entries && time.Since(b.began) < patience
}

// errTooMuch says that the bounds were reached.
var errTooMuch = errors.New("too many files to check in time")

// chunk is how many names are read from a directory between two looks at the clock.
const chunk = 512

// list gives the entries of a directory, reached as the system would, to visit. It stops when visit returns false.
func (b *budget) list(dir string, visit func(os.DirEntry) bool) error {
	f, err := os.Open(dir + "/.") // a pipe in place of a directory would make the plain name wait
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

// read reads a regular file of at most max bytes, through links, and never waits for a pipe.
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

// Program returns the file that a shell runs for the name of a program, with links followed; "" if there is none. path is a
// PATH. A name with a slash is a path itself.
func (d *disk) Program(path, name string) string {
	files := []string{name}
	if !strings.Contains(name, "/") {
		files = nil
		for _, dir := range filepath.SplitList(path) {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, file := range files {
		if runs(file) {
			return d.Resolve(file)
		}
		if runtime.GOOS == "windows" && runs(file+".exe") {
			return d.Resolve(file + ".exe")
		}
	}
	return ""
}

// runs reports whether a file is there that may be executed. One that the user can't reach can't be run either.
func runs(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && (st.Mode()&0o111 != 0 || runtime.GOOS == "windows")
}

// now returns the disk for one decision: what one answer has looked up is cached for the next. It is for one goroutine.
func (d *disk) now() *disk {
	now := *d
	now.memo = &memo{folders: map[string]listing{}, absent: map[string]bool{}}
	return &now
}

// memo is what was looked at.
type memo struct {
	resolver realpath.Resolver
	folders  map[string]listing
	absent   map[string]bool // whether nothing is at a path
}

// listing is the whole of a directory, or why it cannot be listed.
type listing struct {
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

// list is budget.list, from memory where the directory was listed to its end.
func (m *memo) list(b *budget, dir string, visit func(os.DirEntry) bool) error {
	if m == nil {
		return b.list(dir, visit)
	}
	known, ok := m.folders[dir]
	if !ok {
		var all []os.DirEntry
		stopped := false
		err := b.list(dir, func(e os.DirEntry) bool {
			all = append(all, e)
			stopped = !visit(e)
			return !stopped
		})
		if !stopped && (err == nil || absent(err)) {
			m.folders[dir] = listing{all, err}
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
