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

// between are the folders from below root to above path, the topmost first.
func between(root, path string) []string {
	var out []string
	if root == "" || !below(path, root) {
		return nil
	}
	for dir := filepath.Dir(path); dir != root && below(dir, root); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
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
