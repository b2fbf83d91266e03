package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// command judges a command line: by rules on its text, and otherwise by the place that it runs in.
func (e *engine) command(r *tool.Request, a tool.Access) judged {
	if shell := commandOf(r).Shell; shell != "" {
		return e.byOtherShell(r, a, shell)
	}
	return e.judgeText(r, a)
}

// judgeText judges a line that bash runs.
func (e *engine) judgeText(r *tool.Request, a tool.Access) judged {
	j := judged{access: a, finding: told(unknown, "runs a command")}
	script, err := e.world.Lines.Read(a.Target,
		bash.Options{Dir: e.directory(r), Home: filepath.ToSlash(e.world.Home)})
	w := e.weigh(r)
	if err != nil {
		return e.unread(j, len(w.deny) > 0, err)
	}
	e.steps = 0
	t := w.judgeLine(script, tool.Hidden(a.Target))
	if e.exceeded {
		return e.unread(j, len(w.deny) > 0, errTooLong)
	}
	j.line = t
	return w.concluded(j, t)
}

// lineVerdict combines the verdicts on the commands of a line.
type lineVerdict struct {
	*bash.Script
	judge    *commandJudge
	commands []*commandVerdict

	byRule              // the strictest verdict of a rule
	hidden  bool        // it contains invisible characters
	free    bool        // all obviously only read
	covered bool        // all do, or are covered by rules
	by      []tool.Rule // those rules
	open    string      // why one doesn't obviously only read
	first   string      // why the user must be asked before it runs anywhere
	reads   []string    // paths that rules let them read
}

// judgeLine judges all commands of a script. It stops if there is too much to check.
func (w *commandJudge) judgeLine(script *bash.Script, hidden bool) *lineVerdict {
	t := &lineVerdict{
		Script: script, judge: w, byRule: byRule{verdict: tool.Allow}, hidden: hidden,
		free: !w.onlyRules && len(script.Notes) == 0,
	}
	t.covered = len(script.Notes) == 0 || slices.ContainsFunc(w.allow, func(u *rule) bool { return u.whole })
	for _, c := range script.Commands {
		s := w.judgeCommand(c)
		if w.step(1) {
			return t
		}
		t.commands = append(t.commands, s)
		t.add(s)
	}
	if hidden || len(script.Commands) == 0 { // its content is unknown
		t.free, t.covered = false, false
	}
	return t
}

func (t *lineVerdict) add(s *commandVerdict) {
	if s.verdict < t.verdict {
		t.verdict, t.rules, t.about = s.verdict, s.rules, s.about
	}
	if t.maybe == nil {
		t.maybe, t.maybeOf = s.maybe, s.maybeOf
	}
	if s.cmd.MayRun {
		return
	}
	t.free = t.free && s.free
	t.reads = append(t.reads, s.reads...)
	if t.open == "" && !s.free {
		t.open = s.open
	}
	if s.covered != nil {
		if by := s.covered.cite(false); !slices.Contains(t.by, by) {
			t.by = append(t.by, by)
		}
		return
	}
	sets := len(s.cmd.Words) == 0 && len(s.cmd.Prefix) > 0 // which affects commands that a rule allows
	t.covered = t.covered && s.free && !sets
	switch {
	case t.first != "":
	case len(s.asks) > 0:
		t.first = s.asks[0].what()
	case s.sends:
		t.first = "it " + publishes
	case s.network:
		t.first = "it needs the network"
	}
}

