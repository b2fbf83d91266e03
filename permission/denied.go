package permission

import (
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// DeniedPath is a deny rule on paths, for a sandbox that enforces it whatever a command calls the path.
type DeniedPath struct {
	Rule       string
	Read, Edit bool // what it denies
	// From is the longest path without wildcards: the rule applies to nothing that isn't there or below.
	From string
	// Matches reports whether the rule applies to a path, because of the path itself or a directory above it.
	Matches func(path string) bool
}

// DeniedPaths returns the deny rules on paths that apply to every tool: Read and Edit with a specifier.
func (p *Policy) DeniedPaths() []DeniedPath {
	var out []DeniedPath
	for _, u := range p.current().rules.deny {
		if u.verb != reading && u.verb != writing || u.whole || !u.isPath || !u.path.known {
			continue
		}
		out = append(out, DeniedPath{
			Rule: u.text, Read: u.verb == reading, Edit: u.verb == writing, From: u.path.prefix(),
			Matches: func(path string) bool {
				r := u.path.reaches(components(path))
				return r == exact || r == abovePath
			},
		})
	}
	return out
}

// Broken returns the deny or ask rule for edits that a change of a path breaks, if the path was never judged.
func (p *Policy) Broken(path string) (tool.Rule, bool) {
	e := p.current()
	a := tool.Access{Verb: tool.Writes, Target: path}
	f := e.world.look(a)
	for _, list := range [][]*rule{e.rules.deny, e.rules.ask} {
		for _, u := range list {
			if u.verb == writing && means(u, &tool.Request{}, a, &f) == match.Yes {
				return u.cite(false), true
			}
		}
	}
	return tool.Rule{}, false
}
