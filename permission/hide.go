package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Hides reports whether a command that wasn't approved must not read a file of the workspace or of a system directory:
// a deny or ask rule on reading matches it, or it is a secret that git doesn't track and that no allow rule names. path
// is absolute and resolved; tracked is called only for secrets. It is fast enough for every file of a large tree.
func (p *Policy) Hides(path string, tracked func() bool) bool {
	p.mu.RLock()
	rules, remembered := p.rules, p.remembered
	p.mu.RUnlock()
	if rules.hides(rules.deny, path) || rules.hides(rules.ask, path) {
		return true
	}
	if !mayBeSecret(path) {
		return false
	}
	if _, secret := names.Secret(path); !secret || tracked != nil && tracked() {
		return false
	}
	f := finding{class: otherRead, exact: true, path: path, parts: components(path)}
	covers := func(u *rule) bool { return u.verb == reading && coversPath(u, &f) }
	return !slices.ContainsFunc(rules.allow, covers) &&
		!slices.ContainsFunc(remembered, func(m memory) bool { return m.origin == "" && covers(m.rule) })
}

// AsksToRead reports whether an ask rule on reading matches a file.
func (p *Policy) AsksToRead(path string) bool {
	p.mu.RLock()
	rules := p.rules
	p.mu.RUnlock()
	return rules.hides(rules.ask, path)
}

// hides reports whether one of the rules is on reading a path.
func (r Rules) hides(list []*rule, path string) bool {
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
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !slices.ContainsFunc(slices.Concat(p.rules.deny, p.rules.ask),
		func(u *rule) bool { return u.verb == reading })
}

// mayBeSecret reports whether a component of a path isn't an ordinary name.
func mayBeSecret(path string) bool {
	for from := 0; from < len(path); {
		end := strings.IndexByte(path[from:], '/')
		if end < 0 {
			end = len(path) - from
		}
		if end > 0 && !names.Ordinary(path[from:from+end]) {
			return true
		}
		from += end + 1
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
