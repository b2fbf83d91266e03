package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Program is the file that a shell runs for the name of a program, with links followed; "" if there is none. path is a
// PATH. A name with a slash is a path itself.
func (d *Disk) Program(path, name string) string {
	files := []string{name}
	if !strings.Contains(name, "/") {
		files = nil
		for _, dir := range filepath.SplitList(path) {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, file := range files {
		if runs(file) {
			return d.Resolve(file)
		}
		if runtime.GOOS == "windows" && runs(file+".exe") {
			return d.Resolve(file + ".exe")
		}
	}
	return ""
}

// runs reports whether a file is there that may be executed. One that the user can't reach can't be run either.
func runs(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && (st.Mode()&0o111 != 0 || runtime.GOOS == "windows")
}
