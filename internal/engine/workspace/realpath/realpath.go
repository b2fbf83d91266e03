// Package realpath makes absolute names canonical: links and .. resolved, spelled as on disk, and missing components
// kept by name.
//
//	abs, exists, err := realpath.Resolve("/home/me/link/new.txt")
//
// It opens nothing and judges nothing; a link may appear later, which package nofollow detects.
package realpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// maxLinks is the maximum number of links in one name, as in the kernel.
const maxLinks = 40

// ErrLoop reports a loop of links.
var ErrLoop = errors.New("links lead in a circle or through too many links")

// ErrProcess reports that a name leads through a link that differs between processes, such as /proc/self/cwd.
var ErrProcess = errors.New("it leads through a link that is another one to every process")

// disk is the part of the file system that resolving needs. Tests replace it by a case-insensitive one.
type disk struct {
	lstat    func(string) (fs.FileInfo, error)
	readlink func(string) (string, error)
	list     func(string) ([]string, error)
	same     func(a, b fs.FileInfo) bool
}

var realDisk = disk{lstat: os.Lstat, readlink: os.Readlink, list: listNames, same: os.SameFile}

func listNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Resolve resolves an absolute name like the kernel: each component is looked up, links are followed in place, and ..
// leaves the directory that was actually reached. From the first missing component on, the rest is taken by name; a
// dangling link leads to its target. exists reports whether the whole path exists.
func Resolve(name string) (abs string, exists bool, err error) {
	return realDisk.canonical(name)
}

func (d disk) canonical(name string) (abs string, exists bool, err error) {
	w, err := d.walk(name)
	if err != nil {
		return "", false, &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return w.at, w.exists, nil
}

// Existing returns an absolute path with links resolved in the part of it that exists. Unlike Resolve it has no error:
// what can't be resolved stays as it is, and so does the target of a dangling link.
func Existing(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(Existing(up), filepath.Base(path))
	}
	return path
}

// Passed returns the canonical directories in which components of an absolute name are looked up, those of links
// included. A program that can change one of them decides where the name leads.
func Passed(name string) ([]string, error) {
	w, err := realDisk.walk(name)
	return w.passed, err
}

func (d disk) walk(name string) (walk, error) {
	volume := filepath.VolumeName(name)
	w := walk{disk: d, at: volume + string(filepath.Separator), exists: true, todo: components(name[len(volume):])}
	err := w.run()
	return w, err
}

type walk struct {
	disk   disk
	at     string   // canonical so far
	todo   []string // remaining components
	links  int
	exists bool
	own    bool     // it went through a link of our own process
	passed []string // see Passed
}

// run resolves the remaining components.
func (w *walk) run() error {
	for len(w.todo) > 0 {
		if !w.exists && !slices.Contains(w.todo, "..") {
			w.at, w.todo = joinAll(w.at, w.todo), nil // nothing exists there: join a long name at once
			return nil
		}
		next := w.todo[0]
		w.todo = w.todo[1:]
		if err := w.step(next); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step(name string) error {
	if name == ".." {
		w.at = filepath.Dir(w.at)
		if !w.exists { // back from a missing directory, possibly into an existing one
			_, err := w.disk.lstat(w.at)
			w.exists = err == nil
		}
		return nil
	}
	full := join(w.at, name)
	if !w.exists {
		w.at = full
		return nil
	}
	w.passed = append(w.passed, w.at)
	info, err := w.disk.lstat(full)
	switch {
	case err != nil && unreachable(err):
		w.at, w.exists = full, false
		return nil
	case err != nil:
		return nofollow.Cause(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(full)
	case !info.IsDir() && len(w.todo) > 0:
		return fmt.Errorf("%s is not a directory: %w", full, syscall.ENOTDIR)
	}
	if spelled := w.disk.spelled(w.at, name, info); spelled != name {
		full = join(w.at, spelled)
	}
	w.at = full
	return nil
}

// join appends one component to a canonical path.
func join(at, name string) string {
	switch {
	case name == ".":
		return at
	case os.IsPathSeparator(at[len(at)-1]):
		return at + name
	}
	return at + string(filepath.Separator) + name
}

func joinAll(at string, names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "." })
	if len(names) == 0 {
		return at
	}
	return join(at, strings.Join(names, string(filepath.Separator)))
}

// unreachable reports errors that leave the rest of a name unknown: it doesn't exist, or its directory may not be
// searched. Opening it returns the error.
func unreachable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

func (w *walk) follow(link string) error {
	w.links++
	if w.links > maxLinks {
		return ErrLoop
	}
	// Files open under a number were opened by name before, but cwd and root lead anywhere.
	if rest, ok := strings.CutPrefix(link, "/proc/"); ok && strings.Contains(rest, "/") &&
		(len(w.todo) > 0 || !strings.Contains(rest, "/fd/")) {
		w.own = true
	}
	target, err := w.disk.readlink(link)
	if err != nil {
		return nofollow.Cause(err)
	}
	if filepath.IsAbs(target) {
		vol := filepath.VolumeName(target)
		w.at = vol + string(filepath.Separator)
		target = target[len(vol):]
	}
	w.todo = append(components(target), w.todo...)
	return nil
}

// components splits a path. A trailing slash means a directory, like a dot.
func components(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	if len(parts) > 0 && os.IsPathSeparator(path[len(path)-1]) {
		parts = append(parts, ".")
	}
	return parts
}

// spelled returns the name by which a directory lists an existing entry. It differs from the given one on
// case-insensitive file systems, which are detected by looking up the name in the other case. Windows also finds a file
// by a short name, and by its name with dots and spaces at the end.
func (d disk) spelled(dir, name string, info fs.FileInfo) string {
	if other := swapCase(name); other != name {
		if twin, err := d.lstat(filepath.Join(dir, other)); err != nil || !d.same(info, twin) {
			return name
		}
	} else if !strings.ContainsRune(name, '~') && strings.TrimRight(name, ". ") == name {
		return name
	}
	listed, err := d.list(dir)
	if err != nil || slices.Contains(listed, name) { // listed as given: the other is a hard link
		return name
	}
	for _, l := range listed {
		if strings.EqualFold(l, name) {
			return l
		}
	}
	for _, l := range listed {
		if entry, err := d.lstat(filepath.Join(dir, l)); err == nil && d.same(info, entry) {
			return l
		}
	}
	return name
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}
