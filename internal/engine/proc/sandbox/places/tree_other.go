//go:build !linux

package places

import (
	"os"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// stampOf returns a directory's stamp; false if the path isn't a directory.
func stampOf(path string) (stamp, bool) {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() {
		return stamp{}, false
	}
	return stamp{changed: st.ModTime()}, true
}

func idOf(os.FileInfo) sandbox.ID { return sandbox.ID{} }

// singleFile reports whether a path is a file without further names, which isn't known here.
func singleFile(string) bool { return false }
