package atomicfile

import (
	"slices"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// Sweep removes the temporary files of dead writers in a directory, and reports whether none is left. Write does so
// too, but a directory may never be written again.
func Sweep(dir string) (none bool) {
	root, err := nofollow.OpenDir(dir)
	if err != nil {
		return true // the directory is gone, or another one
	}
	defer root.Close()
	sweep(root)
	list, err := root.Open(".")
	if err != nil {
		return true
	}
	defer list.Close()
	names, _ := list.Readdirnames(sweepLimit)
	return !slices.ContainsFunc(names, IsTemp)
}
