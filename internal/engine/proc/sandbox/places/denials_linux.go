package places

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// withAliases adds other names of the same files: hard links in the workspace, and paths through other mounts of the
// same file system.
func (d *Denials) withAliases(paths []string, links *linkCache) []string {
	paths = append(paths, d.hardLinks(paths, links)...)
	paths = append(paths, mountAliases(paths, readMounts())...)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// linkCache has the hard links that were found last.
type linkCache struct {
	key   string // the files with their times, which change with their number of names
	found []string
}

// maxLinked is how many files in denied directories are looked at for other names.
const maxLinked = 20_000

// hardLinks returns the other names of files in the workspace.
func (d *Denials) hardLinks(paths []string, links *linkCache) []string {
	wanted, key, left := map[sandbox.ID]bool{}, "", maxLinked
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			var st unix.Stat_t
			if err == nil && e.Type().IsRegular() && unix.Lstat(file, &st) == nil && st.Nlink > 1 {
				wanted[sandbox.ID{Dev: st.Dev, Ino: st.Ino}] = true
				key += fmt.Sprintln(st.Dev, st.Ino, st.Nlink, st.Ctim)
			}
			return nil
		})
	}
	if links.key == key {
		return links.found
	}
	*links = linkCache{key: key}
	if len(wanted) == 0 {
		return nil
	}
	for _, root := range d.roots {
		// A directory that can't be read is closed to commands too.
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if id, ok := sandbox.Identify(path); ok && wanted[id] && !isIn(path, paths) {
				links.found = append(links.found, path)
			}
			return nil
		})
	}
	return links.found
}

// mountOf is a line of /proc/self/mountinfo.
type mountOf struct {
	device   string
	root, at string // the directory of the file system, and where it is mounted
}

func readMounts() []mountOf {
	text, _ := os.ReadFile("/proc/self/mountinfo") // without it there are no aliases
	var all []mountOf
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 {
			all = append(all, mountOf{device: f[2], root: unescapeMount(f[3]), at: unescapeMount(f[4])})
		}
	}
	return all
}

// unescapeMount replaces the escapes of spaces and the like: \040.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountAliases returns the paths through other mounts that lead to the same files, or to some in the same directory.
func mountAliases(paths []string, mounts []mountOf) []string {
	var out []string
	for _, path := range paths {
		on := -1
		for i, m := range mounts { // later mounts are on top
			if names.Below(path, m.at) && (on < 0 || len(m.at) >= len(mounts[on].at)) {
				on = i
			}
		}
		if on < 0 {
			continue
		}
		inner := filepath.Join(mounts[on].root, strings.TrimPrefix(path, mounts[on].at))
		own, _ := sandbox.Identify(path)
		for i, m := range mounts {
			if i == on || m.device != mounts[on].device {
				continue
			}
			alias := m.at // a part of it is mounted there
			if !names.Below(m.root, inner) || m.root == inner {
				if !names.Below(inner, m.root) {
					continue
				}
				alias = filepath.Join(m.at, strings.TrimPrefix(inner, m.root))
				if id, ok := sandbox.Identify(alias); !ok || id != own {
					continue
				}
			}
			if alias != path {
				out = append(out, alias)
			}
		}
	}
	return out
}
