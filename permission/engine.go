package permission

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// engine judges requests. It is immutable.
type engine struct {
	world      World
	rules      Rules
	mode       Mode
	onlyRules  bool // commands that obviously only read require a rule too
	remembered []memory
	*cache
}

// memory is a rule that the user approved with "always". It applies to tools of one origin, so that a discovered tool
// with the name of another gets no permissions.
type memory struct {
	origin string
	rule   *rule
}

// judged is the judgment of an access.
type judged struct {
	access tool.Access
	finding
	ruling
	line  *lineVerdict // of a command that was read
	free  bool         // a command that obviously only reads, where no place enforces it
	reads []string     // paths that its place lets a command read
}

// ruling is a verdict with its reasons.
type ruling struct {
	verdict tool.Verdict
	rules   []tool.Rule // the rules that decided, if any did
	forced  bool        // the user is asked in every mode
	try     bool        // nothing but the table prevents it from running: it runs in the session's place first
}

// cite returns the rule as the cause of a verdict.
func (r *rule) cite(possible bool) tool.Rule {
	return tool.Rule{List: r.list, Text: r.text, Source: r.source, Possible: possible}
}

// judge returns the strictest verdict over all accesses, and the accesses that led to it.
func (e *engine) judge(r tool.Request) (tool.Decision, []judged) {
	var strictest, all []judged
	verdict := tool.Allow
	rules := e.about(&r)
	for _, a := range accesses(r) {
		j := e.judgeAccess(&r, a, rules)
		all = append(all, j)
		if j.verdict < verdict {
			verdict, strictest = j.verdict, nil
		}
		if j.verdict == verdict {
			strictest = append(strictest, j)
		}
	}
	d := tool.Decision{Verdict: verdict, Cause: e.cause(strictest), Try: e.mayTry(all)}
	d.Reason = e.reason(r, d, strictest)
	switch {
	case d.Try:
		d.Grant = grant(all)
	case verdict == tool.Allow && onlyReads(all):
		d.Grant = append([]tool.Access{{Verb: tool.Reads, Target: "*"}}, grant(all)...)
	}
	return d, strictest
}

// mayTry reports whether a command runs in the session's place first. Yolo mode runs everything as it is.
func (e *engine) mayTry(all []judged) bool {
	command := false
	for _, j := range all {
		if j.verdict == tool.Allow {
			continue
		}
		if !j.try {
			return false
		}
		command = command || j.access.Verb == tool.Execs
	}
	return command && e.mode != Yolo
}

// grant returns the paths outside the workspace that rules let a command read.
func grant(all []judged) []tool.Access {
	var g []tool.Access
	for _, j := range all {
		for _, path := range j.reads {
			g = append(g, tool.Access{Verb: tool.Reads, Target: path})
		}
	}
	return g
}

// onlyReads reports whether a call runs only commands that obviously only read.
func onlyReads(all []judged) bool {
	free := false
	for _, j := range all {
		switch j.access.Verb {
		case tool.Execs:
			if !j.free {
				return false
			}
			free = true
		case tool.Reads, tool.Nothing.Verb:
		default:
			return false
		}
	}
	return free
}

// judgeAccess judges one access: deny rules, then plan's denials, then ask rules, then allow rules, then the table.
func (e *engine) judgeAccess(r *tool.Request, a tool.Access, rules Rules) judged {
	if a.Verb == tool.Execs {
		return e.command(r, a)
	}
	j := judged{access: a, finding: e.world.look(a)}
	if connects(r, a) {
		j.class, j.act, j.target = connection, "connects to ", strings.TrimSuffix(a.Target, ":443")
	}
	if a.Verb == tool.Writes && slices.ContainsFunc(r.Access,
		func(o tool.Access) bool { return o.Verb == tool.Execs }) {
		j.class = opening // a mode that relies on the sandbox doesn't open it
		j.note += ", and the sandbox protects it"
	}
	if _, tried := r.Confirm.(tool.Effects); tried && a.Verb == tool.Writes && j.dir && r.Declaration.Origin == "" {
		// The content is known, and would require the user if it were protected.
		if j.class = e.world.look(tool.Access{
			Verb: tool.Writes, Target: a.Target + "file",
		}).class; j.class == insideWrite {
			j.exact = false
		}
	}
	j.ruling = e.byRules(rules, r, a, &j.finding)
	j.try = j.try && j.class == opening
	return j
}

