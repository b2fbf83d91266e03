package permission

import (
	"path"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// touched judges the paths of a command as if a tool named them: by the rules on paths, and by the table. all is false
// where there may be more paths than these.
func (e *engine) touched(s *sentence, r tool.Request, ts []shell.Touch, all bool) {
	if !all && !s.cmd.Guess {
		if u, ok := e.pathRule(); ok {
			s.verdict, s.forced = min(s.verdict, tool.Ask), true
			s.why = strings.TrimPrefix(s.why+"; its paths are not all known, and there is "+u.text, "; ")
		}
	}
	bare := tool.Request{Declaration: tool.Declaration{Name: " ", Origin: r.Declaration.Origin}}
	for _, t := range ts {
		for _, target := range e.targets(t) {
			if target.example {
				e.mayBeSecret(s, t, target.path)
				continue
			}
			for _, v := range verbsOf(t) {
				e.touch(s, bare, tool.Access{Verb: v, Target: target.path}, t.Sure && target.sure || v == tool.Reads && target.sure)
			}
		}
	}
}

// touch judges one path of a command. sure: the command does touch it so, if it runs.
func (e *engine) touch(s *sentence, r tool.Request, a tool.Access, sure bool) {
	j, known := e.paths[a]
	if !known {
		j = e.byRules(r, judged{access: a, finding: e.world.look(a)})
		e.paths[a] = j
	}
	switch {
	case j.rule != "" && j.verdict != tool.Allow:
		v := j.verdict
		if !sure && v == tool.Deny {
			v = tool.Ask
		}
		if v < s.verdict {
			s.why = strings.TrimPrefix(s.why+"; "+j.what+", by "+j.rule, "; ")
		}
		s.verdict, s.forced = min(s.verdict, v), true
	case s.proved:
		if s.paths = min(s.paths, j.verdict); j.verdict != tool.Allow {
			s.asks = append(s.asks, j.finding)
		}
	case j.exact && j.verdict != tool.Allow:
		s.asks = append(s.asks, j.finding) // a rule on the words does not answer it, unless it is exact
	}
}

// verbsOf is what a command may do with a path: a word of one that is not known may be read or written.
func verbsOf(t shell.Touch) []tool.Verb {
	switch {
	case t.Write:
		return []tool.Verb{tool.Writes}
	case !t.Sure:
		return []tool.Verb{tool.Reads, tool.Writes}
	}
	return []tool.Verb{tool.Reads}
}

// target is a path that a touch stands for. sure: not only a name that a pattern might stand for.
type target struct {
	path    string
	sure    bool
	example bool // a secret that a pattern may stand for, one of many
}

// mayBeSecret asks about a pattern that can name secrets: no rule on one of them answers for the others.
func (e *engine) mayBeSecret(s *sentence, t shell.Touch, example string) {
	f := finding{class: otherRead, exact: true, what: "reads what " + show(t.Path) + " stands for, which may be secret, such as " + example}
	if v := otherRead.verdict(e.mode); v != tool.Allow {
		s.paths = min(s.paths, v)
		s.asks = append(s.asks, f)
	}
}

// targets are the resolved paths that a touch stands for.
func (e *engine) targets(t shell.Touch) []target {
	if t.Glob {
		return e.globTargets(t)
	}
	p := e.resolve(t.Path)
	if !t.Below || p == "/" {
		return []target{{path: p, sure: true}}
	}
	out := []target{{path: p, sure: true}, {path: p + "/", sure: true}}
	if !t.Names && e.world.Disk != nil && !t.Write {
		if secret := e.world.Disk.Secret(p, t.Links); secret != "" {
			out = append(out, target{path: secret, example: true}) // one of perhaps many
		}
	}
	return out
}

// globTargets are what a pattern stands for now, and what it may: a pattern that can name a secret counts as one, and
// so does one that a rule on paths may mean.
func (e *engine) globTargets(t shell.Touch) []target {
	fixed := t.Path[:strings.LastIndexByte(t.Path[:strings.IndexAny(t.Path, "*?[")], '/')+1]
	folder := e.resolve(fixed + ".")
	out := []target{{path: folder}}
	if e.patternRuled(folder) {
		out = append(out, target{path: folder + "/"})
	}
	for _, c := range components(t.Path) {
		if up, _ := path.Match(c, ".."); up && c[0] == '.' && c != ".." {
			out = append(out, target{path: e.resolve(fixed + "..")}) // shells before bash 5.2
		}
	}
	if secret, ok := names.MaySecret(t.Path); ok && !t.Names {
		out = append(out, target{path: secret, example: true})
	}
	if e.world.Disk != nil {
		found, ok := e.world.Disk.Glob(t.Path)
		if !ok {
			return append(out, target{path: "*"})
		}
		for _, p := range found {
			if t.Names && within(e.resolve(p), folder) {
				continue // its name is no secret
			}
			out = append(out, target{path: e.resolve(p), sure: true})
		}
	}
	return out
}

// patternRuled reports whether a rule on paths may mean something in a folder.
func (e *engine) patternRuled(folder string) bool {
	_, ok := e.pathRule()
	return ok && folder != "/"
}

// pathRule is a deny or ask rule about paths, if there is one.
func (e *engine) pathRule() (rule, bool) {
	for _, list := range [][]rule{e.rules.deny, e.rules.ask} {
		for _, u := range list {
			if u.verb == reading || u.verb == writing {
				return u, true
			}
		}
	}
	return rule{}, false
}
