package contextfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Places are the directories of definitions. Paths are absolute.
type Places struct {
	User    []string // the user's own directories, such as $ADZE_HOME and ~/.qwen
	Project string   // the project's top directory; "": none
	Trusted bool     // whether the user trusts the project: if not, its definitions are ignored; see LeftOut
}

const (
	maxDefinition  = 64 << 10 // bytes of one file
	maxDefinitions = 200      // files of one directory
	maxName        = 64       // characters
	maxAbout       = 500      // characters of a description
)

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}\p{N}_:.-]+$`) })

// definitionDir is one directory of definitions.
type definitionDir struct {
	dir   string
	scope Scope
	roots []string // nil: links may lead anywhere
}

// directories returns the directories of one kind, strongest first: a definition hides those of the same name in later
// ones.
func (p Places) directories(kind string) (found []definitionDir) {
	if p.Trusted {
		for _, dir := range p.project(kind) {
			found = append(found, definitionDir{filepath.Join(p.Project, dir), Project, []string{real(p.Project)}})
		}
	}
	for _, dir := range p.User {
		found = append(found, definitionDir{dir: filepath.Join(dir, kind), scope: User})
	}
	return found
}

// project returns the directories of one kind that a project has, below its own.
func (p Places) project(kind string) (found []string) {
	if p.Project == "" {
		return nil
	}
	for _, own := range []string{".adze", ".qwen"} {
		if _, err := os.Stat(filepath.Join(p.Project, own, kind)); err == nil {
			found = append(found, filepath.Join(own, kind))
		}
	}
	return found
}

// LeftOut returns the project's directories that are ignored because it is not trusted.
func (p Places) LeftOut() []string {
	if p.Trusted {
		return nil
	}
	return append(p.project("agents"), p.project("skills")...)
}

// entries lists a directory, which may not exist.
func (p definitionDir) entries() ([]os.DirEntry, error) {
	if p.roots != nil {
		if _, ok := names.Within(real(p.dir), p.roots); !ok {
			return nil, fmt.Errorf("list %s: it is a link to a path outside %s", p.dir, p.roots[0])
		}
	}
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	if len(entries) > maxDefinitions {
		return entries[:maxDefinitions], fmt.Errorf("list %s: it has %d entries, and only the first %d are looked at",
			p.dir, len(entries), maxDefinitions)
	}
	return entries, nil
}

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
	body        string
	path        string
}

// list is a list of names, also written as one string with commas or spaces.
type list []string

// UnmarshalYAML reads both forms.
func (l *list) UnmarshalYAML(n *yaml.Node) error {
	var names []string
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!null" {
			return nil
		}
		names = strings.Split(n.Value, ",")
		if len(names) == 1 && !strings.Contains(n.Value, "(") {
			names = strings.Fields(n.Value)
		}
	} else if err := n.Decode(&names); err != nil {
		return err
	}
	*l = list{} // an empty list means no tools
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			*l = append(*l, name)
		}
	}
	return nil
}

// read reads a definition: front matter between two lines of three dashes, then the text.
func (p definitionDir) read(path string, ignored *ignore.Rules) (matter, error) {
	f, err := open(path, p.roots, ignored)
	if err != nil {
		return matter{}, err
	}
	if len(f.text) > maxDefinition {
		return matter{}, fmt.Errorf("read %s: it has more than %d KB; shorten it", path, maxDefinition>>10)
	}
	front, body, ok := split(f.text)
	if !ok {
		return matter{}, fmt.Errorf("read %s: it does not begin with front matter between two lines of ---", path)
	}
	var m matter
	if yaml.Unmarshal([]byte(front), &m) != nil {
		m = matter{}
		if yaml.Unmarshal([]byte(quoted(front)), &m) != nil {
			return matter{}, fmt.Errorf("read %s: its front matter is not the YAML that is expected", path)
		}
	}
	m.body, m.path = strings.TrimSpace(body), f.path
	m.Description = short(m.Description)
	return m, nil
}

// quoted adds quotes around values on the line of their key. Other programs accept such lines unquoted, so many files
// have descriptions with colons, which YAML rejects.
func quoted(front string) string {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || value == "" || strings.ContainsAny(key, " \t\"'#-[{") ||
			strings.ContainsRune("\"'[{|>&*!#", rune(value[0])) {
			continue
		}
		lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strings.Join(lines, "\n")
}

// check returns an error if a key is missing or invalid.
func (m matter) check() error {
	switch {
	case m.Name == "":
		return fmt.Errorf("read %s: its front matter has no name", m.path)
	case len([]rune(m.Name)) > maxName || !nameForm().MatchString(m.Name):
		return fmt.Errorf("read %s: its name is not one of at most %d letters, digits and _ : . -", m.path, maxName)
	case m.Description == "":
		return fmt.Errorf("read %s: its front matter has no description", m.path)
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

// short makes a description one line of limited length.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxAbout {
		return string(r[:maxAbout-1]) + "…"
	}
	return s
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