// concluded combines the verdicts: deny rules, plan mode, ask rules, allow rules, and then the place.
func (w *commandJudge) concluded(j judged, t *lineVerdict) judged {
	what, about := "runs "+describe(t.Script), t.about
	j.note, j.forced, j.reads = what, t.verdict != tool.Allow, t.reads
	table, place := unknown.verdict(w.mode), w.world.place()
	if j.free = t.free && place == None; j.free {
		table, j.class = tool.Allow, harmless
	}
	runs := w.mode == Yolo || t.covered && len(t.by) > 0 && w.mode != Plan // as it is
	rule, unhidden := w.unhidden()
	switch {
	case t.verdict == tool.Deny, table == tool.Deny:
		j.verdict, j.rules = tool.Deny, t.rules
	case t.hidden:
		j.verdict, j.forced = tool.Ask, true
	case t.verdict == tool.Ask:
		j.verdict, j.rules = tool.Ask, t.rules
	case t.maybe != nil && (runs || j.free || place == None):
		j.verdict, j.rules, j.forced, about = tool.Ask, t.maybe, true, t.maybeOf
		if u := t.maybe[0]; u.List == denyList && !u.Possible {
			j.verdict = tool.Deny
		}
	case unhidden && !runs:
		j.verdict, j.rules, j.forced, about = tool.Ask, []tool.Rule{rule.cite(true)}, true,
			"may read what the rule is about"
	case t.covered && len(t.by) > 0:
		j.verdict, j.rules = tool.Allow, t.by
	default:
		j.verdict = table
	}
	j.try = t.verdict == tool.Allow && t.first == "" && !unhidden && !t.hidden && len(t.Commands) > 0 && place != None
	switch {
	case t.hidden:
		j.note = "contains invisible characters: " + tool.Visible(j.access.Target)
	case j.verdict == tool.Deny && t.verdict == tool.Ask:
		j.note = what + ": plan mode denies what a rule asks about"
	case len(j.rules) > 0 && j.verdict != tool.Allow && about != "":
		j.note = what + ": " + about
	case j.verdict == tool.Allow:
	case t.first != "":
		j.note = what + ": " + t.first
	case t.open != "" && len(j.rules) == 0 && place == None:
		j.note = what + ": " + t.open
		if open, ok := strings.CutPrefix(t.open, describe(t.Script)); ok {
			j.note = what + ", which" + open
		}
	}
	return j
}

// unread returns the judgment of a line that can't be parsed: bash may still run part of it.
func (e *engine) unread(j judged, denied bool, err error) judged {
	j.note = fmt.Sprintf("the command can't be checked: %v", err)
	j.forced = true
	j.verdict = tool.Ask
	if denied || unknown.verdict(e.mode) == tool.Deny {
		j.verdict = tool.Deny
	}
	if denied {
		j.note += ", and deny rules for commands exist"
	}
	return j
}

// directory returns the directory that a command runs in.
func (e *engine) directory(r *tool.Request) string {
	dir := commandOf(r).Directory
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

// describe returns a short name for the commands of a script.
func describe(s *bash.Script) string {
	var names []string
	seen := map[string]bool{}
	for _, c := range s.Commands {
		name := c.Name()
		if name == "" && len(c.Words) > 0 {
			name = c.Words[0].Text
		}
		if c.MayRun || len(c.Words) == 0 || seen[name] {
			continue
		}
		seen[name] = true
		if len(names) < maxNamed {
			names = append(names, show(name))
		}
	}
	if n := len(seen) - maxNamed; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	if len(names) == 0 {
		return "a command"
	}
	return strings.Join(names, ", ")
}

// commandOf returns the command of a request, also of one that was tried.
func commandOf(r *tool.Request) tool.Command {
	if f, ok := r.Confirm.(tool.Effects); ok {
		return f.Command
	}
	c, _ := r.Confirm.(tool.Command)
	return c
}

// byOtherShell judges a line that bash doesn't run. Other shells read a line differently: to cmd, ' is no quote, and
// dash doesn't know $'…'. So the line is neither read-only nor covered by a rule on its words, nor tried. Deny rules
// are compared with it as if bash ran it. If there are rules that could be about it, the user decides in every mode.
func (e *engine) byOtherShell(r *tool.Request, a tool.Access, shell string) judged {
	read, w := e.judgeText(r, a), e.weigh(r)
	j := judged{access: a, finding: told(unknown, "runs with "+show(shell)+", not bash, so that it can't be checked")}
	if read.verdict != tool.Allow && read.forced { // by a rule, or it can't be read
		j.note, j.rules = read.note, read.rules
	}
	_, ruled := e.rules.on(reading, writing)
	j.forced = read.forced || ruled || len(w.deny) > 0 || len(w.ask) > 0
	all := slices.IndexFunc(w.allow, func(u *rule) bool { return u.whole })
	switch table := unknown.verdict(e.mode); {
	case read.verdict == tool.Deny || table == tool.Deny:
		j.verdict = tool.Deny
	case j.forced:
		j.verdict = tool.Ask
	case all >= 0:
		j.verdict, j.rules = tool.Allow, []tool.Rule{w.allow[all].cite(false)}
	default:
		j.verdict = table
	}
	return j
}
