package spill

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Age is how long the files of an ended session are kept.
const Age = 7 * 24 * time.Hour

// Clean removes the folders of sessions that have ended and saved nothing for longer than age. What cannot be removed
// is reported and does not stop the rest.
func Clean(stateDir string, now time.Time, age time.Duration) error {
	base := filepath.Join(stateDir, folder)
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
			continue // gone already, or nothing of ours
		}
		path := filepath.Join(base, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), goneName):
			err = removeGone(path) // left by a Clean that was cut short
		case now.Sub(info.ModTime()) > age:
			err = remove(path)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("delete old saved results: %w", err))
		}
	}
	return failed
}

// remove removes a session's folder unless the session lives.
func remove(path string) error {
	root, lock, err := openLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another Clean was quicker
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	root.Close()
	if !lockAlone(lock) || !held(lock, path) {
		return nil
	}
	if !movesOpen {
		lock.Close()
	}
	gone := filepath.Join(filepath.Dir(path), goneName+rand.Text())
	if err := os.Rename(path, gone); err != nil {
		return err
	}
	return removeGone(gone)
}

// removeGone removes a folder that was moved away. Who had it open by then may put something into it meanwhile: the next
// Clean finds it.
func removeGone(path string) error {
	if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrExist) { // it is not empty
		return err
	}
	return nil
}
