package trial

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// A state directory contains a directory for each session, and a lock. Sessions are added, recovered and removed, and
// the state directory itself is created and removed, with the lock held.

// lockWait is how long a session waits for others that are being opened or recovered, so that a stopped process doesn't
// block it forever. A session that is being closed waits for closeWait; then another removes the state directory.
const (
	lockWait  = 30 * time.Second
	closeWait = time.Second
)

const (
	stateLock = "lock"
	stateGit  = ".gitignore" // in a workspace, git ignores the state directory
	tryPrefix = "try-"       // of directories that exchanges makes

	emptyPrefix = "empty-" // of directories without files that closed sessions left
)

// makeState creates a state directory if it is missing, and locks it.
func makeState(state string) (*os.File, error) {
	const tries = 100 // other sessions may remove it meanwhile
	for n := 0; ; n++ {
		err := os.MkdirAll(state, 0o700)
		var lock *os.File
		if err == nil {
			lock, err = lockState(state, lockWait)
		}
		// MkdirAll can fail with either
		if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) && n < tries {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := ignoreState(state); err != nil {
			lock.Close()
			return nil, err
		}
		return lock, nil
	}
}

// ignoreState makes git ignore a state directory in a workspace.
func ignoreState(state string) error {
	if !strings.HasSuffix(state, "/"+Hidden) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(state, stateGit), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// removeUnused removes a state directory without sessions. The caller has its lock.
func removeUnused(state string) {
	entries, err := os.ReadDir(state)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != stateLock && e.Name() != stateGit
	}) {
		return
	}
	os.Remove(filepath.Join(state, stateGit))
	os.Remove(filepath.Join(state, stateLock)) // then others create another one, and the directory stays
	os.Remove(state)
	if strings.HasSuffix(state, "/"+Hidden) {
		os.Remove(filepath.Dir(state))
	}
}

// hasNoFiles reports whether a session's directory contains nothing but directories, its lock and fences.
func hasNoFiles(dir string) bool {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		fence := d != nil && d.Name() == fenceName && filepath.Dir(filepath.Dir(path)) == dir
		if err == nil && !d.IsDir() && !fence && path != filepath.Join(dir, lockName) {
			err = fs.ErrExist
		}
		return err
	}) == nil
}

// lockState locks a state directory that exists.
func lockState(state string, wait time.Duration) (*os.File, error) {
	path := filepath.Join(state, stateLock)
	for {
		f, err := locked(path, filelock.Try, wait)
		if err != nil || filelock.IsAt(f, path) {
			return f, err
		}
		f.Close() // another session removed it
	}
}

// locked locks a file. It returns an error if another process has the lock for longer than wait.
func locked(path string, try func(string) (*os.File, error), wait time.Duration) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return filelock.Wait(ctx, path, try)
}
