// Package disk tells what the words of a shell command lead to: paths made canonical, globs listed, the programs that
// a repository's own configuration would make git run, and secrets that a search through a folder would read.
//
//	d := disk.New(disk.Options{Roots: []string{"/home/me/app"}})
//	program, known := d.Git("/home/me/app") // "./watch.sh (core.fsmonitor)", true
//
// It answers while a user waits: each answer takes a bounded time and looks at a bounded number of files, and
// beyond the bounds it is the careful one. It runs nothing, not even git, and remembers nothing, so that an answer is
// about the disk as it is now; only [Disk.Now] does, for a moment. It judges no command: package permission does, and asks.
//
// Two things it does not know: the environment (GIT_DIR and the like) and a file system that does not answer.
package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/homedir"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// Options says where the person's things are and how much an answer may cost.
type Options struct {
	// Roots are the workspace's folders: a link inside a searched folder may lead into them, and into the system's
	// folders. Any other place that a link leads to is told by Secret.
	Roots []string
	// Home is what ~ means in a configuration; "": the person's home folder.
	Home string
	// Overruled are keys of git's configuration that git will be given other values for, such as "core.fsmonitor" or
	// "credential.*.helper": what a repository says about them is not told. A star stands for any subsection.
	Overruled []string
	// Patience is how long one answer may take, where there is more than a little to look at; 0: 20 ms.
	Patience time.Duration
	// Entries is how many names one answer may look at; 0: 20,000.
	Entries int
}

// Disk answers questions about the disk. It may be used by several goroutines at once.
type Disk struct {
	options   Options
	home      string
	overruled map[string]bool
	memo      *memo // nil: nothing is remembered
}

// New prepares answers; nothing is read before the first question.
func New(o Options) *Disk {
	if o.Patience == 0 {
		o.Patience = 20 * time.Millisecond
	}
	if o.Entries == 0 {
		o.Entries = 20_000
	}
	d := &Disk{options: o, home: o.Home, overruled: map[string]bool{}}
	if d.home == "" {
		d.home, _ = homedir.Dir() // without a home, ~ is not known, and Git says so
	}
	for _, key := range o.Overruled {
		d.overruled[splitKey(key).pattern()] = true
	}
	return d
}

// Resolve makes an absolute path canonical: links and .. are followed as the system would, also where the rest does
// not exist yet. A path that the system would refuse (a file in the place of a folder, a name that is too long) is only
// cleaned of . and .., and one that is not absolute stays that way. What leads another process elsewhere than this one,
// as /proc/self/cwd does, is "*": nobody knows. So is a path that a process could follow in several steps, but not in
// one: through too many links, or longer than the system takes.
func (d *Disk) Resolve(path string) string {
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

func (d *Disk) budget() *budget {
	return &budget{began: time.Now(), patience: d.options.Patience, entries: d.options.Entries}
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

// chunk is how many names are read from a folder between two looks at the clock.
const chunk = 512

// list gives the entries of a folder, reached as the system would, to visit. It stops when visit returns false.
func (b *budget) list(dir string, visit func(os.DirEntry) bool) error {
	f, err := os.Open(dir + "/.") // a pipe in the place of a folder would make the plain name wait
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
