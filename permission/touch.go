package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell/prove"
	"github.com/adze-dev/adze/tool"
)

// holdPaths judges the paths of a command like those of a tool: by the rules on paths, and by the table.
func (w *commandJudge) holdPaths(s *commandVerdict, f *fact) {
	if u, ok := w.pathRule(); ok && u.list == denyList && s.cmd.Undetermined() {
		s.decide(tool.Deny, u.cite(true), "may use other paths")
	}
	if !f.all && !s.cmd.MayRun {
		if u, ok := w.otherPathRule(); ok {
			first := s.first
			s.decide(tool.Ask, u.cite(true), "may use other paths")
			s.first = first
		}
	}
	if f.objects { // which the sandbox doesn't hide
		if i := slices.IndexFunc(w.rules.deny, func(u *rule) bool { return u.verb == reading }); i >= 0 {
			s.decide(tool.Ask, w.rules.deny[i].cite(true), "may show files from git's history")
		}
	}
	from := 0
	value := s.cmd.Valued && !s.proved // its variables may have other values
	for i := range f.touches {
		t := &f.touches[i]
		if w.step(t.end - from) {
			return
		}
		for _, to := range f.targets[from:t.end] {
			if to.example != "" || to.unseen {
				w.mayBeSecret(s, t, to)
				continue
			}
			if t.Use != prove.Writes {
				w.touchOne(s, t, to.resolvedPath, tool.Reads, to.sure && t.Certain != prove.Vague && !s.cmd.MayRun && !value)
			}
			if t.Use == prove.Writes || t.Certain == prove.Named { // an unknown command may write to its arguments too
				w.touchOne(s, t, to.resolvedPath, tool.Writes, t.Certain == prove.Sure && to.sure && !value)
			}
		}
		from = t.end
	}
}

// touchOne judges one path of a command. sure means that the command does touch it, if it runs.
func (w *commandJudge) touchOne(s *commandVerdict, t *touchedPath, at *resolvedPath, v tool.Verb, sure bool) {
	side := w.check(at, v)
	j, f := &side.ruling, &side.found
	s.first = s.first || !j.try // in plan mode, where ask rules don't decide
	switch {
	case len(j.rules) > 0 && j.verdict != tool.Allow:
		v, by := j.verdict, j.rules[0]
		if !sure && v == tool.Deny {
			v, by.Possible = tool.Ask, true
		}
		s.decide(v, by, f.what())
	case t.Certain == prove.Vague:
	case s.proved && w.pass == held && ofKernel(f.path):
		s.reads = append(s.reads, f.path)
	case s.proved:
		if f.class != harmless || lies(f.path, w.world.spill) {
			s.reads, s.anywhere = append(s.reads, at.path), s.anywhere || at.path == "*"
		}
		if s.paths = min(s.paths, j.verdict); j.verdict != tool.Allow {
			s.asks = append(s.asks, f)
		}
	case f.exact && j.verdict != tool.Allow:
		s.asks = append(s.asks, f) // only an exact rule on the words answers it
	}
}

// target is a path of a touch. sure means that it isn't only a possible match of a pattern.
type target struct {
	*resolvedPath
	sure    bool
	example string // a secret that a pattern may match, one of many
	unseen  bool   // there may be one among too many files to check
}

// mayBeSecret requires approval for a pattern that may match secrets: no rule on one of them covers the others.
func (w *commandJudge) mayBeSecret(s *commandVerdict, t *touchedPath, to target) {
	f := &finding{class: otherRead, exact: true, act: "reads files that match ", target: t.Path, note: ", which may include secrets such as " + show(to.example)}
	if t.Scope.Deep() && t.Pattern == prove.Exact {
		f.act, f.target, f.note = "reads files below ", clean(t.Path), ", where "+show(to.example)+" may be secret"
	}
	if to.unseen {
		f.note = ", which contains too many files to check for secrets"
	}
	if v := otherRead.verdict(w.mode); v != tool.Allow {
		s.paths = min(s.paths, v)
		s.asks = append(s.asks, f)
	}
}

// targets adds the resolved paths of a touch to out.
func (e *engine) targets(out []target, t prove.Touch) []target {
	switch {
	case t.Scope >= prove.Index:
		return e.indexTargets(out, t)
	case e.pass == held:
		return e.heldTargets(out, t)
	case t.Pattern != prove.Exact:
		return e.globTargets(out, t)
	}
	return e.pathTargets(out, t, e.at(t.Path))
}

