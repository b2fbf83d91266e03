package oauth

import (
	"context"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lockFile locks a file against other processes.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
		if err == nil {
			return func() { f.Close() }, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}

// private returns nil: Windows protects a user's directory by other means than modes.
func private(fs.FileInfo) error { return nil }
