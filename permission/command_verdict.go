package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// byRule is what rules say about a command.
type byRule struct {
	verdict tool.Verdict // Deny or Ask by a rule; else Allow
	rules   []tool.Rule  // that rule
	about   string       // its object, if not the command itself
	maybe   []tool.Rule  // a rule on paths that may apply, which a place enforces
	maybeOf string       // its object
}

// commandVerdict is the verdict on one simple command.
type commandVerdict struct {
	cmd *bash.Command
	byRule
	why     string     // the verdict in words
	open    string     // why it doesn't obviously only read
	formed  bool       // it obviously only reads
	free    bool       // and only what needs no approval
	covered *rule      // an allow rule that covers it
	exact   bool       // it names a secret or a protected path: only a rule with exactly its words covers it
	asks    []*finding // paths that it names, and that no place lets it use
	network bool       // it needs the network, which trials here don't have
	sends   bool       // it publishes something
	reads   []string   // paths that rules let it read
}

// commandJudge judges the commands of a line by rules and mode.
type commandJudge struct {
	*engine
	deny, ask, allow []*rule       // rules about commands; allow includes the remembered ones
	paths            Rules         // rules about paths, by any tool
	bare             *tool.Request // the request that paths in a command are judged with: of no tool
}

// weigh selects the rules for the commands of r.
func (e *engine) weigh(r *tool.Request) *commandJudge {
	w := &commandJudge{
		engine: e, bare: &tool.Request{Declaration: tool.Declaration{Origin: r.Declaration.Origin}},
	}
	w.paths = e.about(w.bare)
	d := &r.Declaration
	about := func(list []*rule, strict bool) (out []*rule) {
		for _, u := range list {
			if u.verb == shelling ||
				u.ofTool(d, strict) && (u.whole || u.isCommand) && (!strict || d.Kind == tool.Execute) {
				out = append(out, u)
			}
		}
		return out
	}
	w.deny, w.ask, w.allow = about(e.rules.deny, false), about(e.rules.ask, false), about(e.allows(d.Origin), true)
	return w
}

// judgeCommand judges one simple command.
func (w *commandJudge) judgeCommand(c *bash.Command) *commandVerdict {
	s := &commandVerdict{cmd: c, byRule: byRule{verdict: tool.Allow}}
	if u, m := matchCommand(w.deny, c); m >= match.Undecided {
		s.decide(tool.Deny, u.cite(m != match.Yes), "")
		return s
	} else if m == match.Maybe {
		s.decide(tool.Ask, u.cite(true), "")
	} else if u, m := matchCommand(w.ask, c); m != match.No {
		s.decide(tool.Ask, u.cite(m == match.Maybe), "")
	}
	reading, why := form.Read(c)
	if s.open, s.formed = why, why == ""; s.formed {
		s.free, s.open = w.readsFreely(s, reading)
		s.free = s.free && !(w.onlyRules && c.Values == nil)
	}
	w.judgePaths(s)
	s.network = !c.MayRun && !w.brokered() && match.NeedsNetwork(c)
	s.sends = !c.MayRun && match.Publishes(c)
	w.cover(s)
	switch {
	case s.why != "":
	case s.free:
		s.why = "only reads"
	case len(s.asks) > 0:
		s.why = s.asks[0].what()
	case s.sends:
		s.why = publishes
	case s.network:
		s.why = "needs the network"
	default:
		s.why = "no rule matches it"
	}
	return s
}

func matchCommand(rules []*rule, c *bash.Command) (*rule, match.Match) {
	var best *rule
	sure := match.No
	for _, u := range rules {
		m := match.Yes
		if !u.whole {
			m = u.command.Match(c)
		}
		if m > sure {
			best, sure = u, m
		}
	}
	return best, sure
}

// fed reports whether a command, or one that runs it, reads from a pipe, a file or a here-document.
func fed(c *bash.Command) bool {
	for ; c != nil; c = c.By {
		if c.Stdin != nil || slices.ContainsFunc(c.Redirs, func(d bash.Redirect) bool {
			return d.Op[0] == '<' && (d.Number == "" || d.Number == "0")
		}) {
			return true
		}
	}
	return false
}

// cover reports whether allow rules cover a command: exactly its words, and nothing around them. A rule without further
// words covers only a command without input, which could be a program to run, unless the input is data for sure.
func (w *commandJudge) cover(s *commandVerdict) {
	plain := match.IsLiteral(s.cmd) && len(s.cmd.Prefix) == 0 && s.cmd.Place != bash.Substitution &&
		s.cmd.Place != bash.Function && len(s.cmd.Words) > 0
	for _, d := range s.cmd.Redirs {
		plain = plain && !d.File && d.Target.Kind == bash.Literal
	}
	input := fed(s.cmd) && !s.formed && s.cmd.Name() != "tee"
	for _, u := range w.allow {
		if s.exact && (u.whole || !u.command.Exact()) {
			continue
		}
		if input && !u.whole && u.command.Exact() {
			continue // python3 <<EOF: the words are not all that was approved
		}
		if u.whole || plain && u.command.Covers(s.cmd) {
			s.covered = u
			s.also(u.cite(false).String())
			return
		}
	}
}

// publishes is what can't be tried: it has effects on other machines.
const publishes = "publishes something, which can't be undone"

// brokered reports whether commands that weren't approved reach the hosts that rules or the user allow.
func (e *engine) brokered() bool {
	return e.world.Network && e.mode != Plan && e.world.place() == Overlay
}

// decide makes the verdict as strict as a rule requires. what is the rule's object, if it isn't the command itself.
func (s *commandVerdict) decide(v tool.Verdict, by tool.Rule, what string) {
	if v < s.verdict {
		s.verdict, s.rules, s.about = v, []tool.Rule{by}, what
		if what != "" {
			what += ": "
		}
		s.also(what + by.String())
	}
}

// suspect notes a rule on paths that may apply: it counts where nothing enforces it.
func (s *commandVerdict) suspect(by tool.Rule, what string) {
	if s.maybe == nil || by.List == denyList && s.maybe[0].List != denyList {
		s.maybe, s.maybeOf = []tool.Rule{by}, what
	}
}

// also adds to why.
func (s *commandVerdict) also(why string) { s.why = strings.TrimPrefix(s.why+"; "+why, "; ") }
