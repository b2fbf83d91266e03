package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// command judges a command line.
func (e *engine) command(r *tool.Request, a tool.Access) judged {
	j := judged{access: a, finding: told(unknown, "runs a command")}
	script, err := e.read(a.Target, e.directory(r), e.world.Home)
	w := e.weigh(r)
	if err != nil {
		return e.unread(j, len(w.deny) > 0, err)
	}
	what := "runs " + describe(script)
	j.note = what
	floor, named := tool.Allow, false
	proved, covered, paths := !e.noReadOnly && len(script.Notes) == 0, true, tool.Allow
	any := slices.ContainsFunc(w.allow, func(u *rule) bool { return u.whole })
	for _, n := range script.Notes {
		j.lines = append(j.lines, "it "+n.What+": "+show(n.Source))
		covered = covered && any
	}
	for _, c := range script.Commands {
		s := w.sentence(c)
		if e.step() {
			return e.unread(j, len(w.deny) > 0, shell.ErrTooSlow)
		}
		if e.explain && c.First() == c {
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
		if !s.proved && s.why != "" && !named {
			j.note, named = what+", and "+s.why, true
		} else if s.proved && s.paths != tool.Allow && len(s.asks) > 0 {
			j.note = what + ", which " + s.asks[0].what()
		}
	}
	if e.overdue() {
		return e.unread(j, len(w.deny) > 0, shell.ErrTooSlow)
	}
	if len(script.Commands) == 0 {
		proved = proved && strings.TrimSpace(a.Target) != ""
	}
	if tool.Hidden(a.Target) {
		proved, covered, floor, j.forced = false, false, min(floor, tool.Ask), true
		j.note = "holds characters that cannot be seen: " + tool.Visible(a.Target)
		j.lines = append(j.lines, "it holds characters that cannot be seen")
	}
	return w.concluded(j, script, floor, proved, covered, paths)
}

// concluded puts the verdict together: deny, plan, ask, allow, table.
func (w *weighing) concluded(j judged, script *shell.Script, floor tool.Verdict, proved, covered bool, paths tool.Verdict) judged {
	e := w.engine
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
		j.offers = w.commandOffers(script)
	}
	return j
}

// unread is the judgement of a line that was not read: bash may still run some of it.
func (e *engine) unread(j judged, denied bool, err error) judged {
	j.note = fmt.Sprintf("runs a command that was not judged (%v)", err)
	j.lines = []string{j.note}
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
func (e *engine) directory(r *tool.Request) string {
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

// describe is a short name of what a script runs.
func describe(s *shell.Script) string {
	var names []string
	seen := map[string]bool{}
	for _, c := range s.Commands {
		name := c.Name()
		if name == "" && len(c.Words) > 0 {
			name = c.Words[0].Text
		}
		if c.Guess || len(c.Words) == 0 || seen[name] {
			continue
		}
		seen[name] = true
		if len(names) < mostNamed {
			names = append(names, show(name))
		}
	}
	if n := len(seen) - mostNamed; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	if len(names) == 0 {
		return "a command"
	}
	return strings.Join(names, ", ")
}
