// Package hardlink finds the names of files that have several, as in package stores that link into projects.
package hardlink

import "io/fs"

// ID identifies a file.
type ID struct{ Dev, Ino uint64 }

// Of returns the ID of a file and how many names it has.
func Of(info fs.FileInfo) (id ID, names uint64) { return of(info) }

// Inside returns the files that have all their names in these directories. names is the number of names of each file.
// It reads at most 200,000 directory entries: files whose names aren't found by then aren't returned. Names in git
// directories don't count, so that no other name of git's own files is written through.
func Inside(dirs []string, names map[ID]uint64) map[ID]bool { return inside(dirs, names) }
