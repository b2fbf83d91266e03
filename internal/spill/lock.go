package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// take makes a session's folder and marks it as in use. Runs of one session share the mark; Clean takes it for itself
// and moves the folder away before it lets go, so a mark counts only if it is still the one in the folder.
func take(dir string) (*os.Root, *os.File, error) {
	const tries = 100 // each one lost to a Clean that came in between
	var err error
	for range tries {
		if err = os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
		var root *os.Root
		var lock *os.File
		root, lock, err = openLock(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if err = lockShared(lock); err == nil && held(lock, dir) {
			return root, lock, nil
		}
		root.Close()
		unlock(lock)
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("create %s: it was repeatedly removed: %w", dir, err)
}

// openLock opens a session's folder, and the file in it that is locked while the session lives.
func openLock(dir string) (*os.Root, *os.File, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() { // a link is not ours
		return nil, nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, lock, nil
}

// held reports whether lock is the file in the folder of that path.
func held(lock *os.File, dir string) bool {
	mine, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(filepath.Join(dir, lockName))
	return err == nil && os.SameFile(mine, there)
}
