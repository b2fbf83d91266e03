package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// judgePaths compares the rules on paths with the paths that a command names. It also notes paths that no place lets
// the command read, so that the user is asked before it fails.
func (w *commandJudge) judgePaths(s *commandVerdict) {
	u, ruled := w.rules.on(reading, writing)
	if ruled && u.list == denyList && s.cmd.Undetermined() {
		s.decide(tool.Deny, u.cite(true), "may use other paths")
	}
	if s.cmd.MayRun && !ruled {
		return
	}
	all := match.Mentions(s.cmd, func(t match.Touch) bool {
		w.touch(s, t)
		return !w.step(1)
	})
	if ruled && !all && !s.cmd.MayRun && !s.free {
		s.suspect(u.cite(true), "may use other paths")
	}
}

// touch judges a path in a word of a command.
func (w *commandJudge) touch(s *commandVerdict, t match.Touch) {
	switch {
	case s.formed && t.Vague && t.Below: // which files it reads is known
	case t.Inside && w.disk != nil && !w.disk.Exists(t.Path[:strings.LastIndexByte(t.Path, '/')]+"/."):
	case t.Index:
		w.touchIndex(s, t)
	case t.Glob:
		w.touchGlob(s, t)
	default:
		w.touchOne(s, t, w.resolve(t.Path))
	}
}

// touchGlob judges what a pattern may match: all in its directory.
func (w *commandJudge) touchGlob(s *commandVerdict, t match.Touch) {
	if _, secret := names.MaySecret(t.Path); secret {
		if s.exact = true; s.cmd.Base() == "git" && !s.cmd.MayRun {
			s.asks = append(s.asks, &finding{
				class: otherRead, exact: true, act: "reads files that match ", target: t.Path,
				note: ", which may be secret",
			})
		}
	}
	if _, ruled := w.rules.on(reading, writing); !ruled {
		return
	}
	directory := t.Path[:strings.LastIndexByte(t.Path[:strings.IndexAny(t.Path, "*?[")], '/')+1]
	w.touchOne(s, t, w.resolve(directory+".")+"/")
}

// touchOne judges one path.
func (w *commandJudge) touchOne(s *commandVerdict, t match.Touch, path string) {
	sure := !t.Vague && !s.cmd.MayRun // it does touch it, if it runs
	reads, writes := tool.Access{Verb: tool.Reads, Target: path}, tool.Access{Verb: tool.Writes, Target: path}
	if !t.Writes {
		w.ruleOn(s, reads, sure, false)
	}
	if t.Writes || !t.Sure && !t.Vague && !s.formed { // an unknown command may write to its arguments too
		w.ruleOn(s, writes, sure && t.Sure, sure && t.Edits)
	}
	a := reads
	if t.Writes {
		a = writes
	}
	below := tool.Access{Verb: a.Verb, Target: path + "/"}
	if t.Below && path != "/" {
		w.ruleOn(s, below, false, false)
	}
	if !sure {
		return
	}
	f := w.world.look(a)
	s.exact = s.exact || f.exact && !w.granted(a, &f)
	if !t.Glob && !t.Part {
		w.reach(s, t, a, f)
	}
	if t.Below {
		f = w.world.look(below)
		s.exact = s.exact || f.exact && !w.granted(below, &f)
	}
}

// granted reports whether an allow rule on paths covers an access of a command.
func (w *commandJudge) granted(a tool.Access, f *finding) bool {
	return slices.ContainsFunc(w.paths.allow, func(u *rule) bool { return covers(u, w.bare, a, f) })
}

// ruleOn applies the rules on paths to an access of a command. A rule that may match counts only if the command isn't
// tried: a place enforces it. So does one that matches what a command edits.
func (w *commandJudge) ruleOn(s *commandVerdict, a tool.Access, sure, edits bool) {
	f := w.world.look(a)
	f.inCommand = true
	deny, isDenied := find(w.paths.deny, w.bare, a, &f)
	ask, isAsked := find(w.paths.ask, w.bare, a, &f)
	switch {
	case isDenied == match.Yes && sure:
		s.decide(tool.Deny, deny.cite(false), f.what())
	case isDenied != match.No:
		s.suspect(deny.cite(isDenied != match.Yes || !edits), f.what())
	case isAsked == match.Yes && sure:
		s.decide(tool.Ask, ask.cite(false), f.what())
	case isAsked != match.No:
		s.suspect(ask.cite(true), f.what())
	}
}

