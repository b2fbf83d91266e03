package spill

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// Age is how long the files of an ended session that isn't recorded are kept.
const Age = 7 * 24 * time.Hour

// Clean removes the directories of sessions that have ended and saved nothing for longer than age. Errors are returned
// and don't stop it. keep reports which sessions to skip, whatever their age; nil: none.
func Clean(stateDir string, now time.Time, age time.Duration, keep func(sessionID string) bool) error {
	base := filepath.Join(stateDir, directory)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete old saved results: %w", err)
	}
	var failed error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.IsDir() {
			continue // it no longer exists, or isn't ours
		}
		path := filepath.Join(base, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), goneName):
			err = removeGone(path) // left by an interrupted Clean
		case now.Sub(info.ModTime()) > age && (keep == nil || !keep(e.Name())):
			err = remove(path)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("delete old saved results: %w", err))
		}
	}
	return failed
}

// Remove removes the files of a session, unless it is running, and returns their size in bytes.
func Remove(stateDir, sessionID string) (int64, error) {
	bytes := Bytes(stateDir, sessionID)
	if err := remove(filepath.Join(stateDir, directory, sessionDirectory(sessionID))); err != nil {
		return 0, fmt.Errorf("delete the saved results of session %s: %w", sessionID, err)
	}
	return bytes, nil
}

// Bytes returns the size of the files of a session.
func Bytes(stateDir, sessionID string) int64 {
	root, err := os.OpenRoot(filepath.Join(stateDir, directory, sessionDirectory(sessionID)))
	if err != nil {
		return 0
	}
	defer root.Close()
	return size(root)
}

// remove removes a session's directory unless the session is running.
func remove(path string) error {
	root, lock, err := openLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another Clean removed it first
	}
	if err != nil {
		return err
	}
	defer filelock.Close(lock)
	root.Close()
	if filelock.Lock(lock) != nil || !held(lock, path) {
		return nil
	}
	if runtime.GOOS == "windows" {
		lock.Close() // a directory can't be moved while a file in it is open
	}
	gone := filepath.Join(filepath.Dir(path), goneName+rand.Text())
	if err := os.Rename(path, gone); err != nil {
		return err
	}
	return removeGone(gone)
}

// removeGone removes a renamed directory. A process that had it open may add files meanwhile: the next Clean removes
// them.
func removeGone(path string) error {
	if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrExist) { // it is not empty
		return err
	}
	return nil
}
