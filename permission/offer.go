package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// candidate is a rule that would allow an access, in the syntax of permissions.allow.
type candidate struct {
	rule    string
	offered bool // narrow enough to be offered; the others may be common to several accesses
}

// candidates returns rules that cover an access, narrowest first. A rule on paths never covers more than the workspace or
// the directory: approving one file must not allow writes elsewhere.
func (w *World) candidates(r *tool.Request, a tool.Access, f *finding) []candidate {
	switch whole := (candidate{toolRule(&r.Declaration), true}); {
	case a.Verb == tool.Execs:
		return nil // see commandOffers
	case a.Verb == tool.Reaches:
		return append(hostRules(whole.rule, a.Target), whole)
	case f.path == "":
		return []candidate{whole}
	}
	subject := "Read"
	if a.Verb == tool.Writes {
		subject = "Edit"
	}
	cs := w.pathRules(subject, f)
	if f.exact {
		return cs
	}
	if a.Verb == tool.Reads && slices.Contains(r.Access, tool.Access{Verb: tool.Writes, Target: a.Target}) {
		cs = append(cs, w.pathRules("Edit", f)...) // changing a file shows its old content
	}
	return cs
}

// offers returns the rules that would allow all accesses that require approval, narrowest first: single rules, or several
// joined by newlines for a command that needs more than one. Each offer was tried and allows the call.
func (e engine) offers(r tool.Request, asked []judged) []string {
	if r.MustAsk {
		return nil // no rule answers it, and a saved one would allow something else
	}
	var rules []string
	for i, j := range asked {
		if j.forced {
			return nil
		}
		if len(asked) > 1 && slices.ContainsFunc(asked, func(j judged) bool { return j.class == opening }) {
			rules = e.offersOfEach(r, asked)
			break
		}
		if j.access.Verb == tool.Execs {
			if len(asked) > 1 {
				return nil
			}
			rules = j.offers
			break
		}
		cs := e.world.candidates(&r, j.access, &j.finding)
		if i == 0 {
			for _, c := range cs {
				if c.offered {
					rules = append(rules, c.rule)
				}
			}
			continue
		}
		rules = slices.DeleteFunc(rules, func(rule string) bool {
			return !slices.ContainsFunc(cs, func(c candidate) bool { return c.rule == rule })
		})
	}
	rules = slices.DeleteFunc(rules, func(offer string) bool { return !e.allowedBy(r, offer) })
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// offersOfEach returns one offer with a rule for each access of a command that its sandbox is opened for.
func (e engine) offersOfEach(r tool.Request, asked []judged) []string {
	var all []string
	for _, j := range asked {
		offers := j.offers
		if j.access.Verb != tool.Execs {
			offers = nil
			for _, c := range e.world.candidates(&r, j.access, &j.finding) {
				if c.offered {
					offers = append(offers, c.rule)
				}
			}
		}
		if len(offers) == 0 {
			return nil
		}
		all = append(all, offers[0])
	}
	return []string{strings.Join(all, "\n")}
}

// allowedBy reports whether an offer, once remembered, allows r.
func (e engine) allowedBy(r tool.Request, offer string) bool {
	e.remembered = slices.Clip(e.remembered)
	for _, text := range SplitOffer(offer) {
		u, err := parseRule(text, false)
		if err != nil {
			return false
		}
		e.remembered = append(e.remembered, memory{r.Declaration.Origin, u.in(e.world)})
	}
	e.offering = true
	d, _ := e.judge(r)
	return d.Verdict == tool.Allow || d.Try
}

// SplitOffer splits an offer into its rules, to save them.
func SplitOffer(offer string) []string { return strings.Split(offer, "\n") }

// Extent says in a few words what an offer covers: "this file", "this project", "also allows docker ps --all". It is empty
// for a rule that says so itself.
func Extent(offer string) string {
	var all []string
	for _, rule := range SplitOffer(offer) {
		all = appendNew(all, extent(rule))
	}
	if len(all) > 1 { // only what else they allow
		all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, "also ") })
	}
	return strings.Join(all, ", ")
}

