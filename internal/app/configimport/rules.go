package configimport

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission"
)

// ruleLists are the lists of rules, the strongest first.
var ruleLists = [3]string{"deny", "ask", "allow"}

const (
	allowList   = "allow"
	permissions = "permissions."
)

// rule is a rule of another agent with its counterparts.
type rule struct {
	from string
	to   []string
}

// tools has Adze's names in rules, each with the names of tools of other agents for which it stands. An allow rule for
// Edit must be for all tools that edit: those have the first name.
const tools = `
Shell bash shell shelltool run_shell_command
Read read readfile readfiletool read_file
Edit edit write patch multiedit notebookedit writefile write_file replace edittool
WebFetch webfetch web_fetch webfetchtool
WebSearch websearch web_search google_web_search`

// forms has the specifiers that have counterparts: whose, of which tools, in which lists, the specifier as a regular
// expression, and its counterpart; "-": the name alone. The first row that fits counts. Read stands for Edit, too, and
// SLASH for where paths that begin with a slash are. In deny and ask, the counterpart counts also for what is below.
const forms = `
any          Shell     any      \*?                                     -
qwen         Shell     any      ([^*]+)                                 $1:*
claude,qwen  Shell     any      ([^:]+|[^:]*[^a-z_:][^:]*:.*|.*:\*)     $1
gemini,codex Shell     any      (.+)                                    $1:*
opencode     Shell     any      ([^?]+)                                 $1
any          Read      allow    [*/]*                                   /**
any          Read      deny,ask [*/]*                                   -
claude,qwen  Read      any      ((?://|~/)[^!\\{}]+)                    $1
claude,qwen  Read      any      \./([^!\\{}]+)                          /$1
claude,qwen  Read      any      /([^!\\{}]+)                            SLASH/$1
claude,qwen  Read      allow    ([^!\\{}/]+/\*\*)                       $1
qwen         Read      allow    ([^!\\{}/]+)                            /$1
claude,qwen  Read      any      ([^!\\{}/]+(?:/|/\*\*)?)                **/$1
claude,qwen  Read      any      ([^!\\{}]+)                             $1
opencode     Read      any      (\*\.[^*?[!\\{}]+)                      **/$1
opencode     Read      allow    ([^/~*?[!\\{}][^*?[!\\{}]*/)\*+         $1
opencode     Read      allow    ([^/~*?[!\\{}][^*?[!\\{}]*)             $1
opencode     Read      deny,ask /([^*?[!\\{}]+?)(?:/\*+)?               //$1
opencode     Read      deny,ask ([^/*?[!\\{}][^*?[!\\{}]*?)(?:/\*+)?    $1
any          WebFetch  any      \*?                                     -
any          WebFetch  deny,ask domain:(?:\*\.)?(.+)                    domain:$1
any          WebSearch any      \*?                                     -`

// rowOf returns the first name in the row of a table that has a name; "": none has it.
func rowOf(table, name string) string {
	for row := range strings.Lines(table) {
		names := strings.Fields(row)
		if slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(name, other) }) {
			return names[0]
		}
	}
	return ""
}

func deny(r *reader, at string, value any)  { r.list("deny", at, value) }
func ask(r *reader, at string, value any)   { r.list("ask", at, value) }
func allow(r *reader, at string, value any) { r.list(allowList, at, value) }

// list adds rules such as Bash(git:*).
func (r *reader) list(list, at string, value any) {
	all, _ := value.([]any)
	for _, one := range all {
		text, _ := one.(string)
		name, spec, given := strings.Cut(text, "(")
		inner, closed := strings.CutSuffix(spec, ")")
		if given && (!closed || inner == "") {
			name = "*" // it has no counterpart
		}
		if text != "" {
			r.rule(list, at+" "+text, name, inner)
		}
	}
}

// rule adds the counterparts of a rule. Without any it is omitted, and if it restricts something, so are allow rules.
func (r *reader) rule(list, from, name, spec string) {
	tool, to := rowOf(tools, name), []string(nil)
	switch {
	case tool == "Edit" && list == allowList && !strings.EqualFold(name, tool):
	case tool != "":
		to = r.counterparts(list, tool, spec)
		if tool == "Read" && list == "deny" && spec != "" && r.agent != "opencode" { // it denies edits, too
			to = append(to, r.counterparts(list, "Edit", spec)...)
		}
	case strings.HasPrefix(name, "mcp__") && spec == "" && !(list == allowList && name[5] == '*'):
		to = []string{name}
	case !strings.Contains(name, "*"): // a tool that others don't stand for
		r.left(from, "no counterpart")
		return
	}
	given := map[string][]permission.Written{}
	for _, text := range to {
		given[list] = append(given[list], permission.Written{Text: text})
	}
	_, ignored, err := permission.ReadRules(given[allowList], given["ask"], given["deny"])
	if err != nil || len(ignored) > 0 {
		to = nil
	}
	switch {
	case to != nil:
		r.rules[list] = append(r.rules[list], rule{from, to})
	case list == allowList:
		r.left(from, "no equal or stricter rule")
	default:
		restricts(r, from, nil)
	}
}

// counterparts returns Adze's rules for a tool and a specifier.
func (r *reader) counterparts(list, tool, spec string) []string {
	spec = strings.ReplaceAll(spec, "$HOME/", "~/")
	slash := r.slash
	if r.project {
		slash = ""
	}
	for row := range strings.Lines(strings.ReplaceAll(forms, "SLASH", slash)) {
		f := strings.Fields(row)
		fits := func(column int, word string) bool { return f[column] == "any" || strings.Contains(f[column], word) }
		if len(f) < 5 || !fits(0, r.agent) || !fits(2, list) || f[1] != tool && (f[1] != "Read" || tool != "Edit") {
			continue
		}
		form := regexp.MustCompile("^(?:" + f[3] + ")$")
		if !form.MatchString(spec) {
			continue
		}
		text := form.ReplaceAllString(spec, f[4])
		switch {
		case text == "-":
			return []string{tool}
		case f[1] != "Read", list == allowList && !strings.HasSuffix(text, "/"), strings.HasSuffix(text, "/**"):
			return []string{tool + "(" + text + ")"}
		case strings.HasSuffix(text, "/"):
			return []string{tool + "(" + text + "**)"}
		}
		return []string{tool + "(" + text + ")", tool + "(" + text + "/**)"}
	}
	return nil
}
