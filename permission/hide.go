package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// Hides reports whether a command that wasn't approved must not read a file of the workspace or of a system directory:
// a deny or ask rule on reading matches it, or it is a secret that git doesn't track and that no allow rule names. path
// is absolute and resolved; tracked is called only for secrets. It is fast enough for every file of a large tree.
func (p *Policy) Hides(path string, tracked func() bool) bool {
	e := p.current()
	if hides(e.rules.deny, path) || hides(e.rules.ask, path) {
		return true
	}
	if !mayBeSecret(path) {
		return false
	}
	if _, secret := names.Secret(path); !secret || tracked != nil && tracked() {
		return false
	}
	f := finding{class: otherRead, exact: true, path: path, parts: components(path)}
	return !slices.ContainsFunc(e.allows(""), func(u *rule) bool { return u.verb == reading && coversPath(u, &f) })
}

// AsksToRead reports whether an ask rule on reading matches a file.
func (p *Policy) AsksToRead(path string) bool { return hides(p.current().rules.ask, path) }

// hides reports whether one of the rules is on reading a path.
func hides(list []*rule, path string) bool {
	var room [32]string
	var parts []string
	for _, u := range list {
		if u.verb != reading {
			continue
		}
		if parts == nil {
			parts = appendComponents(room[:0], path)
		}
		if !u.isPath {
			return true
		}
		if r := u.path.reaches(parts); r == exact || r == abovePath {
			return true
		}
	}
	return false
}

// HidesSecretsOnly reports whether Hides hides only secrets by name, because no deny or ask rule on reading exists.
func (p *Policy) HidesSecretsOnly() bool {
	_, ruled := p.current().rules.on(reading)
	return !ruled
}

// mayBeSecret reports whether a component of a path isn't an ordinary name.
func mayBeSecret(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && !names.Ordinary(name) {
			return true
		}
	}
	return false
}

// RulesVersion returns a number that changes whenever results of Hides may change: rules were set, or an approval was
// remembered.
func (p *Policy) RulesVersion() uint64 { return p.version.Load() }

// unhidden returns a rule on reading that no place enforces by hiding files: one on everything, or on files outside the
// workspace that every command may read.
func (e *engine) unhidden() (*rule, bool) {
	for _, u := range slices.Concat(e.rules.deny, e.rules.ask) {
		if u.verb != reading {
			continue
		}
		if !u.isPath || !u.path.known {
			return u, true
		}
		if !e.world.inside(u.path.prefix()) && slices.ContainsFunc(e.world.readable, func(dir string) bool {
			return u.path.reaches(components(dir)) != disjoint
		}) {
			return u, true
		}
	}
	return nil, false
}

// homeTools are the places of toolchains and of git's configuration in the home directory, which commands may read.
var homeTools = strings.Fields("go .rustup .cargo .local .nvm .pyenv .rbenv .asdf .volta .bun .deno .sdkman " +
	".gitconfig .config/git bin")

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
