//go:build !windows

package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// maxArg is the maximum length of a single argument in Linux, 128 KB with its NUL. A longer line is passed to the shell as a
// file.
const maxArg = 128<<10 - 1

// findShell returns bash, or sh and a note if there is no bash. Only absolute directories of PATH count: a relative one
// would run a program of the working directory.
func findShell() (path, note string, err error) {
	for _, name := range []string{"bash", "sh"} {
		for _, p := range []string{"/bin/" + name, "/usr/bin/" + name, "/usr/local/bin/" + name} {
			if executable(p) {
				return p, shellNote(name, p), nil
			}
		}
		if p, err := exec.LookPath(name); err == nil && filepath.IsAbs(p) {
			return p, shellNote(name, p), nil
		}
	}
	return "", "", errors.New("no shell found: neither bash nor sh is in /bin, /usr/bin, /usr/local/bin or PATH")
}

func shellNote(name, path string) string {
	if name == "bash" {
		return ""
	}
	return "bash not found: the command ran with " + path + "."
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// shellArgv returns the command line of the shell for a line that fits into an argument.
func shellArgv(shell, line string) []string { return []string{shell, "-c", line} }
