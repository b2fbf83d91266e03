package permission

import (
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// engine judges a request by all there is to judge by. It never changes.
type engine struct {
	world      World
	rules      Rules
	mode       Mode
	noReadOnly bool
	offering   bool // an offer is tried out: make none
	remembered []memory
	explain    bool // say what was found of each command
	*cache
}

// cache keeps what was found while one command line is judged: its commands name the same paths again and again.
type cache struct {
	resolved map[string]string
	paths    map[tool.Access]judged
	git      map[string]string
}

// start begins a new judgement.
func (e *engine) start() {
	e.cache = &cache{map[string]string{}, map[tool.Access]judged{}, map[string]string{}}
}

// resolve is the canonical path, looked up once.
func (e *engine) resolve(path string) string {
	p, ok := e.resolved[path]
	if !ok {
		p = e.world.resolve(path)
		e.resolved[path] = p
	}
	return p
}

// memory is a rule a person said "always" to. It holds for tools of one origin: a discovered tool that takes the name
// of another gains nothing.
type memory struct {
	origin string
	rule   rule
}

// judged is an access with what was found out about it.
type judged struct {
	access tool.Access
	finding
	verdict tool.Verdict
	rule    string // the rule that decided, if one did
	maybe   bool   // that rule may or may not mean it
	forced  bool   // a person is asked in every mode
	lines   []string
	offers  []string // of a command
	proved  bool     // a command that is provably read-only
}

// judge gives the strictest verdict over all accesses, and those that brought it about.
func (e engine) judge(r tool.Request) (tool.Decision, []judged) {
	var strictest, all []judged
	verdict := tool.Allow
	for _, a := range accesses(r) {
		j := e.judgeAccess(r, a)
		all = append(all, j)
		if j.verdict < verdict {
			verdict, strictest = j.verdict, nil
		}
		if j.verdict == verdict {
			strictest = append(strictest, j)
		}
	}
	d := tool.Decision{Verdict: verdict, Reason: e.reason(r, verdict, strictest)}
	if verdict == tool.Allow && readOnly(all) {
		d.Grant = []tool.Access{{Verb: tool.Reads, Target: "*"}}
	}
	return d, strictest
}

// readOnly reports whether a call runs nothing but provably read-only commands.
func readOnly(all []judged) bool {
	proved := false
	for _, j := range all {
		switch j.access.Verb {
		case tool.Execs:
			if !j.proved {
				return false
			}
			proved = true
		case tool.Reads, tool.Nothing.Verb:
		default:
			return false
		}
	}
	return proved
}

// judgeAccess judges one access: deny rules, then plan's denials, then ask rules, then allow rules, then the table.
func (e *engine) judgeAccess(r tool.Request, a tool.Access) judged {
	if a.Verb == tool.Execs {
		return e.command(r, a)
	}
	j := judged{access: a, finding: e.world.look(a)}
	return e.byRules(r, j)
}

func (e *engine) byRules(r tool.Request, j judged) judged {
	deny, isDenied := e.find(e.rules.deny, r, j.access, j.finding)
	ask, isAsked := e.find(e.rules.ask, r, j.access, j.finding)
	table := j.class.verdict(e.mode)
	switch {
	case isDenied == shell.Yes:
		j.verdict, j.rule = tool.Deny, "deny "+deny.text
	case table == tool.Deny:
		j.verdict = tool.Deny
	case isDenied == shell.Maybe:
		j.verdict, j.rule, j.maybe, j.forced = tool.Ask, "deny "+deny.text, true, true
	case isAsked != shell.No:
		j.verdict, j.rule, j.maybe, j.forced = tool.Ask, "ask "+ask.text, isAsked == shell.Maybe, true
	default:
		j.verdict = table
		if rule, ok := e.allowed(r, j.access, j.finding); ok && table != tool.Allow {
			j.verdict, j.rule = tool.Allow, "allow "+rule
		}
	}
	return j
}

// allowed looks for an allow rule, or one remembered, that covers an access.
func (e *engine) allowed(r tool.Request, a tool.Access, f finding) (string, bool) {
	for _, u := range e.rules.allow {
		if e.covers(u, r, a, f) {
			return u.text, true
		}
	}
	for _, m := range e.remembered {
		if m.origin == r.Declaration.Origin && e.covers(m.rule, r, a, f) {
			return m.rule.text, true
		}
	}
	return "", false
}

// accesses is what r touches. Only the word of a built-in tool is taken for it.
func accesses(r tool.Request) []tool.Access {
	if len(r.Access) == 0 || r.Declaration.Origin != "" {
		return []tool.Access{tool.Anything}
	}
	return r.Access
}
