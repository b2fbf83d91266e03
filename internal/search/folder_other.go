//go:build !linux

package search

// rawFile is only used on Linux.
type rawFile struct{}

// openFolder opens a directory by its path.
func openFolder(path string, _ bool) (folder, error) { return openPortable(path, true) }
