package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// below reports whether path is root or lies below it.
func below(path, root string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root+string(filepath.Separator))
}

// holding is the root that path lies below, or nothing.
func holding(path string, roots []string) string {
	for _, r := range roots {
		if below(path, r) {
			return r
		}
	}
	return ""
}

// outermost leaves out what is there twice and what lies below another.
func outermost(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		if holding(p, out) == "" {
			out = append(out, p)
		}
	}
	return out
}
