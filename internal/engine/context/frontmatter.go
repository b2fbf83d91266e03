package contextfiles

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
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
	Permissions any    `yaml:"permission"`     // opencode's
	Hint        string `yaml:"argument-hint"`
	Allowed     list   `yaml:"allowed-tools"`
	Manual      bool   `yaml:"disable-model-invocation"`
	body        string
	path        string
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
	if n.Kind == yaml.MappingNode { // opencode's: false removes a tool
		var given map[string]bool
		if err := n.Decode(&given); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !given[name] {
				*l = append(*l, removed+name)
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
	depth, commas := 0, false
	outside := func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0
	}
	for _, r := range value {
		commas = outside(r) && r == ',' || commas
	}
	depth = 0
	return trimmed(strings.FieldsFunc(value, func(r rune) bool {
		return outside(r) && (r == ',' || !commas && unicode.IsSpace(r))
	}))
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

const (
	// manualKey is the key of skills that only the user starts.
	manualKey = "disable-model-invocation"
	// hintKey is the key of a command's arguments. Most are written as "[file]", which is a list in YAML.
	hintKey = "argument-hint"
)

// maxFront is how much of a file is read for its front matter at first.
const maxFront = 2 << 10

// front reads only the front matter of a definition, which is approved by itself.
func (d definitionDir) front(rel string) (matter, error) {
	path := filepath.Join(d.dir, rel)
	if front, ok := d.beginning(path); ok && d.approved(rel, front, false) == nil {
		return readMatter(path, front)
	}
	f, err := d.open(rel) // a link, another encoding, a long one, or a changed one
	if err != nil {
		return matter{}, err
	}
	front, _, ok := split(f.text)
	if err := d.approved(rel, front, false); err != nil {
		return matter{}, err
	}
	if !ok {
		return matter{}, errNoFront(path)
	}
	return readMatter(f.path, front)
}

// beginning returns the front matter of an ordinary file. The directory has no links, so that a file that isn't one
// needs no other check.
func (d definitionDir) beginning(path string) (front string, ok bool) {
	f, err := nofollow.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	start := make([]byte, maxFront)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", false
	}
	text := string(start[:n])
	if n == maxFront {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	front, body, ok := split(text)
	return front, ok && (n < maxFront || body != "") && visible(front) == front && utf8.ValidString(front)
}

// whole reads a definition: front matter between two lines of three dashes, then the text.
func (d definitionDir) whole(rel string) (matter, error) {
	f, err := d.open(rel)
	if err == nil {
		err = d.approved(rel, f.text, true)
	}
	if err != nil {
		return matter{}, err
	}
	front, body, ok := split(f.text)
	if !ok {
		return matter{}, errNoFront(filepath.Join(d.dir, rel))
	}
	m, err := readMatter(f.path, front)
	m.body = strings.TrimSpace(body)
	return m, err
}

func errNoFront(path string) error {
	return fmt.Errorf("read %s: it does not begin with front matter between two lines of ---", path)
}

func readMatter(path, front string) (matter, error) {
	m, ok := plain(front)
	if !ok {
		var err error
		if m, err = fromYAML(front); err != nil {
			return matter{}, fmt.Errorf("read %s: its front matter is not the YAML that is expected", path)
		}
	}
	m.path, m.Description, m.Hint = path, humanize.Line(m.Description, maxAbout), humanize.Line(m.Hint, maxAbout)
	return m, nil
}

// fromYAML reads front matter, also with unquoted values that YAML rejects. The error is that of the matter as it is.
func fromYAML(front string) (m matter, err error) {
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
func plain(front string) (matter, bool) {
	var m matter
	texts := map[string]*string{
		"name": &m.Name, "description": &m.Description, "model": &m.Model, "mode": &m.Mode,
		"approvalMode": &m.Approval, "permissionMode": &m.Permission, hintKey: &m.Hint,
	}
	lists := map[string]*list{"tools": &m.Tools, "disallowedTools": &m.Without, "allowed-tools": &m.Allowed}
	seen := map[string]bool{}
	for line := range strings.Lines(front) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		special := strings.ContainsAny(key, " \t\"'#-[]{}|>&*!%@`?,") && lists[key] == nil && texts[key] == nil
		switch {
		case !ok, seen[key], special, key == manualKey, value == "", value == "null", value == "~",
			strings.ContainsAny(value[:1], "\"'[]{}|>&*!#%@`?,-"), strings.Contains(value, ": "),
			strings.Contains(value, " #"), strings.HasSuffix(value, ":"):
			return matter{}, false
		case texts[key] != nil:
			*texts[key] = value
		case lists[key] != nil:
			*lists[key] = splitList(value)
		}
		seen[key] = true
	}
	return m, true
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
	if name == "" || len([]rune(name)) > maxName || name[0] == '.' || strings.ContainsFunc(name, odd) {
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

// unique keeps the first of each name, ignoring case.
func unique[T any](all []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t T) bool {
		key := strings.ToLower(name(t))
		defer func() { seen[key] = true }()
		return seen[key]
	})
}
