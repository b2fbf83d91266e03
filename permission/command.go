package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// judgeText judges a command line in the current pass.
func (e *engine) judgeText(r *tool.Request, a tool.Access) judged {
	j := judged{access: a, finding: told(unknown, "runs a command")}
	script := e.read(a.Target, e.directory(r), filepath.ToSlash(e.world.Home))
	w := e.weigh(r)
	if script.err != nil {
		return e.unread(j, len(w.deny) > 0, script.err)
	}
	e.steps = 0
	sum, commands := w.judgeLine(script.Script)
	if e.exceeded {
		return e.unread(j, len(w.deny) > 0, errTooLong)
	}
	j.commands, j.forced = commands, sum.forced
	if len(script.Commands) == 0 && strings.TrimSpace(a.Target) == "" {
		sum.proved, sum.covered = false, false // its content is unknown
	}
	if script.hidden {
		sum.proved, sum.covered, sum.floor, j.forced = false, false, min(sum.floor, tool.Ask), true
	}
	j = w.concluded(j, script.Script, sum)
	j.try = j.try && !script.hidden && len(script.Commands) > 0
	switch what := "runs " + describe(script.Script); {
	case script.hidden:
		j.note = "contains invisible characters: " + tool.Visible(a.Target)
	case sum.floor != tool.Allow && sum.about != "":
		j.note = what + ": " + sum.about
	case sum.floor == tool.Allow && !(sum.covered && j.verdict == tool.Allow):
		j.note = sum.because(what, script.Script)
	default:
		j.note = what
	}
	return j
}

// lineVerdict combines the verdicts on the commands of a line.
type lineVerdict struct {
	floor    tool.Verdict // the strictest verdict of a rule
	rules    []tool.Rule  // that rule
	about    string       // the object of that rule, if not the command itself
	forced   bool
	first    bool         // a rule must be applied before it runs
	proved   bool         // all are read-only
	paths    tool.Verdict // the verdict on the paths of read-only commands
	covered  bool         // all are read-only or covered by rules
	by       []tool.Rule  // those rules
	open     string       // why one is neither
	unlisted []string     // programs that are neither, because they aren't on the read-only list
	asks     string       // the path of one that requires approval
	reads    []string     // paths that the sandbox must open for them
	anywhere bool         // and others, which are unknown
}

// judgeLine judges all commands of a script, and returns a verdict for each distinct one. It stops if there is too much to
// check.
func (w *commandJudge) judgeLine(script *bash.Script) (lineVerdict, []Reading) {
	var found []Reading
	t := lineVerdict{floor: tool.Allow, proved: !w.noReadOnly, paths: tool.Allow, covered: true}
	any := slices.ContainsFunc(w.allow, func(u *rule) bool { return u.whole })
	for _, n := range script.Notes {
		if read := (Reading{line: "it " + n.What + ": " + brief(n.Source)}); !slices.Contains(found, read) {
			found = append(found, read)
		}
		t.proved = t.proved && n.Held && w.pass == held
		t.covered = t.covered && any
	}
	for _, c := range script.Commands {
		s := w.verdict(c)
		if w.step(1) {
			return t, nil
		}
		if w.explain {
			text := c.String()
			if text == "" { // only a redirection
				text = c.Source
			}
			read := Reading{Why: s.why, line: brief(text) + ": " + s.why}
			if !c.MayRun {
				read.Text = visible(readingOf(c))
			}
			if !slices.Contains(found, read) { // a loop may run it several times
				found = append(found, read)
			}
		}
		t.add(s, !w.noReadOnly)
	}
	return t, found
}

func (t *lineVerdict) add(s *commandVerdict, readOnly bool) {
	if s.verdict < t.floor {
		t.floor, t.rules, t.about = s.verdict, s.ruled, s.about
	}
	t.forced, t.first = t.forced || s.forced, t.first || s.first
	if s.cmd.MayRun {
		return
	}
	t.proved = t.proved && s.proved
	t.paths = min(t.paths, s.paths)
	t.reads, t.anywhere = appendNew(t.reads, s.reads...), t.anywhere || s.anywhere
	sets := len(s.cmd.Words) == 0 && len(s.cmd.Prefix) > 0 // which affects commands that a rule allows
	runs := s.cmd.Values == nil                            // a for runs nothing itself
	switch free := s.proved && s.paths == tool.Allow && !sets; {
	case free && (readOnly || !runs):
	case s.covered != nil:
		if by := s.covered.cite(false); !slices.Contains(t.by, by) {
			t.by = append(t.by, by)
		}
	default:
		t.covered = false
		if s.unlisted != "" {
			t.unlisted = appendNew(t.unlisted, visible(s.unlisted))
		}
		if !s.proved && t.open == "" {
			t.open = s.why
		}
	}
	if s.proved && s.paths != tool.Allow && len(s.asks) > 0 && t.asks == "" {
		t.asks = s.asks[0].what()
	}
}

// because describes what the commands do, and why they are not allowed.
func (t *lineVerdict) because(what string, script *bash.Script) string {
	switch n := len(t.unlisted); {
	case n == 1:
		return "runs " + t.unlisted[0] + ", which is not on the read-only list"
	case n > mostNamed:
		return fmt.Sprintf("runs %s and %d more, which are not on the read-only list", strings.Join(t.unlisted[:mostNamed], ", "), n-mostNamed)
	case n > 1:
		return "runs " + strings.Join(t.unlisted[:n-1], ", ") + " and " + t.unlisted[n-1] + ", which are not on the read-only list"
	case t.open != "":
		return what + ": " + t.open
	case t.asks != "":
		return what + ": " + t.asks
	case len(script.Notes) > 0:
		return what + ": it " + script.Notes[0].What
	}
	return what
}

// concluded combines the verdicts: deny, plan, ask, allow, table.
func (w *commandJudge) concluded(j judged, script *bash.Script, t lineVerdict) judged {
	table := unknown.verdict(w.mode)
	if t.proved {
		table, j.proved, j.reads, j.anywhere = t.paths, true, t.reads, t.anywhere
		if j.class = otherRead; t.paths == tool.Allow {
			j.class = harmless
		}
	}
	switch {
	case t.floor == tool.Deny || table == tool.Deny:
		j.verdict, j.rules = tool.Deny, t.rules
	case t.floor == tool.Ask:
		j.verdict, j.rules = tool.Ask, t.rules
	case t.covered:
		j.verdict, j.rules = tool.Allow, t.by
	default:
		j.verdict = table
	}
	j.try = !t.first && t.floor > tool.Deny && !t.proved && w.ruledAfter()
	if j.verdict == tool.Ask && !j.forced && t.floor == tool.Allow && !w.offering {
		j.offers = w.commandOffers(script)
	}
	return j
}

// unread returns the judgment of a line that can't be parsed: bash may still run part of it.
func (e *engine) unread(j judged, denied bool, err error) judged {
	j.note = fmt.Sprintf("the command can't be checked: %v", err)
	j.forced = true
	j.verdict = tool.Ask
	if denied || e.mode == Plan || unknown.verdict(e.mode) == tool.Deny {
		j.verdict = tool.Deny
	}
	if denied {
		j.note += ", and deny rules for commands exist"
	}
	return j
}

// directory returns the directory that a command runs in.
func (e *engine) directory(r *tool.Request) string {
	dir := ""
	switch c := r.Confirm.(type) {
	case tool.Command:
		dir = c.Directory
	case tool.Effects:
		dir = c.Command.Directory
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
