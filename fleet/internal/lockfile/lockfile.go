// Package lockfile locks files between processes. The end of a process unlocks what it has locked.
package lockfile

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrLocked reports that another process has the lock.
var ErrLocked = errors.New("another process has the lock")

// Wait locks a file as soon as it is free.
func Wait(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := Try(path)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
