package permission

import (
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
)

// A long command, above all a program or a message in one word, may name thousands of things that are not there and
// that no rule mentions. In one folder they are all alike: they are judged once, by one absent name that stands for all.

// folder is one that words lead into.
type folder struct {
	words   int             // that led into it
	entries map[string]bool // what is in it, in lower case
	absent  *resolvedPath   // nil: each name is looked at
	open    bool            // what is in it may be read unasked
}

// fewWords is how many words of a folder are looked at one by one before it is listed.
const fewWords = 16

// absentNameMark is no name of any table, rule or disk.
const absentNameMark = "\x01"

// absentName is where a path leads that names nothing special; nil if this one may. asked: each path that must be asked
// about counts, as it does of a command that is proved harmless.
func (e *engine) absentName(p string, asked bool) *resolvedPath {
	cut := strings.LastIndexByte(p, '/')
	if cut <= 0 || e.disk == nil || runtime.GOOS != "linux" { // others do not tell the cases apart
		return nil
	}
	dir := strings.TrimSuffix(p[:cut], "/.") // of ./name
	f := e.folders[dir]
	if f == nil {
		f = &folder{}
		e.folders[dir] = f
	}
	if f.words++; f.words == fewWords {
		e.enter(f, dir)
	}
	name := p[cut+1:]
	if f.absent == nil || asked && !f.open || !plainName(name) || e.speaksOf(name) {
		return nil
	}
	if name = strings.ToLower(name); f.entries[name] || !names.Ordinary(name) {
		return nil
	}
	return f.absent
}

// of is a finding about the one absent name that a path leads to.
func (s *resolvedPath) of(f *finding, path string) *finding {
	if !s.alike {
		return f
	}
	own, name := *f, path[strings.LastIndexByte(path, '/')+1:]
	own.path = strings.TrimSuffix(f.path, absentNameMark) + name
	own.target = own.path + s.path[len(f.path):]
	own.parts = append(slices.Clip(f.parts[:len(f.parts)-1]), name)
	return &own
}

// plainName reports whether a disk that folds cases folds this name as we do.
func plainName(s string) bool {
	for i := range len(s) {
		if s[i] < '\t' || s[i] >= 0x7F {
			return false
		}
	}
	return true
}

// enter finds out what is in a folder.
func (e *engine) enter(f *folder, dir string) {
	if e.at(dir).path != dir {
		return
	}
	listed, ok := e.disk.List(dir)
	if !ok {
		return
	}
	f.entries = make(map[string]bool, len(listed))
	for _, name := range listed {
		f.entries[strings.ToLower(name)] = true
	}
	f.absent = &resolvedPath{path: dir + "/" + absentNameMark, alike: true}
	f.open = e.world.read(f.absent.path).class == harmless
}

// speaksOf reports whether a rule that forbids or asks, or the place of a folder that is not like others, has a
// component of this name.
func (e *engine) speaksOf(name string) bool {
	if e.special == nil {
		e.special = map[string]bool{}
		for _, d := range slices.Concat(e.world.roots, e.world.system, []string{e.world.home, e.world.state, e.world.spill}) {
			for _, c := range components(d) {
				e.special[c] = true
			}
		}
		for _, u := range slices.Concat(e.rules.deny, e.rules.ask) {
			for _, c := range u.path.at {
				if e.special[c] = true; c != "**" && isGlob(c) {
					e.patterns = append(e.patterns, c)
				}
			}
		}
	}
	return e.special[name] || slices.ContainsFunc(e.patterns, func(p string) bool { return matchComponent(p, name) })
}
