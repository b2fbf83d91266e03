//go:build unix && !linux

package atomicfile

import "os"

// renameNew renames without replacing a file.
func renameNew(dir *os.Root, _ *os.File, from, to string) error { return linkNew(dir, from, to) }

// reserve does nothing: a full disk is detected while writing, and the old content is restored.
func reserve(*os.File, int64, int64) error { return nil }