// reach notes a path that a command names and that no place lets it use: it would fail there with a message that
// misleads. A path that an allow rule covers is granted.
func (w *commandJudge) reach(s *commandVerdict, t match.Touch, a tool.Access, f finding) {
	f.inCommand = true
	outside := f.class == otherRead || f.class == outsideWrite && !w.world.inside(f.path)
	switch {
	case lies(f.path, w.world.spill) && f.path != "":
		s.reads = append(s.reads, a.Target)
	case f.path == "" || !outside, liesIn(f.path, w.world.readable) && !f.exact:
	case liesIn(f.path, []string{"/proc", "/dev", "/sys"}):
	case w.disk == nil || !(t.Writes && t.Sure) && !w.mayExist(s, &f):
	case w.granted(a, &f):
		s.reads = append(s.reads, a.Target)
	case !slices.ContainsFunc(s.asks, func(g *finding) bool { return g.path == f.path }):
		s.asks = append(s.asks, &f)
	}
}

// mayExist reports whether a path exists, or may be a secret in git's history.
func (w *commandJudge) mayExist(s *commandVerdict, f *finding) bool {
	return w.disk.Exists(f.path) || f.exact && s.cmd.Base() == "git"
}

// touchIndex applies the rules on reading to the files in git's index: git log -p prints their content, which no place
// hides. Deleted files aren't in the index.
func (w *commandJudge) touchIndex(s *commandVerdict, t match.Touch) {
	if _, ruled := w.rules.on(reading); !ruled || w.step(lookupSteps) {
		return
	}
	n := 0
	known := w.disk != nil && w.disk.Tracked(w.resolve(t.Path), func(path string) bool {
		if n++; hides(w.rules.deny, path) || hides(w.rules.ask, path) {
			a := tool.Access{Verb: tool.Reads, Target: path}
			if w.ruleOn(s, a, t.Sure && !s.cmd.MayRun, false); s.maybe != nil {
				s.decide(tool.Ask, s.maybe[0], s.maybeOf)
			}
			return s.verdict != tool.Deny
		}
		return n%16 != 0 || !w.step(1) // comparing a name is cheap
	})
	if !known {
		w.ruleOn(s, tool.Access{Verb: tool.Reads, Target: "*"}, false, false)
	}
}

// readsFreely reports whether a command that obviously only reads needs no approval for its paths. why says what does.
func (w *commandJudge) readsFreely(s *commandVerdict, r form.Reading) (ok bool, why string) {
	for _, dir := range r.Git {
		if why := w.runsGit(dir); why != "" {
			return false, why
		}
	}
	for _, p := range r.Paths {
		if w.disk == nil {
			return false, "the path " + show(p.Path) + " may be a link"
		}
		if why = w.readsPath(s, w.resolve(p.Path), p.Below && !p.Names); why != "" {
			return false, why
		}
	}
	return true, ""
}

// readsPath returns why reading a path needs approval.
func (w *commandJudge) readsPath(s *commandVerdict, path string, below bool) string {
	if w.step(1) {
		return errTooLong.Error()
	}
	targets := []string{path}
	if below && path != "/" {
		targets = append(targets, path+"/")
	}
	for _, target := range targets {
		a := tool.Access{Verb: tool.Reads, Target: target}
		f := w.world.look(a)
		f.inCommand = true
		j := w.byRules(w.paths, w.bare, a, &f)
		if len(j.rules) > 0 && j.verdict != tool.Allow {
			s.suspect(j.rules[0], f.what())
		}
		if j.verdict != tool.Allow {
			if w.world.place() == None || w.mayExist(s, &f) { // elsewhere it fails as it should
				s.asks = append(s.asks, &f)
			}
			return f.what()
		}
		if f.class != harmless || lies(f.path, w.world.spill) {
			s.reads = append(s.reads, path)
		}
	}
	if !below {
		return ""
	}
	switch secret, known := w.world.secretBelow(path); {
	case !known:
		return "reads files below " + show(path) + ", which may include secrets"
	case secret != "":
		return "reads files below " + show(path) + ", where " + show(secret) + " may be secret"
	}
	return ""
}

// on returns a deny or ask rule of one of the kinds, if there is one.
func (r Rules) on(kinds ...verb) (*rule, bool) {
	for _, list := range [][]*rule{r.deny, r.ask} {
		for _, u := range list {
			if slices.Contains(kinds, u.verb) {
				return u, true
			}
		}
	}
	return nil, false
}
