package places

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

//go:embed caches.txt
var cachesText string

// cacheRow is a line of caches.txt.
type cacheRow struct{ programs, paths []string }

var cacheRows = sync.OnceValue(func() (rows []cacheRow) {
	row := regexp.MustCompile(`^([a-z0-9-]+(?:\|[a-z0-9-]+)*)((?: -?(?:[@~]/[A-Za-z0-9._/-]+|\$[A-Za-z_]+(?:/[A-Za-z0-9._/-]+)?))+)$`)
	for _, line := range table.Must(table.Lines(cachesText, 10)) {
		m := row.FindStringSubmatch(line.Text)
		if m == nil {
			panic("caches.txt: invalid line " + strconv.Quote(line.Text))
		}
		rows = append(rows, cacheRow{strings.Split(m[1], "|"), strings.Fields(m[2])})
	}
	return rows
})

// buildCache is a build cache, which may not exist.
type buildCache struct {
	path     string // as the environment has it: commands may have made a link in it
	real     string // with links resolved, as far as it exists
	programs bool   // it has programs
	used     bool   // a program in PATH uses it
}

// cachePlaces are the directories around build caches in an environment.
type cachePlaces struct {
	env  []string
	home string   // "": none
	tops []string // directories of caches, which may not exist
	wide []string // directories that a cache neither is nor contains
}

func newCachePlaces(env, roots []string) cachePlaces {
	p := cachePlaces{env: env, wide: slices.Concat(roots, TempDirs(env), []string{"/"})}
	if home := absoluteValue(env, "HOME"); isDir(home) {
		p.home = home
		p.tops = []string{filepath.Join(home, ".cache")}
		if mac := filepath.Join(home, "Library/Caches"); isDir(mac) {
			p.tops = append(p.tops, mac)
		}
		p.wide = append(p.wide, homeDirs(home)...)
	}
	p.wide = append(p.wide, absoluteValue(env, "XDG_CONFIG_HOME"), absoluteValue(env, "XDG_DATA_HOME"))
	p.wide = append(p.wide, filepath.SplitList(Surroundings{Env: env}.value("PATH"))...)
	for i, dir := range p.wide {
		p.wide[i] = settled(dir)
	}
	if top := absoluteValue(env, "XDG_CACHE_HOME"); top != "" && !p.isWide(settled(top)) {
		p.tops = append(p.tops, filepath.Clean(top))
	}
	for _, top := range p.tops {
		p.wide = append(p.wide, settled(top))
	}
	return p
}

// isWide reports whether a resolved directory has more than a cache: a variable or a link may lead anywhere.
func (p cachePlaces) isWide(dir string) bool {
	return slices.ContainsFunc(p.wide, func(w string) bool { return w != "" && names.Below(w, dir) })
}

// all returns the build caches. Directories with programs aren't included (~/.cargo/bin).
func (p cachePlaces) all() (out []buildCache) {
	for _, row := range cacheRows() {
		used := slices.ContainsFunc(row.programs, p.inPath)
		for _, text := range row.paths {
			text, programs := strings.CutPrefix(text, "-")
			base, rest, _ := strings.Cut(text, "/")
			bases := []string{p.home}
			switch {
			case base == "@":
				bases = p.tops
			case base != "~":
				bases = []string{absoluteValue(p.env, base[1:])}
			}
			for _, b := range bases {
				path := filepath.Join(b, rest)
				if real := settled(path); b != "" && !p.isWide(real) {
					out = append(out, buildCache{path, real, programs, used})
				}
			}
		}
	}
	return out
}

// inPath reports whether a program is in PATH.
func (p cachePlaces) inPath(program string) bool {
	return slices.ContainsFunc(filepath.SplitList(Surroundings{Env: p.env}.value("PATH")), func(dir string) bool {
		return filepath.IsAbs(dir) && regular(filepath.Join(dir, program))
	})
}

// settled returns a path with the links in it resolved, as far as it exists.
func settled(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return realpath.Existing(path)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Caches returns directories outside the workspace that builds write and that can be deleted at any time: temp
// directories, and the caches of compilers and package managers. Missing ones are omitted.
func Caches(env []string) []string {
	all := existing(append(TempDirs(env), sandbox.SharedDir))
	for _, c := range newCachePlaces(env, nil).all() {
		if !c.programs && isDir(c.real) {
			all = append(all, c.real)
		}
	}
	return sandbox.Outermost(all)
}

// existing returns the paths that exist.
func existing(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		_, err := os.Stat(path)
		return path == "" || err != nil
	})
}

// homeDirs returns directories of a home directory that have more than caches and temp files.
func homeDirs(home string) (out []string) {
	for _, name := range []string{".", ".cache", ".config", ".local/share", ".local/bin", ".ssh", ".gnupg", ".aws",
		".kube", ".docker"} {
		out = append(out, filepath.Join(home, name))
	}
	return out
}

// TempDirs returns the directories for temp files, whether they exist or not. A TMPDIR that is or contains the home
// directory or its ~/.cache isn't one.
func TempDirs(env []string) []string {
	usual := []string{"/tmp", "/var/tmp"}
	home := settled(absoluteValue(env, "HOME"))
	out := slices.DeleteFunc([]string{os.TempDir(), absoluteValue(env, "TMPDIR")}, func(dir string) bool {
		if dir = settled(dir); home == "" || home == "/" || isIn(dir, append(usual, sandbox.SharedDir)) {
			return false
		}
		return slices.ContainsFunc(homeDirs(home), func(d string) bool { return names.Below(settled(d), dir) })
	})
	return append(out, usual...)
}

// absoluteValue returns the value of a variable if it is an absolute path.
func absoluteValue(env []string, name string) string {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); n == name && filepath.IsAbs(v) {
			return v
		}
	}
	return ""
}