// about returns the rules that may apply to an access of r other than a command; allow includes the remembered ones.
func (e *engine) about(r *tool.Request) Rules {
	about := func(list []*rule, strict bool) (out []*rule) {
		for _, u := range list {
			if u.verb == reading || u.verb == writing || u.verb == networking || u.ofTool(&r.Declaration, strict) {
				out = append(out, u)
			}
		}
		return out
	}
	return Rules{
		deny: about(e.rules.deny, false), ask: about(e.rules.ask, false),
		allow: about(e.allows(r.Declaration.Origin), true),
	}
}

// allows returns the allow rules for tools of an origin: those of settings, and those that the user approved.
func (e *engine) allows(origin string) []*rule {
	list := slices.Clip(e.rules.allow)
	for _, m := range e.remembered {
		if m.origin == origin {
			list = append(list, m.rule)
		}
	}
	return list
}

// byRules judges an access other than a command by rules.
func (e *engine) byRules(rules Rules, r *tool.Request, a tool.Access, f *finding) (j ruling) {
	deny, isDenied := find(rules.deny, r, a, f)
	ask, isAsked := find(rules.ask, r, a, f)
	table := f.class.verdict(e.mode)
	j.try = isDenied == match.No && isAsked == match.No
	switch {
	case isDenied == match.Yes:
		j.verdict, j.rules = tool.Deny, []tool.Rule{deny.cite(false)}
	case table == tool.Deny:
		j.verdict = tool.Deny
	case isDenied == match.Maybe:
		j.verdict, j.rules, j.forced = tool.Ask, []tool.Rule{deny.cite(true)}, true
	case isAsked != match.No:
		j.verdict, j.rules, j.forced = tool.Ask, []tool.Rule{ask.cite(isAsked == match.Maybe)}, true
	default:
		if j.verdict = table; table == tool.Allow {
			break
		}
		for _, u := range rules.allow {
			if covers(u, r, a, f) {
				j.verdict, j.rules = tool.Allow, []tool.Rule{u.cite(false)}
				break
			}
		}
	}
	return j
}

// accesses returns the accesses of r. Only built-in tools are trusted to declare them.
func accesses(r tool.Request) []tool.Access {
	if len(r.Access) == 0 || r.Declaration.Origin != "" {
		return []tool.Access{tool.Anything}
	}
	return r.Access
}

// cache has the facts found while one request is judged, independent of rules and mode: commands name the same paths
// again and again, and offers are tried with known facts. It never outlives the judgment, because files change.
type cache struct {
	disk     Disk // nil: unknown
	steps    int  // of the line that is being judged
	exceeded bool // a line needed more than maxSteps

	git map[string]string // see runsGit
}

// begin returns an engine for one judgment.
func (e engine) begin() engine {
	e.cache = &cache{git: map[string]string{}}
	if e.world.Disk != nil {
		e.disk = e.world.Disk()
	}
	return e
}

// maxSteps bounds the work on one line, in place of its time: a verdict must not depend on how busy the machine is. A
// step is a command or a path that is compared with the rules. Commands that people write need a few hundred.
const maxSteps = 1 << 14

// lookupSteps is the cost of a question that makes the disk search or read files, which the disk bounds too.
const lookupSteps = 16

var errTooLong = errors.New("the command takes too many steps to check")

// step counts n steps and reports whether the limit was exceeded.
func (l *cache) step(n int) bool {
	l.steps += n
	l.exceeded = l.exceeded || l.steps > maxSteps
	return l.exceeded
}

// resolve returns the canonical path, "*" if it is unknown.
func (l *cache) resolve(path string) string {
	if l.disk == nil {
		return filepath.Clean(path)
	}
	return l.disk.Resolve(path)
}

// runsGit says why git may run a program in a directory, or show files outside the workspace.
func (e *engine) runsGit(dir string) string {
	why, known := e.git[dir]
	if !known {
		e.step(lookupSteps)
		why = e.lookGit(dir)
		e.git[dir] = why
	}
	return why
}

func (e *engine) lookGit(dir string) string {
	if e.disk == nil {
		return "can't determine which programs git runs here"
	}
	at := e.resolve(dir)
	top, program, known := e.disk.Git(at)
	switch {
	case !known:
		return "can't determine which programs git runs here"
	case program != "":
		return "git is configured to run " + show(program)
	case top != "" && !e.world.inside(top):
		return "the repository begins outside the workspace"
	}
	return ""
}