// pathTargets adds a path, and everything below it if that is touched too.
func (e *engine) pathTargets(out []target, t prove.Touch, at *resolvedPath) []target {
	out = append(out, target{resolvedPath: at, sure: true})
	if e.disk == nil {
		return append(out, target{resolvedPath: anywhere()}) // it may be a link
	}
	if !t.Scope.Deep() {
		return out
	}
	onlyNames := t.Use == prove.Names && t.Scope != prove.Linked
	if at.path != "/" {
		out = append(out, target{resolvedPath: at.allBelow(onlyNames), sure: true})
	}
	if !onlyNames && t.Use != prove.Writes && t.Certain != prove.Vague {
		if found := e.secret(at.path, t.Scope); found.secret != "" || !found.known {
			out = append(out, target{example: found.secret, unseen: !found.known}) // one of perhaps many
		}
	}
	return out
}

// anywhere returns an unknown path.
func anywhere() *resolvedPath { return &resolvedPath{path: "*"} }

// globTargets adds the paths that a pattern matches now, and those it may match: a pattern that may match a secret counts as
// one, and so does one that a rule on paths may match.
func (e *engine) globTargets(out []target, t prove.Touch) []target {
	fixed := t.Path[:strings.LastIndexByte(t.Path[:strings.IndexAny(t.Path, "*?[")], '/')+1]
	directory := e.at(fixed + ".")
	out = append(out, target{resolvedPath: directory})
	if e.patternRuled(directory.path) {
		out = append(out, target{resolvedPath: directory.allBelow(t.Use == prove.Names)})
	}
	starred := false
	for c := range strings.SplitSeq(t.Path, "/") {
		if strings.HasPrefix(c, ".") && strings.ContainsAny(c, "*?[") && names.MayBe(c, "..") {
			out = append(out, target{resolvedPath: e.at(fixed + "..")}) // shells before bash 5.2
		}
		if c == ".." && starred {
			return append(out, target{resolvedPath: anywhere()}) // .. after a pattern may lead anywhere
		}
		starred = starred || strings.ContainsAny(c, "*?[")
	}
	may := names.MaySecret
	if t.Pattern == prove.GitGlob {
		may = names.MaySecretBelow
	}
	if secret, ok := may(t.Path); ok && t.Use != prove.Names {
		out = append(out, target{example: secret})
	}
	if e.disk == nil {
		return append(out, target{resolvedPath: anywhere()})
	}
	found, ok := e.disk.Glob(t.Path)
	if !ok {
		return append(out, target{resolvedPath: anywhere()})
	}
	for _, p := range found {
		if t.Flag && strings.HasPrefix(strings.TrimPrefix(p, fixed), "-") {
			out = append(out, target{resolvedPath: anywhere()}) // grep foo *.md, with a file called -Re.|x.md
		}
		if at := e.at(p); t.Use != prove.Names || !within(at.path, directory.path) { // names within it aren't secret
			out = append(out, target{resolvedPath: at, sure: true})
		}
	}
	if t.Scope.Deep() && (t.Use != prove.Names || t.Scope == prove.Linked) {
		return e.belowTargets(out, t)
	}
	return out
}

// belowTargets adds everything below the directories that a pattern matches now: grep -r KEY src? reads src1/.env.
func (e *engine) belowTargets(out []target, t prove.Touch) []target {
	directories, ok := e.disk.Glob(t.Path + "/.")
	if !ok {
		return append(out, target{resolvedPath: anywhere()})
	}
	for _, path := range directories {
		out = e.pathTargets(out, t, e.at(path))
	}
	return out
}

// patternRuled reports whether a rule on paths may match something in a directory.
func (e *engine) patternRuled(directory string) bool {
	_, ok := e.pathRule()
	return ok && directory != "/"
}

// pathRule returns a deny or ask rule about paths, if there is one.
func (e *engine) pathRule() (*rule, bool) {
	for _, list := range [][]*rule{e.rules.deny, e.rules.ask} {
		for _, u := range list {
			if u.verb == reading || u.verb == writing {
				return u, true
			}
		}
	}
	return nil, false
}

// ruledAfter reports whether all rules on paths are enforced without the text of a command: a trial can't read what rules
// deny, and rules on writing judge its effects.
func (w *commandJudge) ruledAfter() bool {
	deny, ask := w.unmasked()
	return len(deny) == 0 && len(ask) == 0
}
