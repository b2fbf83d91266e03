package trial

import (
	"slices"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// protect records a change of a protected path, with everything in it, and of instructions for agents.
func (f *found) protect(path string) {
	if f.protected != "" && names.Below(path, f.protected) {
		return
	}
	o := &f.t.l.o
	in := func(dir string) bool { return names.Below(path, dir) && names.GitObeys(path[len(dir):]) }
	switch {
	case o.Protected(path) || slices.ContainsFunc(f.git, in):
		f.Special = append(f.Special, Special{path, "protected"})
		f.protected = path
	case o.Instructs != nil && o.Instructs(path):
		f.Special = append(f.Special, Special{path, "instructions"})
	}
}

// repository records a changed directory that git takes for a repository by its entries, those of the lower
// included. In one that already was, files that make git run programs are protected.
func (p *pair) repository(upper []string) {
	var now names.GitSigns
	for _, name := range upper {
		sign := names.GitSign(name)
		if sign == 0 {
			continue
		}
		if st, ok := statAt(p.upper, name); ok && !isWhiteout(st) {
			now |= sign
		}
	}
	was := names.GitSignsOf(func(name string) bool {
		_, ok := statAt(p.lower, name)
		return ok
	})
	if was.Repository() {
		p.f.git = append(p.f.git, p.path(""))
		return
	}
	if now == 0 {
		return
	}
	all := names.GitSignsOf(func(name string) bool {
		_, ok := statAt(p.lower, name)
		return now&names.GitSign(name) != 0 || ok && !slices.Contains(upper, name)
	})
	if all.Repository() {
		p.f.Special = append(p.f.Special, Special{p.path(""), "git repository"})
	}
}

// repository records a new directory that git takes for a repository.
func (f *found) repository(path string, entries []string) {
	var signs names.GitSigns
	for _, name := range entries {
		signs |= names.GitSign(name)
	}
	if signs.Repository() && !(f.protected != "" && names.Below(path, f.protected)) {
		f.Special = append(f.Special, Special{path, "git repository"})
	}
}
