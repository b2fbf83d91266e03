package configimport

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/jsonc"

	"github.com/adze-dev/adze/internal/engine/shellwords"
)

// mode takes over an approval mode, unless it approves more than edits.
func mode(r *reader, at string, value any) {
	text, _ := value.(string)
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(text)) {
	case "", "default", "manual":
	case "plan":
		r.changes["tools.approvalMode"] = "plan"
	case "acceptedits", "autoedit":
		r.changes["tools.approvalMode"] = "auto-edit"
	default:
		r.left(at+" "+text, "choose it for a run with --approval-mode")
	}
}

// sandbox takes over that Codex edits without asking. Commands that it runs in its sandbox are tried or need approval.
func sandbox(r *reader, at string, value any) {
	if value == "workspace-write" && r.file["approval_policy"] != "untrusted" {
		mode(r, at, "auto-edit")
	} else {
		r.left(at, "Adze asks before it edits")
	}
}

// model takes over the full name of a model.
func model(r *reader, at string, value any) {
	name, _ := value.(string)
	if provider, rest, _ := strings.Cut(name, "/"); r.agent == "opencode" {
		if name = rest; !slices.Contains([]string{"anthropic", "openai", "google"}, provider) {
			r.left(at, provider+" isn't a provider of Adze")
			return
		}
	}
	if !strings.ContainsAny(name, "0123456789") {
		r.left(at+" "+name, "not the full name of a model")
		return
	}
	r.changes["model.name"] = name
}

func hooks(r *reader, at string, value any) {
	if all, ok := value.(object); ok && len(all) > 0 {
		r.changes[at] = all
	}
}

// turnsOff takes over that servers or hooks are turned off.
func turnsOff(r *reader, at string, value any) {
	all, _ := value.([]any)
	r.off = append(r.off, func(key string) bool {
		name, server := strings.CutPrefix(key, serverKey)
		switch listed := slices.Contains(all, any(name)); at {
		case "mcp.excluded":
			return server && listed
		case "mcp.allowed":
			return server && !listed
		}
		return key == "hooks" && value == true
	})
}

// restricts reports what may restrict the agent. Without it, no allow rule is imported.
func restricts(r *reader, at string, _ any) {
	r.broken = at
	r.left(at, "no counterpart")
}

// switches takes over the tools that opencode turns off.
func switches(r *reader, at string, value any) {
	all, _ := value.(object)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == false {
			r.rule("deny", at+" "+name, name, "")
		}
	}
}

// lastRules takes over opencode's rules. The last one that matches counts there, and the strictest one in Adze, which
// differs if an earlier one is stricter. A first rule that asks about all commands is omitted: Adze asks anyway.
func lastRules(r *reader, at string, _ any) {
	var all struct{ Permission json.RawMessage }
	if json.Unmarshal(jsonc.ToJSON(r.raw), &all) != nil {
		return // it was valid before
	}
	byTool, firstTool := members(all.Permission)
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		ours := rowOf(tools, tool)
		patterns, firstPattern := members(byTool[tool])
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			var action string
			_ = json.Unmarshal(patterns[pattern], &action) // another value is unknown
			from := strings.Join([]string{at, tool, pattern, action}, " ")
			asks := pattern == "*" && firstPattern && (tool == "*" && firstTool || ours == "Shell")
			switch {
			case action == "ask" && (asks || tool == "external_directory"):
				r.left(from, "Adze's default mode asks, except before commands that only read")
			case action == allowList && ours == "":
				r.left(from, "no counterpart")
			case !slices.Contains(ruleLists[:], action), tool == "*", tool == "external_directory":
				restricts(r, from, nil)
			default:
				r.rule(action, from, tool, pattern)
			}
		}
	}
}

// members returns the members of an object, and whether * is the first one. Another value is that of *.
func members(raw json.RawMessage) (all map[string]json.RawMessage, first bool) {
	if json.Unmarshal(raw, &all) != nil {
		return map[string]json.RawMessage{"*": raw}, true
	}
	var b bytes.Buffer
	return all, json.Compact(&b, raw) == nil && strings.HasPrefix(b.String(), `{"*":`)
}

// prefixRules takes over the rules of Codex, which are calls in Starlark. If there is anything but calls with plain
// words, no allow rule is imported.
func prefixRules(r *reader, at string, _ any) {
	const (
		text  = `"(?:[^"\\\n]|\\.)*"`
		list  = `\[(?:` + text + `|\[(?:` + text + `|[\s,])*\]|[\s,])*\]`
		field = `#[^\n]*|(\w+)\s*=\s*(` + text + `|` + list + `)`
		call  = `#[^\n]*|prefix_rule\((?:` + field + `|[\s,])*\)`
	)
	fields := regexp.MustCompile(field)
	rest := regexp.MustCompile(call).ReplaceAllStringFunc(string(r.raw), func(text string) string {
		values := map[string]string{"decision": `"allow"`}
		for _, f := range fields.FindAllStringSubmatch(text, -1) {
			values[f[1]] = f[2]
		}
		var words []string
		err := json.Unmarshal(jsonc.ToJSON([]byte(values["pattern"])), &words)
		list := map[string]string{`"forbidden"`: "deny", `"prompt"`: "ask", `"allow"`: allowList}[values["decision"]]
		switch {
		case text[0] == '#':
			return ""
		case err != nil, list == "", len(words) == 0:
			return text
		}
		for i, word := range words {
			words[i] = shellwords.Quote(word)
		}
		spec := strings.Join(words, " ")
		r.rule(list, at+" "+values["decision"]+" "+spec, "bash", spec)
		return ""
	})
	if line, _, _ := strings.Cut(strings.TrimSpace(rest), "\n"); line != "" {
		restricts(r, at+" "+line, nil)
	}
}