func extent(offer string) string {
	r, err := parseRule(offer, false)
	switch {
	case err != nil || r.print != "":
		return ""
	case r.whole:
		return "every call"
	case r.verb == shelling && !r.command.Exact():
		if p, ok := prefixOf(r.command.Words()); ok {
			return "also allows " + p.example
		}
		return "with any further words"
	case r.verb == shelling:
		return "exactly these words"
	case r.verb == oneTool && isAddress(r.domain.host):
		return "this host"
	case r.verb == oneTool:
		return "this domain"
	case r.spec == "/**":
		return "this project"
	case strings.HasSuffix(r.spec, "/**"):
		return "this directory"
	}
	return "this file"
}

// toolRule returns the rule for a whole tool. An external tool is named by its full name, because it chooses its display
// name itself, and by its fingerprint: the approval is for this version of the tool.
func toolRule(d *tool.Declaration) string {
	switch {
	case d.Origin == "":
		return d.Title()
	case len(d.Fingerprint) < leastPrint:
		return d.Name
	}
	return d.Name + "(" + printPrefix + d.Fingerprint[:min(len(d.Fingerprint), printLength)] + ")"
}

// Bound reports whether a rule is bound to a version of an external tool, and to which tool.
func Bound(rule string) (name string, bound bool) {
	r, err := parseRule(rule, false)
	return r.name, err == nil && r.print != ""
}

// Outdated returns the beginning of the fingerprint in a rule by which the user allowed another version of r's tool, or "".
func (p *Policy) Outdated(r tool.Request) string { return p.now().outdated(&r.Declaration) }

func (e engine) outdated(d *tool.Declaration) string {
	old := ""
	note := func(u *rule) {
		if u.print != "" && u.ofTool(d, true) && !u.boundTo(d) {
			old = u.print // the last one is the newest
		}
	}
	for _, u := range e.rules.allow {
		note(u)
	}
	for _, m := range e.remembered {
		if m.origin == d.Origin {
			note(m.rule)
		}
	}
	return old
}

// pathRules returns the rules on a path: for the path itself, then for the directories above it.
func (w *World) pathRules(subject string, f *finding) []candidate {
	var cs []candidate
	add := func(path, suffix string, offered bool) {
		if p := w.spell(path); literal(p) {
			cs = append(cs, candidate{subject + "(" + strings.TrimSuffix(p, "/") + suffix + ")", offered})
		}
	}
	directory := filepath.Dir(f.path)
	if f.dir {
		directory = f.path
	} else {
		add(f.path, "", true)
	}
	if f.exact && !f.dir {
		return cs
	}
	add(directory, "/**", f.exact || !w.broad(directory))
	for up := filepath.Dir(directory); !f.exact && up != directory; up = filepath.Dir(directory) {
		add(up, "/**", w.isRoot(up))
		directory = up
	}
	return cs
}

// spell writes a path as in rules: /… from the first root, otherwise //… from the root directory.
func (w World) spell(path string) string {
	if len(w.Roots) > 0 && lies(path, w.Roots[0]) {
		if rel, err := filepath.Rel(w.Roots[0], path); err == nil {
			if rel == "." {
				return "/"
			}
			return "/" + filepath.ToSlash(rel)
		}
	}
	return "//" + strings.TrimPrefix(filepath.ToSlash(path), "/")
}

// literal reports whether a path, read as a rule, matches only itself, and has no invisible characters.
func literal(path string) bool {
	return !strings.ContainsAny(path, "*?[]{}\\\n\t") && !tool.Hidden(path)
}

// broad reports whether a directory is too large for one rule: it contains the home directory or the workspace.
func (w World) broad(directory string) bool {
	if lies(w.Home, directory) {
		return true
	}
	for _, r := range w.Roots {
		if lies(r, directory) && filepath.Clean(r) != directory {
			return true
		}
	}
	_, system := names.Within(directory, w.System)
	return system || filepath.Dir(directory) == directory
}
