package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// sentence is what was found out about one simple command.
type sentence struct {
	cmd     *shell.Command
	verdict tool.Verdict // Deny or Ask by a rule; else Allow
	forced  bool
	why     string
	proved  bool         // it is harmless, whatever its paths are
	paths   tool.Verdict // what its paths ask for in this mode, if it is proved
	covered bool         // an allow rule covers it
	asks    []finding    // paths that want an answer
}

// command judges a command line.
func (e *engine) command(r tool.Request, a tool.Access) judged {
	j := judged{access: a, finding: finding{class: unknown, what: "runs a command"}}
	shellDeny := e.shellRules(e.rules.deny, r)
	deadline := time.Now().Add(shell.MaxTime)
	script, err := shell.Read(a.Target, shell.Options{Dir: e.directory(r), Home: e.world.Home, Deadline: deadline})
	if err != nil {
		return e.unread(j, len(shellDeny) > 0, err)
	}
	what := "runs " + describe(script)
	j.what = what
	e.start()
	asked := e.shellRules(e.rules.ask, r)
	floor := tool.Allow
	proved, covered, paths := !e.noReadOnly && len(script.Notes) == 0, true, tool.Allow
	any := e.allowsAny(r)
	for _, n := range script.Notes {
		j.lines = append(j.lines, "it "+n.What+": "+show(n.Source))
		covered = covered && any
	}
	for _, c := range script.Commands {
		if time.Now().After(deadline) {
			return e.unread(j, len(shellDeny) > 0, shell.ErrTooSlow)
		}
		s := e.sentence(r, c, shellDeny, asked)
		if e.explain {
			j.lines = append(j.lines, show(c.String())+": "+s.why)
		}
		if s.verdict < floor {
			floor = s.verdict
			j.rule = s.why
		}
		j.forced = j.forced || s.forced
		if c.Guess {
			continue
		}
		proved = proved && s.proved
		paths = min(paths, s.paths)
		covered = covered && (s.covered || s.proved && !e.noReadOnly && s.paths == tool.Allow)
		if !s.proved && s.why != "" && j.finding.path == "" {
			j.what, j.finding.path = what+", and "+s.why, " "
		} else if s.proved && s.paths != tool.Allow && len(s.asks) > 0 {
			j.what = what + ", which " + s.asks[0].what
		}
	}
	j.finding.path = ""
	if len(script.Commands) == 0 {
		proved = proved && strings.TrimSpace(a.Target) != ""
	}
	if tool.Hidden(a.Target) {
		proved, covered, floor, j.forced = false, false, min(floor, tool.Ask), true
		j.what = "holds characters that cannot be seen: " + tool.Visible(a.Target)
		j.lines = append(j.lines, "it holds characters that cannot be seen")
	}
	return e.concluded(j, r, script, floor, proved, covered, paths)
}

// concluded puts the verdict together: deny, plan, ask, allow, table.
func (e *engine) concluded(j judged, r tool.Request, script *shell.Script, floor tool.Verdict, proved, covered bool, paths tool.Verdict) judged {
	table := unknown.verdict(e.mode)
	if proved {
		table, j.proved = paths, true
		if paths == tool.Allow {
			j.class = harmless
		} else {
			j.class = otherRead
		}
	}
	switch {
	case floor == tool.Deny || table == tool.Deny:
		j.verdict = tool.Deny
	case floor == tool.Ask:
		j.verdict = tool.Ask
	case covered:
		j.verdict = tool.Allow
		if j.rule = ""; !proved {
			j.rule = "allow rules"
		}
	default:
		j.verdict = table
	}
	if floor == tool.Allow && !covered {
		j.rule = ""
	}
	if j.verdict == tool.Ask && !j.forced && floor == tool.Allow && !e.offering {
		j.offers = e.commandOffers(script)
	}
	return j
}

// unread is the judgement of a line that was not read: bash may still run some of it.
func (e *engine) unread(j judged, denied bool, err error) judged {
	j.what = fmt.Sprintf("runs a command that was not judged (%v)", err)
	j.lines = []string{j.what}
	j.forced = true
	j.verdict = tool.Ask
	if denied || e.mode == Plan || unknown.verdict(e.mode) == tool.Deny {
		j.verdict = tool.Deny
	}
	if denied {
		j.rule = "deny rules on commands, which it cannot be held against"
	}
	return j
}

// directory is where a command runs.
func (e *engine) directory(r tool.Request) string {
	dir := ""
	if c, ok := r.Confirm.(tool.Command); ok {
		dir = c.Directory
	}
	if len(e.world.Roots) > 0 {
		if dir == "" {
			return filepath.ToSlash(e.world.Roots[0])
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.world.Roots[0], dir)
		}
	}
	return filepath.ToSlash(dir)
}

