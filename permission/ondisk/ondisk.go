// Package ondisk answers what a policy wants to know of the disk, from the disk itself.
//
//	world := permission.World{Roots: roots, Home: home, Disk: ondisk.Disk{}}
//
// It only looks: at links, at the names that a pattern stands for, at the files in which git keeps its settings. What
// would take too long it says it does not know.
package ondisk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
)

// Disk is the disk of this machine. The zero value is ready for use.
type Disk struct{}

const (
	maxLinks   = 40
	maxMatches = 2000
	maxEntries = 5000
)

// Resolve follows links and .. as the system does. Where a name does not exist the rest is taken by its names. "" means
// that it leads in a circle.
func (Disk) Resolve(path string) string {
	volume := filepath.VolumeName(path)
	todo := strings.FieldsFunc(filepath.ToSlash(path[len(volume):]), func(r rune) bool { return r == '/' })
	top := volume + string(filepath.Separator)
	at, links := top, 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return ""
		}
		if filepath.IsAbs(target) {
			at = top
		}
		todo = append(strings.FieldsFunc(filepath.ToSlash(target), func(r rune) bool { return r == '/' }), todo...)
	}
	return at
}

// Glob lists what a pattern stands for. As in the shell, only a dot matches a leading dot.
func (Disk) Glob(pattern string) (paths []string, ok bool) {
	if strings.Contains(pattern, "[:") || strings.Contains(pattern, "[.") || strings.Contains(pattern, "[=") ||
		strings.Count(pattern, "*/")+strings.Count(pattern, "?/") > 2 {
		return nil, false
	}
	paths, err := filepath.Glob(strings.ReplaceAll(pattern, "[!", "[^"))
	if err != nil || len(paths) > maxMatches {
		return nil, false
	}
	want := strings.Split(pattern, "/")
	paths = slices.DeleteFunc(paths, func(p string) bool {
		got := strings.Split(p, "/")
		for i := 1; i <= min(len(got), len(want)); i++ {
			if name, part := got[len(got)-i], want[len(want)-i]; strings.HasPrefix(name, ".") && part != "" && strings.IndexByte("*?[", part[0]) >= 0 {
				return true
			}
		}
		return false
	})
	return paths, true
}

// Secret looks for a secret below dir, and with links for one that leads out of it, in the first few thousand names.
func (d Disk) Secret(dir string, links bool) string {
	found, seen := "", 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return filepath.SkipAll
		}
		if err != nil {
			return nil
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if links && e.Type()&fs.ModeSymlink != 0 {
			if to := d.Resolve(path); !within(to, dir) {
				found = to
				return filepath.SkipAll
			}
		}
		if _, ok := names.Secret(path); ok {
			found = path
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

func within(path, dir string) bool {
	_, ok := names.Within(path, []string{dir})
	return ok
}
