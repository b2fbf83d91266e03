package undo

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A program that has the workspace itself open changes no file: the workspace was taken for a file that appeared.
func TestOpenFilesAreBelowRoots(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var open []*os.File
	for _, path := range []string{dir, file} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open = append(open, f)
	}
	program := exec.Command("sleep", "1000")
	program.ExtraFiles = open
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { program.Process.Kill(); program.Wait() }()
	found := slices.Collect(maps.Keys(openFiles(ownStart(), []string{dir})))
	if !slices.Equal(found, []string{file}) {
		t.Errorf("%q, want only %s", found, file)
	}
}
