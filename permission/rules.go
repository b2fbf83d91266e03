package permission

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// Rules are the rules of permissions.allow, ask and deny in settings. The zero value has none.
type Rules struct{ allow, ask, deny []*rule }

// Problem is an invalid rule.
type Problem struct {
	List   string // "allow", "ask" or "deny"
	Rule   string
	Source string // where it is written; "" if unknown
	Err    error
}

func (p Problem) Error() string {
	at := ""
	if p.Source != "" {
		at = p.Source + ": "
	}
	return fmt.Sprintf("%spermissions.%s: %q: %v", at, p.List, p.Rule, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

// Written is a rule as written.
type Written struct {
	Text   string
	Source string // settings file with line and column, or a flag; "" if unknown
}

// ParseRules reads rules whose source doesn't matter; see [ReadRules].
func ParseRules(allow, ask, deny []string) (Rules, []Problem, error) {
	written := func(texts []string) []Written {
		out := make([]Written, len(texts))
		for i, s := range texts {
			out[i].Text = s
		}
		return out
	}
	return ReadRules(written(allow), written(ask), written(deny))
}

// ReadRules reads rules. An invalid deny or ask rule is an error, because it would protect nothing. An invalid allow
// rule is skipped and reported.
func ReadRules(allow, ask, deny []Written) (rules Rules, ignored []Problem, err error) {
	var wrong []Problem
	rules.allow, ignored = parseAll(allowList, allow)
	if rules.deny, wrong = parseAll(denyList, deny); len(wrong) == 0 {
		rules.ask, wrong = parseAll(askList, ask)
	}
	if len(wrong) > 0 {
		return Rules{}, ignored, wrong[0]
	}
	return rules, ignored, nil
}

// The names of the lists, as settings have them.
const (
	allowList = "allow"
	askList   = "ask"
	denyList  = "deny"
)

// parseAll reads the rules of a list, and returns the invalid ones too.
func parseAll(list string, rules []Written) (out []*rule, wrong []Problem) {
	for _, w := range rules {
		r, err := parseRule(w.Text, list == denyList || list == askList)
		if err != nil {
			wrong = append(wrong, Problem{list, w.Text, w.Source, err})
			continue
		}
		r.list, r.source = list, w.Source
		out = append(out, r)
	}
	return out, wrong
}

// Unused returns the rules that name none of these tools, such as a mistyped deny rule, which protects nothing. Tools
// of servers that are not connected yet count as unknown.
func (r Rules) Unused(tools []tool.Declaration) []tool.Rule {
	var out []tool.Rule
	for _, u := range slices.Concat(r.deny, r.ask, r.allow) {
		if u.verb == oneTool && !slices.ContainsFunc(tools,
			func(d tool.Declaration) bool { return u.ofTool(&d, false) }) {
			out = append(out, u.cite(false))
		}
	}
	return out
}

// ToolNames returns the names of these tools in rules.
func ToolNames(tools []tool.Declaration) []string {
	names := []string{"Read", "Edit", "Shell", "Network"}
	for _, d := range tools {
		for _, name := range []string{d.Title(), d.Name} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// in returns the rules interpreted in a world.
func (r Rules) in(w World) Rules {
	return Rules{allow: allIn(r.allow, w), ask: allIn(r.ask, w), deny: allIn(r.deny, w)}
}

func allIn(list []*rule, w World) []*rule {
	out := make([]*rule, len(list))
	for i, u := range list {
		out[i] = u.in(w)
	}
	return out
}

// in returns the rule interpreted in a world: paths start at its home directory and its workspace.
func (r *rule) in(w World) *rule {
	if !r.isPath {
		return r
	}
	here := *r
	here.path = r.path.in(w)
	return &here
}

// verb is the object of a rule that isn't for one tool.
type verb int

const (
	oneTool    verb = iota
	reading         // Read: everything that reads paths
	writing         // Edit: everything that writes them
	shelling        // Shell: commands
	networking      // Network: connections of commands
)

// rule is a parsed rule.
type rule struct {
	text   string // as written
	list   string // allowList, askList or denyList
	source string // where it was written

	verb  verb
	name  string // of a tool, if verb is oneTool
	spec  string
	whole bool // no specifier, or (*)

	command   match.Pattern
	isCommand bool
	path      pathPattern
	isPath    bool
	domain    domain
	ends      []endpoint // of a rule on the network
	print     string     // the beginning of a fingerprint: the version of the tool that was allowed
}

// parseRule reads Tool or Tool(specifier).
func parseRule(text string, loose bool) (*rule, error) {
	r := &rule{text: text}
	s := strings.TrimSpace(text)
	name, rest, found := strings.Cut(s, "(")
	r.name = strings.TrimSpace(name)
	if r.name == "" || strings.ContainsAny(r.name, " \t)") {
		return r, errors.New(`missing tool name before "("`)
	}
	if tool.Hidden(text) || strings.Contains(text, "\n") {
		return r, errors.New("it contains invisible characters")
	}
	if !found {
		r.whole = true
	} else {
		spec, closed := strings.CutSuffix(rest, ")")
		if !closed {
			return r, errors.New("missing closing parenthesis")
		}
		if r.spec = strings.TrimSpace(spec); r.spec == "" {
			return r, errors.New("empty parentheses")
		}
		r.whole = r.spec == "*"
	}
	return r, r.interpret(loose)
}

// interpret reads the specifier, depending on the name.
func (r *rule) interpret(loose bool) error {
	var err error
	switch r.name {
	case "Read":
		r.verb = reading
	case "Edit":
		r.verb = writing
	case "Network":
		r.verb = networking
	case "Shell", "Bash":
		r.verb = shelling
	case "ShellTool":
		r.verb = shelling
		if !r.whole && !strings.HasSuffix(r.spec, "*") {
			r.spec += ":*"
		}
	}
	if strings.Contains(r.name, "*") && (r.verb != oneTool || strings.Index(r.name, "*") != len(r.name)-1 ||
		!strings.Contains(r.name, "__")) {
		if !loose {
			return errors.New("wildcards are allowed only at the end, after the server name (github__*)")
		}
	}
	if r.whole {
		return nil
	}
	switch r.verb {
	case shelling:
		r.command, err = match.ParsePattern(r.spec, loose)
		r.isCommand = err == nil
		return err
	case networking:
		r.ends, err = parseEndpoints(r.spec)
		return err
	case reading, writing:
		r.path, err = parsePathOn(runtime.GOOS, r.spec)
		r.isPath = err == nil
		return err
	}
	if host, ok := strings.CutPrefix(r.spec, "domain:"); ok {
		r.domain, err = parseDomain(host)
		return err
	}
	if print, ok := strings.CutPrefix(r.spec, printPrefix); ok {
		r.print, err = parsePrint(print)
		return err
	}
	// The tool's access decides what its specifier means: both are kept if both are valid.
	r.command, err = match.ParsePattern(r.spec, loose)
	r.isCommand = err == nil
	if r.path, err = parsePathOn(runtime.GOOS, r.spec); err == nil {
		r.isPath = true
	}
	if !r.isCommand && !r.isPath {
		return err
	}
	return nil
}

// printPrefix begins a specifier that binds a rule to a version of an external tool: github__search(print:0123…).
const printPrefix = "print:"

// printLength is the length of a fingerprint in a rule, and leastPrint the minimum length: two versions of a tool must
// not have the same prefix.
const (
	printLength = 40
	leastPrint  = 32
)

func parsePrint(s string) (string, error) {
	if len(s) < leastPrint || strings.Trim(s, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a valid fingerprint (expected %d or more hexadecimal digits)", s, leastPrint)
	}
	return s, nil
}

// boundTo reports whether a rule is bound to a tool's current fingerprint.
func (r *rule) boundTo(d *tool.Declaration) bool {
	return r.print != "" && strings.HasPrefix(d.Fingerprint, r.print)
}

// ofTool reports whether a rule names the tool of a declaration. strict is for allow rules: an external tool only
// matches by its own full name, and never by a name that looks like a built-in tool's.
func (r *rule) ofTool(d *tool.Declaration, strict bool) bool {
	if r.verb != oneTool {
		// An external tool that is called Bash or Read: a deny rule on that name denies it too.
		return !strict && r.whole && d.Origin != "" && r.name == d.Name
	}
	if d.Origin != "" && r.ofServer(d) {
		return true
	}
	if d.Origin != "" && strict {
		return r.name == d.Name && (r.name[0] < 'A' || r.name[0] > 'Z')
	}
	return r.calls(d)
}

// calls reports whether the rule's name is one that the tool declares.
func (r *rule) calls(d *tool.Declaration) bool {
	title, suffixed := strings.CutSuffix(r.name, "Tool")
	return r.name == d.Name || r.name == d.Title() || suffixed && title == d.Title() ||
		slices.Contains(d.Aliases, r.name) || slices.Contains(d.RuleNames, r.name)
}

// ofServer reads alias__tool, alias__*, mcp__alias__tool and mcp__alias.
func (r *rule) ofServer(d *tool.Declaration) bool {
	server, ok := strings.CutPrefix(d.Origin, "mcp:")
	if !ok {
		return false
	}
	name, mcp := strings.CutPrefix(r.name, "mcp__")
	if mcp && (name == server || name == "*") {
		return true
	}
	if head, star := strings.CutSuffix(name, "*"); star {
		return strings.HasPrefix(d.Name, head) && strings.HasPrefix(head, server+"__")
	}
	return mcp && name == d.Name || r.name == d.Name
}
