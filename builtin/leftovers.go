package builtin

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/leftover"
)

// leftovers records what a session leaves if it is killed, and removes what killed ones left.
type leftovers struct {
	log   *leftover.Log // nil: nothing is recorded
	swept chan struct{}
}

// newLeftovers starts to remove what killed sessions left. Usually there is nothing: then it only reads a directory.
func newLeftovers(o Options) *leftovers {
	l := &leftovers{swept: make(chan struct{})}
	if o.State == "" || o.Imagined {
		close(l.swept)
		return l
	}
	dir := filepath.Join(o.State, "leftovers")
	l.log = leftover.Open(dir)
	if entries, _ := os.ReadDir(dir); len(entries) == 0 {
		close(l.swept)
		return l
	}
	go func() {
		defer close(l.swept)
		leftover.Sweep(dir, removeLeftover)
	}()
	return l
}

// removeLeftover removes what a killed session left.
func removeLeftover(kind leftover.Kind, path string) (gone bool) {
	switch {
	case kind == leftover.Files:
		return atomicfile.Sweep(path)
	case kind == leftover.Batch && strings.HasPrefix(filepath.Base(path), batchPrefix):
		return atomicfile.Recover(path)
	case kind == leftover.Tree && strings.HasPrefix(filepath.Base(path), cachePrefix):
		return leftover.RemoveOwn(path)
	}
	return true // of another version
}

// writing records that a file in a directory is about to be written.
func (l *leftovers) writing(dir string) {
	_ = l.log.Add(leftover.Files, dir) // without it, a later write there removes temporary files
}

// batch returns a new directory for the old contents of files, which a later session restores if this one is killed.
func (l *leftovers) batch(state string) string {
	dir := filepath.Join(state, batchPrefix+rand.Text())
	if state == "" || l.log == nil || l.log.Add(leftover.Batch, dir) != nil {
		return ""
	}
	return dir
}

// The prefixes of directories with the old contents of files that a patch changes, and of caches.
const (
	batchPrefix = "patch-"
	cachePrefix = "adze-cache-"
)

// makeCache creates the directory of caches of a session, and returns its path without links.
func (l *leftovers) makeCache() (string, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(temp, cachePrefix+rand.Text())
	_ = l.log.Add(leftover.Tree, dir) // without it, a killed session leaves it
	return dir, os.Mkdir(dir, 0o700)
}

// close waits until everything is removed.
func (l *leftovers) close() error {
	<-l.swept
	return l.log.Close()
}
