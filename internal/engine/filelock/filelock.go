// Package filelock locks files between processes, and finds out whether a process exists.
//
//	f, err := filelock.Open(ctx, path) // waits
//	defer filelock.Close(f)
//
// The system releases the locks of a process that ends. Systems without locks behave as if no other process had one.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked reports that another process, or another open file of this one, has the lock.
var ErrLocked = errors.New("another process has the lock")

// Try opens a file, which it creates if necessary, and locks it.
func Try(path string) (*os.File, error) { return open(path, os.O_CREATE) }

// TryExisting opens a file that exists and locks it.
func TryExisting(path string) (*os.File, error) { return open(path, 0) }

func open(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, create|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}

// Open opens a file, which it creates if necessary, and waits until it has the lock.
func Open(ctx context.Context, path string) (*os.File, error) { return Wait(ctx, path, Try) }

// Wait calls try until the lock is free.
func Wait(ctx context.Context, path string, try func(path string) (*os.File, error)) (*os.File, error) {
	for {
		f, err := try(path)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// Close unlocks and closes a file. Closing it is not enough: a child process that is just being forked has the file too
// until it executes its program, and keeps the lock as long.
func Close(f *os.File) error {
	Unlock(f)
	return f.Close()
}

// IsAt reports whether an open file is still the one at a path: the process that had the lock before may have removed
// it.
func IsAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	there, err2 := os.Lstat(path)
	return err == nil && err2 == nil && os.SameFile(mine, there)
}
