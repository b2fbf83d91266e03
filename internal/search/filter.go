package search

import "strings"

// filter narrows a walk by the names of files.
type filter struct {
	include []*glob
	exclude []*glob
	types   []*glob
	whole   *glob // for the whole path, see FilesRequest
}

func newFilter(globs, types []string) (*filter, error) {
	f := &filter{}
	for _, source := range globs {
		pattern, out := strings.CutPrefix(source, "!")
		g, err := newGlob(pattern, true, false)
		if err != nil {
			return nil, err
		}
		if out {
			f.exclude = append(f.exclude, g)
		} else {
			f.include = append(f.include, g)
		}
	}
	for _, name := range types {
		patterns, err := typeGlobs(name)
		if err != nil {
			return nil, err
		}
		for _, p := range patterns {
			g, err := newGlob(p, true, false)
			if err != nil {
				return nil, err
			}
			f.types = append(f.types, g)
		}
	}
	return f, nil
}

// file tells whether a file is wanted.
func (f *filter) file(dir, name string) bool {
	if f.whole != nil && !f.whole.match(dir, name) {
		return false
	}
	return anyMatch(f.include, dir, name) && anyMatch(f.types, dir, name) && !someMatch(f.exclude, dir, name)
}

// folder tells whether anything inside a directory may be wanted.
func (f *filter) folder(dir, name string) bool {
	if someMatch(f.exclude, dir, name) {
		return false
	}
	path := ""
	if f.whole != nil && !f.whole.ways[0].anyDepth {
		path = join(dir, name)
		if !f.whole.reaches(path) {
			return false
		}
	}
	if len(f.include) == 0 {
		return true
	}
	for _, g := range f.include {
		if len(g.ways) > 0 && g.ways[0].anyDepth {
			return true
		}
		if path == "" {
			path = join(dir, name)
		}
		if g.reaches(path) {
			return true
		}
	}
	return false
}

// anyMatch is true for an empty list: nothing is asked for.
func anyMatch(gs []*glob, dir, name string) bool { return len(gs) == 0 || someMatch(gs, dir, name) }

func someMatch(gs []*glob, dir, name string) bool {
	for _, g := range gs {
		if g.match(dir, name) {
			return true
		}
	}
	return false
}
