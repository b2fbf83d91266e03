package spill

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File takes a long output as it comes. What is over a limit is dropped, and counted.
type File struct {
	dir     *Dir
	file    *os.File
	path    string
	kept    int64
	dropped int64
}

// Create begins a file for an output whose length is not known yet. Call id and name only make the file's name.
func (d *Dir) Create(callID, name string) (*File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := fs.ErrClosed
	if !d.closed {
		err = d.hold()
	}
	if err != nil {
		return nil, fmt.Errorf("save the output of %s: %w", name, err)
	}
	ext := extension(name)
	f, file, err := create(d.root, "output-"+safe(callID, "call")+"-"+safe(strings.TrimSuffix(name, ext), "tool"), cmp.Or(ext, ".txt"))
	if err != nil {
		return nil, fmt.Errorf("save the output of %s in %s: %w", name, d.path, err)
	}
	return &File{dir: d, file: f, path: filepath.Join(d.path, file)}, nil
}

// extension is that of a file's name, if it is an ordinary one: programs go by it.
func extension(name string) string {
	ext := filepath.Ext(name)
	if len(ext) < 2 || len(ext) > 9 || safe(ext[1:], "") != ext[1:] {
		return ""
	}
	return ext
}

// Write keeps as much of p as the limits leave room for.
func (f *File) Write(p []byte) (int, error) {
	room := f.dir.room(min(int64(len(p)), f.dir.limits.PerResult-f.kept))
	n, err := f.file.Write(p[:room])
	f.kept += int64(n)
	f.dropped += int64(len(p)) - room
	if err != nil {
		return n, fmt.Errorf("save an output in %s: %w", f.path, err)
	}
	return len(p), nil
}

// Close ends the file.
func (f *File) Close() error { return f.file.Close() }

// Saved says what was kept.
func (f *File) Saved() Saved { return Saved{f.path, f.kept, f.dropped} }

// room takes up to n bytes of what the session has left.
func (d *Dir) room(n int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n = max(0, min(n, d.limits.PerSession-d.used))
	d.used += n
	return n
}
