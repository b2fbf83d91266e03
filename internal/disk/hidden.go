package disk

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/internal/workspace/names"
)

// A search that leaves out what is hidden looks at it all the same where an ignore file says !name. Which files those
// are is not worked out: a pattern counts wherever it stands, and for every name that it may mean.

// ignoreFiles are those that searches read in every folder and in those above it.
var ignoreFiles = []string{".gitignore", ".ignore", ".rgignore"}

// maxIgnore bounds the size of an ignore file.
const maxIgnore = 256 << 10

// unhidden is what the ignore files of a search bring back.
type unhidden struct {
	patterns []string // of names, each one component
	all      bool     // nobody knows what
}

// unhidden reads the ignore files that hold for all of dir: those above it, and the person's own.
func (d *Disk) unhidden(b *budget, dir string) *unhidden {
	u := &unhidden{all: d.home == ""}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		if !b.spend(fileCost) {
			u.all = true
		}
		for _, name := range ignoreFiles {
			u.read(filepath.Join(at, name))
		}
		u.repository(at)
		if at == filepath.Dir(at) || u.all {
			break
		}
	}
	u.repository(dir)
	u.read(filepath.Join(d.home, ".config", "git", "ignore"))
	for _, file := range []string{".gitconfig", filepath.Join(".config", "git", "config")} {
		u.configured(filepath.Join(d.home, file), d.home)
	}
	return u
}

// repository reads what a folder that is a repository excludes for itself.
func (u *unhidden) repository(dir string) {
	git := filepath.Join(dir, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		u.all = u.all || !absent(err)
	case !info.IsDir():
		u.all = true // it lies elsewhere
	default:
		u.read(filepath.Join(git, "info", "exclude"))
	}
}

// configured reads the ignore file that the person's own configuration names.
func (u *unhidden) configured(config, home string) {
	data, err := read(config, maxIgnore)
	if err != nil {
		u.all = u.all || !absent(err)
		return
	}
	settings, err := parseConfig(data)
	u.all = u.all || err != nil
	for _, s := range settings {
		if s.key.name != "excludesfile" { // in whatever section: searches do not look at that
			continue
		}
		file := s.value
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(home, rest)
		}
		if u.all = u.all || !filepath.IsAbs(file); !u.all {
			u.read(file)
		}
	}
}

// read takes in the lines of an ignore file that bring something back.
func (u *unhidden) read(file string) {
	data, err := read(file, maxIgnore)
	if err != nil {
		u.all = u.all || !absent(err)
		return
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		pattern, ok := strings.CutPrefix(line, "!")
		if !ok {
			continue
		}
		for c := range strings.SplitSeq(strings.TrimRightFunc(pattern, unicode.IsSpace), "/") {
			u.all = u.all || strings.ContainsAny(c, `[]{}\`)
			if c != "" {
				u.patterns = append(u.patterns, c)
			}
		}
	}
}

// among are the hidden entries of a folder that its ignore files and those above bring back.
func (u *unhidden) among(dir string, entries []os.DirEntry) []os.DirEntry {
	if u == nil {
		return nil
	}
	for _, e := range entries {
		for _, name := range ignoreFiles {
			if e.Name() == name {
				u.read(filepath.Join(dir, name))
			}
		}
		if e.Name() == ".git" {
			u.repository(dir)
		}
	}
	var back []os.DirEntry
	for _, e := range entries {
		if u.means(e.Name()) {
			back = append(back, e)
		}
	}
	return back
}

// means reports whether a name may be brought back.
func (u *unhidden) means(name string) bool {
	if u.all {
		return true
	}
	name = strings.ToLower(name)
	for _, p := range u.patterns {
		if names.MayBe(p, name) {
			return true
		}
	}
	return false
}
