package contextfiles

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
)

// matter is the front matter of a definition. Unknown keys are ignored.
type matter struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Tools       list   `yaml:"tools"`
	Without     list   `yaml:"disallowedTools"`
	Model       string `yaml:"model"`
	Mode        string `yaml:"mode"`
	Approval    string `yaml:"approvalMode"`   // Qwen Code's key
	Permission  string `yaml:"permissionMode"` // Claude Code's key
	Permissions list   `yaml:"permission"`     // opencode's
	Kind        string `yaml:"kind"`           // Gemini CLI's
	Hint        string `yaml:"argument-hint"`
	Allowed     list   `yaml:"allowed-tools"`
	Manual      bool   `yaml:"disable-model-invocation"`
	body        string
	path        string
	long        bool // its description is longer than a skill's may be
}

// list is a list of names, also written as one string with commas or spaces.
type list []string

// UnmarshalYAML reads both forms.
func (l *list) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Tag != "!!null" {
			*l = splitList(n.Value)
		}
		return nil
	}
	if n.Kind == yaml.MappingNode { // opencode's: what isn't allowed as a whole is removed
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value := n.Content[i+1].Value; value != "true" && value != "allow" {
				*l = append(*l, removed+n.Content[i].Value)
			}
		}
		return nil
	}
	var names []string
	if err := n.Decode(&names); err != nil {
		return err
	}
	*l = trimmed(names)
	return nil
}

// removed begins the names of removed tools in a list of tools.
const removed = "-"

// splitList splits at commas, or at spaces if there are none, outside of parentheses: "Bash(git add:*) Read".
func splitList(value string) list {
	split := func(separates func(r rune) bool) []string {
		depth := 0
		return strings.FieldsFunc(value, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth == 0 && separates(r)
		})
	}
	names := split(func(r rune) bool { return r == ',' })
	if len(names) == 1 && names[0] == value {
		names = split(unicode.IsSpace)
	}
	return trimmed(names)
}

// trimmed returns the names that aren't empty. An empty list means no tools.
func trimmed(names []string) list {
	l := list{}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			l = append(l, name)
		}
	}
	return l
}

// hintKey is the key of a command's arguments. Most are written as "[file]", which is a list in YAML.
const hintKey = "argument-hint"

// read reads a definition: front matter between two lines of three dashes, then the text.
func (d definitionDir) read(path string, ignored *ignore.Rules) (m matter, err error) {
	f, err := d.open(path, ignored)
	front, body, ok := split(f.text)
	if err == nil && !ok {
		err = fmt.Errorf("read %s: it does not begin with front matter between two lines of ---", path)
	}
	if err != nil {
		return m, err
	}
	if m, err = fromYAML(front); err != nil {
		return matter{}, fmt.Errorf("read %s: its front matter is not the YAML that is expected", path)
	}
	m.path, m.body, m.long = f.path, strings.TrimSpace(body), utf8.RuneCountInString(m.Description) > maxSkillAbout
	m.Description, m.Hint = humanize.Line(m.Description, maxAbout), humanize.Line(m.Hint, maxAbout)
	return m, nil
}

// fromYAML reads front matter, also with unquoted values that YAML rejects. The error is that of the matter as it is.
func fromYAML(front string) (m matter, err error) {
	if m, ok := plain(front); ok {
		return m, nil
	}
	if err = yaml.Unmarshal([]byte(front), &m); err == nil {
		return m, nil
	}
	m = matter{}
	if yaml.Unmarshal([]byte(quoted(front)), &m) == nil {
		return m, nil
	}
	return matter{}, err
}

// plain reads front matter of lines such as "key: value", without YAML's other forms: a YAML parser for hundreds of
// files would delay the start.
func plain(front string) (m matter, ok bool) {
	values := map[string]string{}
	for line := range strings.Lines(front) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		value = strings.TrimSpace(value)
		_, twice := values[key]
		switch {
		case line == "\n":
			continue
		case !ok, twice, key == "permission", key == "disable-model-invocation", value == "", value == "null",
			value == "~", strings.ContainsAny(key, " \t\"'#[]{}|>&*!%@`?,"), strings.HasSuffix(value, ":"),
			strings.ContainsAny(value[:1], "\"'[]{}|>&*!#%@`?,-"), strings.Contains(value, ": "),
			strings.Contains(value, " #"):
			return matter{}, false
		}
		values[key] = value
	}
	listed := func(key string) list {
		if values[key] == "" {
			return nil
		}
		return splitList(values[key])
	}
	return matter{
		Name: values["name"], Description: values["description"], Model: values["model"], Mode: values["mode"],
		Approval: values["approvalMode"], Permission: values["permissionMode"], Hint: values[hintKey],
		Kind: values["kind"], Tools: listed("tools"), Without: listed("disallowedTools"),
		Allowed: listed("allowed-tools"),
	}, true
}

// quoted adds quotes around values on the line of their key. Other programs accept such lines unquoted, so many files
// have descriptions with colons, or hints such as [issue] [priority], which YAML rejects.
func quoted(front string) string {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		hint := strings.HasPrefix(value, "[") && (key == hintKey || strings.Contains(value, "] "))
		if !ok || value == "" || strings.ContainsAny(key, " \t\"'#[{") ||
			!hint && strings.ContainsRune("\"'[{|>&*!#", rune(value[0])) {
			continue
		}
		lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strings.Join(lines, "\n")
}

// check returns an error if a key is missing or invalid.
func (m matter) check() error {
	if m.Name == "" {
		return fmt.Errorf("read %s: its front matter has no name", m.path)
	}
	if err := checkName(m.path, m.Name); err != nil {
		return err
	}
	if m.Description == "" {
		return fmt.Errorf("read %s: its front matter has no description", m.path)
	}
	return nil
}

// checkName returns an error if a definition can't have a name.
func checkName(path, name string) error {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_:.-", r)
	}
	if name == "" || utf8.RuneCountInString(name) > maxName || name[0] == '.' || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("read %s: its name is not one of at most %d letters, digits and _ : . -", path, maxName)
	}
	return nil
}

func split(text string) (front, body string, ok bool) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", false
	}
	if body, ok := strings.CutPrefix(rest, "---\n"); ok {
		return "", body, true
	}
	front, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		front, ok = strings.CutSuffix(rest, "\n---")
	}
	return front, body, ok
}

// unique keeps the first of each name, ignoring case. hide is called with each other one; nil: nothing is.
func unique[T any](all []T, name func(T) string, hide func(first *T, other T)) (kept []T) {
	at := map[string]int{}
	for _, one := range all {
		key := strings.ToLower(name(one))
		i, there := at[key]
		switch {
		case !there:
			at[key] = len(kept)
			kept = append(kept, one)
		case hide != nil:
			hide(&kept[i], one)
		}
	}
	return kept
}
