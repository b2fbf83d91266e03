package configimport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/shellwords"
)

// claude reads the settings of Claude Code and of Qwen Code, which have the same keys for rules, hooks and servers.
func (r *reader) claude(path string, raw []byte) error {
	all, err := readJSON(raw)
	if err != nil {
		return err
	}
	r.servers(take[object](all, "mcpServers"), false)
	if filepath.Base(path) == ".claude.json" { // the rest is state
		return nil
	}
	p, t, m := take[object](all, "permissions"), take[object](all, "tools"), take[object](all, "model")
	for i, list := range ruleLists {
		for _, text := range takeTexts(p, list) {
			r.written(i, text, patterns)
		}
	}
	r.mode(cmp.Or(take[string](p, "defaultMode"), take[string](t, "approvalMode")))
	r.model(cmp.Or(take[string](all, "model"), take[string](m, "name")))
	if hooks := take[object](all, "hooks"); len(hooks) > 0 {
		r.changes["hooks"] = hooks
	}
	r.rest(p, permissions)
	r.rest(t, "tools.")
	r.rest(m, "model.")
	r.rest(all, "")
	return nil
}

// mode takes over an approval mode, unless it approves more than edits.
func (r *reader) mode(mode string) {
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(mode)) {
	case "", "default":
	case "plan":
		r.changes["tools.approvalMode"] = "plan"
	case "acceptedits", "autoedit":
		r.changes["tools.approvalMode"] = "auto-edit"
	default:
		r.left("approval mode "+mode, "choose it for a run with --approval-mode")
	}
}

// model takes over the full name of a model.
func (r *reader) model(name string) {
	if name != "" && !strings.ContainsAny(name, "0123456789") {
		r.left("model "+name, "not the full name of a model")
	} else if name != "" {
		r.changes["model.name"] = name
	}
}

func (r *reader) gemini(_ string, raw []byte) error {
	all, err := readJSON(raw)
	if err != nil {
		return err
	}
	t, g, m := take[object](all, "tools"), take[object](all, "general"), take[object](all, "model")
	for i, key := range [3]string{"exclude", "confirmationRequired", "allowed"} {
		for _, text := range takeTexts(t, key) {
			r.written(i, text, prefix)
			if i == 2 && strings.Contains(text, "(") {
				r.left("tools.allowed "+text, "other commands are denied by Gemini CLI; Adze asks")
			}
		}
	}
	if _, ok := t["core"]; ok {
		r.broken = "tools.core"
	}
	r.mode(take[string](g, "defaultApprovalMode"))
	r.model(cmp.Or(take[string](all, "model"), take[string](m, "name")))
	r.servers(take[object](all, "mcpServers"), false)
	r.rest(t, "tools.")
	r.rest(m, "model.")
	r.rest(all, "") // hooks of Gemini CLI get other input
	return nil
}

// prefixRule finds the rules of Codex, which are calls in Starlark.
var prefixRule = regexp.MustCompile(`(?s)prefix_rule\((.*?)\n?\)[ \t]*(?:\n|$)`)

var ruleField = regexp.MustCompile(`(?s)(pattern|decision)\s*=\s*(\[.*?\]|"[a-z]*")\s*(?:,|$)`)

func (r *reader) codex(path string, raw []byte) error {
	if filepath.Ext(path) == ".rules" {
		r.codexRules(string(raw))
		return nil
	}
	all, err := readTOML(raw)
	if err != nil {
		return err
	}
	sandbox, asks := take[string](all, "sandbox_mode"), take[string](all, "approval_policy")
	switch {
	case sandbox == "workspace-write" && (asks == "" || asks == "on-request"):
		r.mode("auto-edit") // commands that Codex runs in its sandbox require approval or a trial
	case sandbox != "" || asks != "":
		r.left("sandbox_mode, approval_policy", "no counterpart: Adze asks before it edits")
	}
	r.model(take[string](all, "model"))
	r.servers(take[object](all, "mcp_servers"), true)
	r.rest(all, "") // hooks of Codex have other names of tools
	return nil
}

