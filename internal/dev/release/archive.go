package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string // with slashes
	mode    os.FileMode
	content []byte
}

// sharedFiles returns the files of every archive: licenses, the manual page, completion scripts.
func sharedFiles(o options) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, content})
	}
	modules, err := listModules()
	if err != nil {
		return nil, err
	}
	licenses, err := thirdParty(modules)
	if err != nil {
		return nil, err
	}
	files = append(files, file{"THIRD-PARTY-LICENSES.txt", 0o644, licenses})
	printed, err := printedFiles(o)
	return append(files, printed...), err
}

// printedFiles returns the files that the program itself prints.
func printedFiles(o options) ([]file, error) {
	program, err := build(o.version, runtime.GOOS, runtime.GOARCH, "adze", ".")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "adze-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, program.name)
	if err := os.WriteFile(path, program.content, 0o755); err != nil {
		return nil, err
	}
	var files []file
	for _, f := range []struct {
		name string
		args []string
	}{
		{"man/adze.1", []string{"man"}},
		{"completions/adze.bash", []string{"completion", "bash"}},
		{"completions/_adze", []string{"completion", "zsh"}},
		{"completions/adze.fish", []string{"completion", "fish"}},
		{"completions/adze.ps1", []string{"completion", "powershell"}},
	} {
		content, err := exec.Command(path, f.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("adze %s: %w", strings.Join(f.args, " "), err)
		}
		files = append(files, file{f.name, 0o644, content})
	}
	return files, nil
}

// tarred returns a .tar.gz of files. The same files give the same bytes.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range sorted(files) {
		h := &tar.Header{
			Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}

// zipped returns a .zip of files. The same files give the same bytes.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(to, bytes.NewReader(f.content)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}
