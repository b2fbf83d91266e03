//go:build !linux

package sandbox

import "os"

// identify finds nothing: paths are pinned on Linux only.
func identify(string) (ID, bool) { return ID{}, false }

// stampOf is a directory's stamp; false if the path is none.
func stampOf(path string) (stamp, bool) {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() {
		return stamp{}, false
	}
	return stamp{changed: st.ModTime()}, true
}
