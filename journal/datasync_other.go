//go:build !linux

package journal

import "os"

// datasync makes the content of a file durable.
func datasync(f *os.File) error { return f.Sync() }
