package tooltest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// files is the content of a directory: mode and content of everything, by relative path.
type files map[string]string

func snapshot(t *testing.T, dir string) files {
	t.Helper()
	found := files{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[rel], err = state(path, entry)
		return err
	})
	if err != nil {
		t.Fatalf("look at %s: %v", dir, err)
	}
	return found
}

func state(path string, entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(content)), err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return "-> " + target, err
	}
	return info.Mode().String(), nil
}

// changed lists the paths that differ.
func (f files) changed(now files) []string {
	var paths []string
	for path, was := range f {
		if now[path] != was {
			paths = append(paths, path)
		}
	}
	for path := range now {
		if _, ok := f[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
