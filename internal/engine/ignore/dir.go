package ignore

import (
	"strings"
)

// level is one ignore file, linked to the next one to consult if it has no matching pattern.
type level struct {
	set   *set
	file  string
	base  string // directory that the patterns are relative to, with forward slashes and no slash at its end
	cause error  // why the file couldn't be read
	outer *level
}

// Dir is a directory with the ignore files for its entries. It is immutable.
type Dir struct {
	path string // with forward slashes and no slash at its end, so "" is the root directory
	git  *level
	ai   [len(families) + MaxCustom]*level
	some bool // there is an AI ignore file
	r    *Rules
	read *watch // the files that Enter checked; nil: none
}

// Path returns the directory's absolute path, with forward slashes.
func (d *Dir) Path() string {
	if d.path == "" {
		return "/"
	}
	return d.path
}

// Enter returns the subdirectory name of d. marks is the union of Mark over its entries, so that a walk, which reads
// the directory anyway, needs no further disk access.
func (d *Dir) Enter(name string, marks Marks) *Dir {
	child := &Dir{path: d.path + "/" + name, git: d.git, ai: d.ai, some: d.some, r: d.r}
	if marks != 0 {
		child.read = newWatch()
		child.load(marks, child.read)
	}
	return child
}

// Current reports whether the ignore files that Enter read are unchanged, so that the directory's rules are too if its
// entries and its parent's rules are.
func (d *Dir) Current() bool { return d.read == nil || d.read.unchanged() }

// load puts the directory's own ignore files before the inherited ones. w, if not nil, records the files that were
// checked.
func (d *Dir) load(marks Marks, w *watch) {
	if marks&markRepo != 0 {
		d.git = d.r.repository(d.path, w)
	}
	if marks&markGit != 0 {
		d.git = d.r.readLevel(d, ".gitignore", d.git, w)
	}
	for i, name := range families {
		d.loadAI(i, name, marks, w)
	}
	for i, name := range d.r.custom {
		d.loadAI(len(families)+i, name, marks, w)
	}
}

func (d *Dir) loadAI(i int, name string, marks Marks, w *watch) {
	if marks&(markAI<<i) != 0 {
		d.ai[i] = d.r.readLevel(d, name, d.ai[i], w)
		d.some = d.some || d.ai[i] != nil
	}
}

// Mark is [Rules.Mark] of the directory's rules.
func (d *Dir) Mark(name string) Marks { return d.r.Mark(name) }

// Match returns the verdict on an entry of the directory by its own name. The caller must not enter ignored
// directories.
func (d *Dir) Match(name string, kind Kind) Verdict {
	if v := d.Refusal(name, kind); v.State == Refused {
		return v
	}
	return d.hidden(name, kind)
}

// Refusal is like Match without git's rules.
func (d *Dir) Refusal(name string, kind Kind) Verdict {
	if !d.some {
		return Verdict{}
	}
	for _, l := range d.ai {
		if l == nil {
			continue
		}
		if v := d.decide(l, name, kind, Refused); v.State == Refused {
			return v
		}
	}
	return Verdict{}
}

// hidden is like Match without the AI ignore files.
func (d *Dir) hidden(name string, kind Kind) Verdict {
	if d.git == nil {
		return Verdict{}
	}
	return d.decide(d.git, name, kind, Hidden)
}

// Hidden reports whether git's rules ignore an entry of the directory, regardless of AI ignore files.
func (d *Dir) Hidden(name string, kind Kind) bool { return d.hidden(name, kind).State == Hidden }

// decide consults the ignore files from the innermost outwards; the first one with a matching pattern decides.
func (d *Dir) decide(l *level, name string, kind Kind, positive State) Verdict {
	for ; l != nil; l = l.outer {
		if l.cause != nil {
			return Verdict{State: positive, File: l.file, Cause: l.cause}
		}
		i := l.set.find(d, l, name, kind)
		if i < 0 {
			continue
		}
		p := &l.set.patterns[i]
		v := Verdict{State: positive, File: l.file, Line: p.line, Pattern: p.source}
		if p.negate {
			v.State = Clear
		}
		return v
	}
	return Verdict{}
}

// relative returns the path of an entry relative to the level.
func (d *Dir) relative(buf []byte, l *level, name string) []byte {
	rel := strings.TrimPrefix(d.path[len(l.base):], "/")
	if rel != "" {
		buf = append(append(buf, rel...), '/')
	}
	return append(buf, name...)
}
