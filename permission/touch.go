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
		for _, a := range e.accessesOf(t) {
			e.touch(s, bare, a, t)
		}
	}
}

// touch judges one path of a command.
func (e *engine) touch(s *sentence, r tool.Request, a tool.Access, t shell.Touch) {
	j := e.byRules(r, judged{access: a, finding: e.world.look(a)})
	switch {
	case j.rule != "" && j.verdict != tool.Allow:
		v := j.verdict
		if !t.Sure && a.Verb == tool.Writes {
			v = tool.Ask // it may be read only
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

// accessesOf is a path of a command as a tool would declare it. A word of a command that is not known may be read or
// written.
func (e *engine) accessesOf(t shell.Touch) []tool.Access {
	verbs := []tool.Verb{tool.Reads}
	switch {
	case t.Write:
		verbs = []tool.Verb{tool.Writes}
	case !t.Sure:
		verbs = []tool.Verb{tool.Reads, tool.Writes}
	}
	var out []tool.Access
	for _, target := range e.targets(t) {
		for _, v := range verbs {
			out = append(out, tool.Access{Verb: v, Target: target})
		}
	}
	return out
}

// targets are the resolved paths that a touch stands for.
func (e *engine) targets(t shell.Touch) []string {
	if t.Glob {
		return e.globTargets(t)
	}
	p := e.world.resolve(t.Path)
	if !t.Below || p == "/" {
		return []string{p}
	}
	out := []string{p, p + "/"}
	if !t.Names && e.world.Disk != nil && !t.Write {
		if secret := e.world.Disk.Secret(p); secret != "" {
			out = append(out, secret)
		}
	}
	return out
}

// globTargets are what a pattern stands for now, and what it may: a pattern that can name a secret counts as one.
func (e *engine) globTargets(t shell.Touch) []string {
	fixed := path.Dir(t.Path)
	if i := strings.IndexAny(t.Path, "*?["); i >= 0 {
		fixed = t.Path[:strings.LastIndexByte(t.Path[:i], '/')+1]
	}
	out := []string{e.world.resolve(strings.TrimSuffix(fixed, "/") + "/")}
	if secret, ok := names.MaySecret(t.Path); ok && !t.Names {
		out = append(out, strings.TrimSuffix(e.world.resolve(fixed+"/"), "/")+"/"+secret)
	}
	if e.world.Disk != nil {
		found, ok := e.world.Disk.Glob(t.Path)
		if !ok {
			return append(out, "*")
		}
		for _, p := range found {
			out = append(out, e.world.resolve(p))
		}
	}
	return out
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
