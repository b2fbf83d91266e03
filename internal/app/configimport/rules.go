package configimport

import "strings"

// ruleLists are the lists of rules, the strongest first.
var ruleLists = [3]string{"deny", "ask", "allow"}

const allow = "allow"

// rule is a rule of another agent with its counterparts.
type rule struct {
	from string
	to   []string
}

// syntax is how an agent writes the specifier of a rule.
type syntax int

const (
	patterns  syntax = iota // Claude Code's and Qwen Code's
	prefix                  // words that a command begins with
	wildcards               // opencode's: * is any text
)

// tools are the names of tools in rules of other agents.
var tools = map[string][]string{
	"Shell": {"bash", "shell", "shelltool", "run_shell_command"},
	"Read":  {"read", "readfile", "readfiletool", "read_file"},
	"Edit": {"edit", "write", "patch", "multiedit", "notebookedit", "writefile", "write_file", "replace",
		"edittool"},
	"WebFetch":  {"webfetch", "web_fetch", "webfetchtool"},
	"WebSearch": {"websearch", "web_search", "google_web_search"},
}

// toolOf returns Adze's name for the tool of a rule; "" for another tool.
func toolOf(name string) string {
	for tool, names := range tools {
		for _, other := range names {
			if strings.EqualFold(name, other) {
				return tool
			}
		}
	}
	return ""
}

// written adds a rule such as Bash(git:*).
func (r *reader) written(list int, text string, s syntax) {
	name, spec, given := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(spec, ")")
	if given && (!closed || inner == "") {
		r.without(list, permissions+ruleLists[list]+" "+text)
		return
	}
	r.rule(list, name, inner, s)
}

// without leaves out a rule, and allow rules if it restricts something.
func (r *reader) without(list int, from string) {
	if r.left(from, "no equal or stricter rule"); ruleLists[list] != allow {
		r.broken = from
	}
}

// rule adds the counterparts of a rule. Without any, it is left out; if it restricts something, so are allow rules.
func (r *reader) rule(list int, name, spec string, s syntax) {
	from := permissions + ruleLists[list] + " " + name
	if spec != "" {
		from += "(" + spec + ")"
	}
	var to []string
	tool := toolOf(name)
	switch {
	case strings.HasPrefix(name, "mcp__") && spec == "":
		to = []string{name}
	case tool == "Shell":
		to = shellRule(spec, s)
	case tool == "Read" || tool == "Edit":
		to = r.pathRule(tool, strings.ReplaceAll(spec, "$HOME/", "~/"), s, ruleLists[list] == allow)
	case tool != "" && (spec == "" || spec == "*"):
		to = []string{tool}
	case tool == "WebFetch" && ruleLists[list] != allow: // Adze's rule includes subdomains
		if host, ok := strings.CutPrefix(spec, "domain:"); ok {
			to = []string{"WebFetch(domain:" + strings.TrimPrefix(host, "*.") + ")"}
		}
	}
	for _, text := range to {
		if !valid(ruleLists[list], text) {
			to = nil
			break
		}
	}
	if to != nil {
		r.rules[list] = append(r.rules[list], rule{from, to})
		return
	}
	if tool == "" { // a tool that others don't stand for
		r.left(from, "no counterpart")
		return
	}
	r.without(list, from)
}

func shellRule(spec string, s syntax) []string {
	if spec == "" || spec == "*" {
		return []string{"Shell"}
	}
	if s == prefix {
		spec += ":*"
	}
	if s == wildcards && strings.Contains(spec, "?") {
		return nil
	}
	return []string{"Shell(" + spec + ")"}
}

// pathRule converts a pattern of paths. An allow rule for everything becomes one for the workspace.
func (r *reader) pathRule(tool, spec string, s syntax, allows bool) []string {
	switch {
	case strings.Trim(spec, "*/") == "" && allows:
		return []string{tool + "(/**)"}
	case strings.Trim(spec, "*/") == "":
		return []string{tool}
	case s == prefix || strings.ContainsAny(spec, `!\{}`) || s == wildcards && strings.ContainsAny(spec, "?["):
		return nil
	}
	inner := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(spec, "*."), "**"), "*")
	switch {
	case s == wildcards && strings.Contains(inner, "*"):
		return nil
	case s == wildcards && strings.HasPrefix(spec, "*."):
		spec = "**/" + spec
	case s == wildcards:
		if strings.HasSuffix(spec, "*") && !strings.HasSuffix(inner, "/") {
			return nil
		}
		if strings.HasPrefix(spec, "/") {
			spec = "/" + spec
		}
		spec = strings.TrimSuffix(strings.TrimSuffix(spec, "*"), "*")
	case strings.HasPrefix(spec, "//"), strings.HasPrefix(spec, "~/"):
	case strings.HasPrefix(spec, "/") && !r.project: // below the other agent's directory
		return nil
	case strings.HasPrefix(spec, "./"):
		spec = spec[1:]
	case !strings.Contains(strings.TrimSuffix(spec, "/"), "/"): // as in a .gitignore
		spec = "**/" + spec
	}
	whole := strings.TrimRight(spec, "/")
	switch {
	case whole != spec:
		return []string{tool + "(" + whole + "/**)"}
	case allows || strings.HasSuffix(spec, "/**"):
		return []string{tool + "(" + spec + ")"}
	}
	return []string{tool + "(" + spec + ")", tool + "(" + spec + "/**)"}
}
