package bash

import (
	"path"
	"slices"
	"strings"
)

// Abs returns a path that doesn't depend on the directory dir, and whether name is one, on the system that dir is of: a
// directory that begins with a drive or with // is one of Windows, where programs of Git's bash take C:/x, C:\x and
// /c/x for the same file, and //server/share/x and \\server\share\x for one of another machine. What can't be told
// (C:x, x:stream) is returned as it is: it is no path that could be resolved.
func Abs(dir, name string) (abs string, ok bool) {
	if !ofWindows(dir) {
		if strings.HasPrefix(name, "//") {
			name = "/" + strings.TrimLeft(name, "/")
		}
		return name, path.IsAbs(name)
	}
	name = strings.ReplaceAll(name, `\`, "/")
	switch {
	case hasDrive(name) && len(name) > 2 && name[2] == '/' && !strings.Contains(name[2:], ":"):
		return strings.ToUpper(name[:1]) + name[1:], true
	case strings.Contains(name, ":"):
		return name, true
	case len(name) > 1 && name[0] == '/' && isLetter(name[1]) && (len(name) == 2 || name[2] == '/'):
		return strings.ToUpper(name[1:2]) + ":/" + strings.TrimLeft(name[2:], "/"), true
	}
	return name, name != "" && name[0] == '/'
}

// Each returns where a path leads from each directory. It cleans nothing: what .. means depends on links.
func Each(dirs []string, path string) (out []string) {
	for _, d := range dirs {
		full, abs := Abs(d, path)
		if !abs {
			full = strings.TrimSuffix(d, "/") + "/" + full
		}
		if !slices.Contains(out, full) {
			out = append(out, full)
		}
	}
	return out
}

// ofWindows reports whether an absolute path with slashes is one of Windows.
func ofWindows(dir string) bool { return hasDrive(dir) || strings.HasPrefix(dir, "//") }

func hasDrive(name string) bool { return len(name) > 1 && name[1] == ':' && isLetter(name[0]) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
