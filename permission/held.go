package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/prove"
	"github.com/adze-dev/adze/tool"
)

// pass is how a command is judged. With a sandbox that enforces reads the same line is judged up to three times, and the
// first pass that allows it decides.
type pass int

const (
	strict pass = iota // by its text alone
	quick              // the same without searching for secrets: commands that require a search aren't allowed
	held               // by its programs and literal words, because the sandbox enforces the rest
)

// command judges a command line. It asks whether the sandbox enforces reads only if that makes a difference.
func (e *engine) command(r *tool.Request, a tool.Access) judged {
	if shell := shellOf(r); shell != "" {
		return e.byOtherShell(r, a, shell)
	}
	if e.world.Enforced == nil || e.noReadOnly || e.offering || !runsOnly(r) {
		return e.judgeText(r, a)
	}
	j := e.attempt(quick, r, a)
	if j.verdict == tool.Allow || e.exceeded {
		return j
	}
	// Reads that are unknown and that the mode allows are outside of the sandbox, see grant.
	if j = e.attempt(held, r, a); j.verdict == tool.Allow && j.proved && !j.anywhere && e.enforced() {
		j.held, e.facts = true, map[*bash.Command]*fact{}
		return j
	}
	e.facts = map[*bash.Command]*fact{}
	return e.judgeText(r, a)
}

// attempt judges a line in another pass, without offers.
func (e *engine) attempt(p pass, r *tool.Request, a tool.Access) judged {
	e.pass, e.offering, e.facts = p, true, map[*bash.Command]*fact{}
	defer func() { e.pass, e.offering = strict, false }()
	return e.judgeText(r, a)
}

// runsOnly reports whether a request only runs commands and reads, so that it runs in the read-only sandbox.
func runsOnly(r *tool.Request) bool {
	return !slices.ContainsFunc(r.Access, func(a tool.Access) bool {
		return a.Verb != tool.Execs && a.Verb != tool.Reads && a.Verb != tool.Nothing.Verb
	})
}

// enforced asks once whether the sandbox enforces reads. The answer may take a while.
func (e *engine) enforced() bool {
	if !e.knowsEnforced {
		e.knowsEnforced, e.isEnforced = true, e.world.Enforced()
	}
	return e.isEnforced
}

// heldTargets adds the paths that a touch names literally. The sandbox hides secrets among the files that a pattern matches
// or that are below a directory; rules that it doesn't know still apply to all of them.
func (e *engine) heldTargets(out []target, t prove.Touch) []target {
	literal := t.Path
	isGlob := t.Pattern != prove.Exact
	if isGlob {
		literal = t.Path[:strings.LastIndexByte(t.Path[:strings.IndexAny(t.Path, "*?[")], '/')+1] + "."
	}
	at := e.at(literal)
	out = append(out, target{resolvedPath: at, sure: !isGlob})
	if _, secret := names.Secret(t.Path); secret && isGlob && t.Use != prove.Names {
		out = append(out, target{example: t.Path}) // *.pem can only match secrets
	}
	if secret, ok := names.MaySecretBelow(t.Path); ok && isGlob && (t.Pattern == prove.GitGlob || t.Scope == prove.Tracked) && t.Use != prove.Names {
		out = append(out, target{example: secret}) // git's objects aren't hidden
	}
	if (isGlob || t.Scope.Deep()) && at.path != "/" {
		out = append(out, target{resolvedPath: at.allBelow(t.Use == prove.Names && t.Scope != prove.Linked)})
	}
	return out
}

// unmasked returns the rules on reading that the sandbox doesn't enforce by hiding files: ask rules, and deny rules on
// everything or on paths outside the workspace that a command may read.
func (e *engine) unmasked() (deny, ask []*rule) {
	readable := slices.Clone(e.world.system)
	for _, name := range homeTools {
		if e.world.home != "" {
			readable = append(readable, e.world.home+"/"+name)
		}
	}
	for _, u := range e.rules.deny {
		if u.verb == reading && (!u.isPath || !u.path.known || slices.ContainsFunc(readable, func(dir string) bool { return u.path.reaches(components(dir)) != disjoint })) {
			deny = append(deny, u)
		}
	}
	for _, u := range e.rules.ask {
		if u.verb == reading {
			ask = append(ask, u)
		}
	}
	return deny, ask
}

// homeTools are the places of toolchains and of git's configuration in the home directory, which the sandbox opens.
var homeTools = strings.Fields("go .rustup .cargo .local .nvm .pyenv .rbenv .asdf .volta .bun .deno .sdkman .gitconfig .config/git bin")

// otherPathRule returns a rule on paths that a command may use without naming them, if there is one.
func (e *engine) otherPathRule() (*rule, bool) {
	if e.pass != held {
		return e.pathRule()
	}
	deny, ask := e.unmasked()
	if all := slices.Concat(deny, ask); len(all) > 0 {
		return all[0], true
	}
	return nil, false
}

// kernelFiles are files of /proc about the machine, not about a process.
var kernelFiles = strings.Fields("cpuinfo meminfo version loadavg uptime stat filesystems diskstats vmstat swaps partitions devices modules interrupts softirqs " +
	"buddyinfo zoneinfo cgroups crypto misc version_signature")

// ofKernel reports whether a path is such a file.
func ofKernel(path string) bool {
	name, ok := strings.CutPrefix(path, "/proc/")
	return ok && (slices.Contains(kernelFiles, name) || strings.HasPrefix(name, "sys/") || strings.HasPrefix(name, "pressure/"))
}

// Hides reports whether an auto-approved command must not read a file of the workspace or of a system directory: a deny rule
// on reading matches it, or it is a secret that git doesn't track and that no allow rule names. path is absolute and
// resolved; tracked is called only for secrets. It is fast enough for every file of a large tree.
func (p *Policy) Hides(path string, tracked func() bool) bool {
	p.mu.RLock()
	rules, remembered := p.rules, p.remembered
	p.mu.RUnlock()
	var room [32]string
	var parts []string
	for _, u := range rules.deny {
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

// HidesSecretsOnly reports whether Hides hides only secrets by name, because no deny rule on reading exists.
func (p *Policy) HidesSecretsOnly() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !slices.ContainsFunc(p.rules.deny, func(u *rule) bool { return u.verb == reading })
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
