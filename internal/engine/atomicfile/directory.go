package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// openDir is the open directory of a write, with the directories that were created for it.
type openDir struct {
	root  *os.Root
	names []string // created, outermost first
}

// openDirectory opens dir. With make, missing directories are created.
func openDirectory(dir string, make bool) (openDir, error) {
	root, err := nofollow.OpenDir(dir)
	if err == nil || !make {
		return openDir{root: root}, err
	}
	var missing []string
	at := dir
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		missing = append(missing, filepath.Base(at))
		at = filepath.Dir(at)
		root, err = nofollow.OpenDir(at)
	}
	if err != nil {
		return openDir{}, err
	}
	f := openDir{root: root}
	for i := len(missing) - 1; i >= 0; i-- {
		at = filepath.Join(at, missing[i])
		if err := f.enter(at, missing[i]); err != nil {
			f.close(true)
			return openDir{}, err
		}
	}
	return f, nil
}

// enter opens a subdirectory, and creates it if necessary. If another writer created it, it isn't removed later.
func (f *openDir) enter(path, name string) error {
	err := f.root.Mkdir(name, 0o777)
	switch {
	case err == nil:
		f.names = append(f.names, path)
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	next, err := nofollow.Enter(f.root, name)
	if err != nil {
		return err
	}
	f.root.Close()
	f.root = next
	return nil
}

// close closes the directory. After a failure it removes the directories that were created, unless they contain
// something else by now.
func (f *openDir) close(failed bool) {
	f.root.Close()
	if !failed {
		return
	}
	for i := len(f.names) - 1; i >= 0; i-- {
		parent, err := nofollow.OpenDir(filepath.Dir(f.names[i]))
		if err != nil {
			return
		}
		err = parent.Remove(filepath.Base(f.names[i]))
		parent.Close()
		if err != nil {
			return
		}
	}
}

// locked calls do with the directory's lock.
func (w *write) locked(do func() error) error {
	unlock, err := w.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// lock waits for the directory's lock, in its own thread: it can't be woken. If the wait is too long, that thread
// gives the lock back once it has it.
func (w *write) lock() (unlock func(), err error) {
	dir, err := w.dir.Open(".")
	if err != nil {
		return nil, err
	}
	if unlock, ok := lockDirectory(dir, false); ok {
		return func() { unlock(); dir.Close() }, nil
	}
	got, given := make(chan func()), make(chan struct{})
	go func() {
		unlock, _ := lockDirectory(dir, true)
		free := func() { unlock(); dir.Close() }
		select {
		case got <- free:
		case <-given:
			free()
		}
	}()
	wait := w.opts.Wait
	if wait == 0 {
		wait = time.Minute
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case free := <-got:
		return free, nil
	case <-timeout.C:
		close(given)
		return nil, fmt.Errorf("another writer has locked the directory for %v. Try again", wait)
	}
}

// The names of temporary files: prefix, process ID, random letters. They are hidden, and later writers recognize and
// remove leftovers.
const (
	tempPrefix = ".adze-"
	tempSuffix = ".tmp"
)

// IsTemp reports whether a name is that of a temporary file of this package, so that listings can omit it.
func IsTemp(name string) bool {
	_, ok := tempOwner(name)
	return ok
}

func tempOwner(name string) (pid string, ok bool) {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutSuffix(rest, tempSuffix); !ok {
		return "", false
	}
	pid, random, ok := strings.Cut(rest, "-")
	return pid, ok && len(random) == 16 && strings.Trim(pid, "0123456789") == "" &&
		strings.Trim(random, "0123456789abcdef") == ""
}