func (r *reader) codexRules(text string) {
	rest := prefixRule.ReplaceAllStringFunc(text, func(call string) string {
		var words []any
		decision := `"allow"`
		for _, f := range ruleField.FindAllStringSubmatch(prefixRule.FindStringSubmatch(call)[1], -1) {
			if f[1] == "decision" {
				decision = f[2]
			} else if json.Unmarshal([]byte(f[2]), &words) != nil {
				return call
			}
		}
		list := slices.Index([]string{`"forbidden"`, `"prompt"`, `"allow"`}, decision)
		if list < 0 || len(words) == 0 {
			return call
		}
		quoted := []string{}
		for _, word := range words {
			text, ok := word.(string)
			if !ok {
				return call // alternatives
			}
			quoted = append(quoted, shellwords.Quote(text))
		}
		r.rule(list, "Shell", strings.Join(quoted, " "), prefix)
		return ""
	})
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			r.broken = "rules: " + line
			r.left(r.broken, "only prefix_rule with plain words is imported")
			return
		}
	}
}

func (r *reader) opencode(_ string, raw []byte) error {
	var ordered struct{ Permission json.RawMessage }
	all, err := readJSON(raw)
	if err == nil {
		err = json.Unmarshal(plain(raw), &ordered)
	}
	if err != nil {
		return err
	}
	delete(all, "permission")
	for i, tool := range members(ordered.Permission) {
		for j, one := range members(tool.value) {
			r.opencodeRule(tool.key, one.key, one.value, i == 0 && j == 0 || j == 0 && tool.key != "*")
		}
	}
	for name, on := range take[object](all, "tools") {
		if on == false {
			r.rule(0, name, "", wildcards)
		}
	}
	for _, key := range []string{"agent", "mode"} {
		if _, ok := all[key]; ok {
			r.broken = key
		}
	}
	if provider, name, ok := strings.Cut(take[string](all, "model"), "/"); ok && slices.Contains(
		[]string{"anthropic", "openai", "google"}, provider) {
		r.model(name)
	} else if provider != "" {
		r.left("model", "%s isn't a provider of Adze", provider)
	}
	r.servers(take[object](all, "mcp"), true)
	r.rest(all, "")
	return nil
}

// opencodeRule adds a rule. The last one that matches counts in opencode, the strictest in Adze.
func (r *reader) opencodeRule(tool, pattern string, raw json.RawMessage, first bool) {
	var action string
	_ = json.Unmarshal(raw, &action) // another value is unknown
	list := slices.Index(ruleLists[:], action)
	switch everything := pattern == "*"; {
	case list < 0:
		r.broken = "permission." + tool
		r.left(r.broken, "unknown action %s", raw)
	case action == "ask" && everything && first && (tool == "*" || toolOf(tool) == "Shell"):
		r.left("permission."+tool+" ask", "Adze's default mode asks, except before commands that only read")
	case tool == "*" && action == allow, toolOf(tool) == "" && action == allow:
		r.left("permission."+tool+" allow", "no counterpart")
	case tool == "*", tool == "external_directory":
		r.broken = "permission." + tool + " " + action
		r.left(r.broken, "no counterpart")
	default:
		r.rule(list, tool, pattern, wildcards)
	}
}

// member is a member of an object.
type member struct {
	key   string
	value json.RawMessage
}

// members returns the members of an object in their order; another value counts for every key.
func members(raw json.RawMessage) (all []member) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil
	}
	if raw[0] != '{' {
		return []member{{"*", raw}}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // it was valid
	for d.More() {
		key, _ := d.Token()
		one := member{key: key.(string)}
		if d.Decode(&one.value) != nil {
			return all
		}
		all = append(all, one)
	}
	return all
}
