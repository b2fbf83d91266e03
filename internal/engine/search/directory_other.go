//go:build !linux

package search

// rawFile is only used on Linux.
type rawFile struct{}

// openHandle opens a directory by its path.
func openHandle(path string, _ bool) (dirHandle, error) { return openPortable(path, true) }