// shellRules are the rules of a list that are about commands.
func (e *engine) shellRules(list []rule, r tool.Request) []rule {
	return slices.DeleteFunc(slices.Clone(list), func(u rule) bool {
		return !(u.verb == shelling || u.ofTool(r.Declaration, false) && (u.whole || u.isCommand))
	})
}

// allowsAny reports whether a rule allows every command.
func (e *engine) allowsAny(r tool.Request) bool {
	for _, u := range e.allowRules(r) {
		if u.whole {
			return true
		}
	}
	return false
}

// allowRules are the allow rules about commands, those remembered included.
func (e *engine) allowRules(r tool.Request) []rule {
	var out []rule
	add := func(u rule) {
		if u.verb == shelling || u.ofTool(r.Declaration, true) && r.Declaration.Kind == tool.Execute && (u.whole || u.isCommand) {
			out = append(out, u)
		}
	}
	for _, u := range e.rules.allow {
		add(u)
	}
	for _, m := range e.remembered {
		if m.origin == r.Declaration.Origin {
			add(m.rule)
		}
	}
	return out
}

// sentence judges one simple command.
func (e *engine) sentence(r tool.Request, c *shell.Command, denied, asked []rule) sentence {
	s := sentence{cmd: c, verdict: tool.Allow, paths: tool.Allow}
	if u, m := matchCommand(denied, c); m == shell.Yes {
		s.verdict, s.why = tool.Deny, "denied by "+u.text
		return s
	} else if m == shell.Maybe {
		s.verdict, s.forced, s.why = tool.Ask, true, "may be what "+u.text+" denies"
	} else if u, m := matchCommand(asked, c); m != shell.No {
		s.verdict, s.forced, s.why = tool.Ask, true, "asked about by "+u.text
	}
	proof := c.Prove()
	if proof.Why == "" {
		for _, dir := range proof.Git {
			if why := e.runsGit(dir); why != "" {
				proof = shell.Proof{Why: why}
				break
			}
		}
	}
	if proof.Why == "" {
		s.proved = true
		e.touched(&s, r, proof.Touches, true)
	} else if !c.Guess {
		ts, all := c.Mentions()
		e.touched(&s, r, ts, all)
	}
	if s.why == "" {
		s.why = proof.Why
	}
	e.cover(&s, r)
	if s.why == "" {
		s.why = "read-only"
		if len(s.asks) > 0 {
			s.why = s.asks[0].what
		}
	}
	return s
}

// runsGit says why git may run a program in a folder.
func (e *engine) runsGit(dir string) string {
	why, known := e.git[dir]
	if !known {
		why = e.lookGit(dir)
		e.git[dir] = why
	}
	return why
}

func (e *engine) lookGit(dir string) string {
	if e.world.Disk == nil {
		return "what git runs here is not known"
	}
	program, known := e.world.Disk.Git(e.resolve(dir))
	switch {
	case !known:
		return "what git runs here could not be found out"
	case program != "":
		return "git is set up to run " + show(program)
	}
	return ""
}

func matchCommand(rules []rule, c *shell.Command) (rule, shell.Match) {
	var best rule
	sure := shell.No
	for _, u := range rules {
		m := shell.Yes
		if !u.whole {
			m = u.command.Match(c)
		}
		if m > sure {
			best, sure = u, m
		}
	}
	return best, sure
}

// cover says whether allow rules cover a command: its words to the letter, and nothing around them.
func (e *engine) cover(s *sentence, r tool.Request) {
	plain := s.cmd.Literal() && len(s.cmd.Prefix) == 0 && s.cmd.Place != shell.Substitution && s.cmd.Place != shell.Function && len(s.cmd.Words) > 0
	for _, d := range s.cmd.Redirs {
		plain = plain && !d.File && d.Target.Sort == shell.Literal
	}
	secret := slices.ContainsFunc(s.asks, func(f finding) bool { return f.exact })
	for _, u := range e.allowRules(r) {
		exact := !u.whole && u.command.Exact()
		if secret && !exact {
			continue
		}
		if u.whole || plain && u.command.Covers(s.cmd) {
			s.covered = true
			s.why = strings.TrimPrefix(s.why+"; allowed by "+u.text, "; ")
			return
		}
	}
}

// describe is a short name of what a script runs.
func describe(s *shell.Script) string {
	var names []string
	for _, c := range s.Commands {
		name := c.Name()
		if name == "" && len(c.Words) > 0 {
			name = c.Words[0].Text
		}
		if name = show(name); c.Guess || len(c.Words) == 0 || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
	}
	if n := len(names) - mostNamed; n > 0 {
		names = append(names[:mostNamed], fmt.Sprintf("%d more", n))
	}
	if len(names) == 0 {
		return "a command"
	}
	return strings.Join(names, ", ")
}
