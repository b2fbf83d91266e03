package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// candidates returns rules that cover an access, narrowest first. A rule on paths never covers more than the workspace
// or the directory: approving one file must not allow writes elsewhere.
func (e engine) candidates(r *tool.Request, j *judged) []string {
	whole := toolRule(&r.Declaration)
	switch {
	case j.access.Verb == tool.Execs && j.line == nil:
		return nil
	case j.access.Verb == tool.Execs:
		return j.line.offers()
	case j.class == connection:
		return networkRule(j.access.Target)
	case j.access.Verb == tool.Reaches:
		return append(hostRule(whole, j.access.Target), whole)
	case j.path == "":
		return []string{whole}
	case j.access.Verb == tool.Writes:
		return e.world.pathRules("Edit", &j.finding)
	}
	rules := e.world.pathRules("Read", &j.finding)
	if !j.exact && wrote(r, j.access.Target) {
		rules = append(rules, e.world.pathRules("Edit", &j.finding)...) // changing a file shows its old content
	}
	return rules
}

// offers returns the rules that would allow all accesses that require approval, narrowest first: single rules, or
// several joined by newlines for a command that needs more than one. Each offer was tried and allows the call.
func (e engine) offers(r tool.Request, asked []judged) []string {
	if r.MustAsk || len(asked) == 0 || slices.ContainsFunc(asked, func(j judged) bool { return j.forced }) {
		return nil // no rule answers it, and a saved one would allow something else
	}
	rules := e.candidates(&r, &asked[0])
	if len(asked) > 1 && slices.ContainsFunc(asked, func(j judged) bool { return j.class == opening }) {
		rules = e.offerOfEach(r, asked)
	} else if len(asked) > 1 && asked[0].access.Verb == tool.Execs {
		return nil
	}
	rules = slices.DeleteFunc(slices.Clone(rules), func(offer string) bool { return !e.allowedBy(r, offer) })
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// offerOfEach returns one offer with a rule for each access of a command that its sandbox is opened for.
func (e engine) offerOfEach(r tool.Request, asked []judged) []string {
	var all []string
	for _, j := range asked {
		rules := e.candidates(&r, &j)
		if len(rules) == 0 {
			return nil
		}
		all = append(all, rules[0])
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
	d, _ := e.judge(r)
	return d.Verdict == tool.Allow || d.Try
}

// SplitOffer splits an offer into its rules, to save them.
func SplitOffer(offer string) []string { return strings.Split(offer, "\n") }

// Extent says in a few words what an offer covers: "this file", "this project", "also allows docker ps --all". It is
// empty for a rule that says so itself.
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
	case r.verb == networking, r.verb == oneTool && isAddress(r.domain.host):
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

// toolRule returns the rule for a whole tool. An external tool is named by its full name, because it chooses its
// display name itself, and by its fingerprint: the approval is for this version of the tool.
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

// Outdated returns the beginning of the fingerprint in a rule by which the user allowed another version of r's tool, or
// "".
func (p *Policy) Outdated(r tool.Request) string { return p.now().outdated(&r.Declaration) }

func (e engine) outdated(d *tool.Declaration) string {
	for _, u := range slices.Backward(e.allows(d.Origin)) { // the last one is the newest
		if u.print != "" && u.ofTool(d, true) && !u.boundTo(d) {
			return u.print
		}
	}
	return ""
}

// pathRules returns the rules to offer on a path: for the path itself, then for its directory and the workspace.
func (w *World) pathRules(subject string, f *finding) (rules []string) {
	add := func(path, suffix string) {
		if p := w.spell(path); literal(p) {
			rules = append(rules, subject+"("+strings.TrimSuffix(p, "/")+suffix+")")
		}
	}
	directory := filepath.Dir(f.path)
	if f.dir {
		directory = f.path
	} else if add(f.path, ""); f.exact {
		return rules
	}
	if f.exact || !w.broad(directory) {
		add(directory, "/**")
	}
	for up := filepath.Dir(directory); !f.exact && up != directory; up = filepath.Dir(directory) {
		if directory = up; w.isRoot(up) {
			add(up, "/**")
		}
	}
	return rules
}

// spell writes a path as in rules: /… from the first root, otherwise //… from the root directory.
func (w *World) spell(path string) string {
	if len(w.roots) > 0 && lies(path, w.roots[0]) {
		if rel, err := filepath.Rel(w.roots[0], path); err == nil {
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
func (w *World) broad(directory string) bool {
	holdsRoot := func(root string) bool { return lies(root, directory) && root != directory }
	return lies(w.home, directory) || slices.ContainsFunc(w.roots, holdsRoot) || liesIn(directory, w.system) ||
		filepath.Dir(directory) == directory
}
