// Package configimport reads the settings of other agents and plans their counterparts in Adze's settings. Rules become
// equal or stricter ones, and values that may be keys or tokens aren't copied.
package configimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/jsonc"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/permission"
)

// Plan is what an import would write.
type Plan struct {
	Read    []string // files
	Changes []Change
	Left    []string // what isn't imported, and why
}

// Change is a rule to add, a server, or another setting.
type Change struct {
	Key   string // such as permissions.deny, mcpServers.NAME or model.name
	Value json.RawMessage
}

const maxFile = 1 << 20

// agent is where an agent has its settings and how they are read.
type agent struct {
	files []string // below the home directory or the project's top
	read  func(r *reader, path string, raw []byte) error
}

// agents has the agents by name.
func agents() map[string]agent {
	return map[string]agent{
		"claude": {[]string{".claude/settings.json", ".claude/settings.local.json", ".claude.json"}, (*reader).claude},
		"codex":  {[]string{".codex/config.toml", ".codex/rules/default.rules"}, (*reader).codex},
		"gemini": {[]string{".gemini/settings.json"}, (*reader).gemini},
		"qwen":   {[]string{".qwen/settings.json"}, (*reader).claude},
		"opencode": {[]string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", "opencode.json",
			"opencode.jsonc"}, (*reader).opencode},
	}
}

// Agents returns the names of the agents whose settings can be imported.
func Agents() []string { return slices.Sorted(maps.Keys(agents())) }

// Read plans the import of an agent's settings below a directory: the user's home, or a project. current is the text of
// the settings file to change, whose values stay.
func Read(name, dir string, project bool, current []byte) (Plan, error) {
	a, ok := agents()[name]
	if !ok {
		return Plan{}, fmt.Errorf("unknown agent %q (expected %s)", name, strings.Join(Agents(), ", "))
	}
	r := &reader{project: project, changes: map[string]any{}}
	if err := json.Unmarshal(plain(current), &r.current); err != nil {
		return Plan{}, fmt.Errorf("read your settings: %w", err)
	}
	for _, file := range a.files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
			err = fmt.Errorf("it isn't a regular file of at most %d MB", maxFile>>20)
		}
		var raw []byte
		if err == nil {
			raw, err = os.ReadFile(path)
		}
		if err == nil {
			err = a.read(r, path, raw)
		}
		if err != nil {
			return Plan{}, fmt.Errorf("read %s: %w", path, err)
		}
		r.plan.Read = append(r.plan.Read, path)
	}
	r.finish()
	return r.plan, nil
}

func plain(raw []byte) []byte {
	if raw = jsonc.ToJSON(raw); len(strings.TrimSpace(string(raw))) == 0 {
		return []byte("{}")
	}
	return raw
}

func readJSON(raw []byte) (all object, err error) { return all, json.Unmarshal(plain(raw), &all) }

// object is a decoded object.
type object = map[string]any

// reader collects a plan.
type reader struct {
	project bool
	current object
	changes object // settings and servers
	rules   [3][]rule
	broken  string // a deny or ask rule without a counterpart
	plan    Plan
}

func (r *reader) left(what, format string, args ...any) {
	r.plan.Left = append(r.plan.Left, what+": "+fmt.Sprintf(format, args...))
}

// rest reports the keys that nothing took.
func (r *reader) rest(all object, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(key, "$") {
			r.left(prefix+key, "no counterpart")
		}
	}
}

// take removes a value of an object, if it has the type, and returns it.
func take[T any](all object, key string) (value T) {
	value, ok := all[key].(T)
	if ok {
		delete(all, key)
	}
	return value
}

// takeTexts removes a list of an object and returns its strings.
func takeTexts(all object, key string) (texts []string) {
	for _, one := range take[[]any](all, key) {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// finish orders the changes, and leaves out what is there already or has a token.
func (r *reader) finish() {
	mask := redact.NewMask(nil, redact.NewTable(nil))
	add := func(key string, value any) {
		raw, err := json.Marshal(value)
		if text := string(raw); err != nil || mask.String(text) != text {
			r.left(key, "it contains a token, which isn't copied")
			return
		}
		r.plan.Changes = append(r.plan.Changes, Change{key, raw})
	}
	for i, list := range ruleLists {
		for _, one := range r.rules[i] {
			if list == allow && r.broken != "" {
				r.left(one.from, "%s has no counterpart and could restrict it", r.broken)
				continue
			}
			for _, text := range one.to {
				add(permissions+list, text)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.changes)) {
		here, there := any(r.current), false
		for part := range strings.SplitSeq(key, ".") {
			within, _ := here.(object)
			here, there = within[part]
		}
		if there {
			r.left(key, "it is set in your settings already")
			continue
		}
		add(key, r.changes[key])
	}
}

const permissions = "permissions."

// Apply writes the changes to the text of a settings file. Comments and other keys stay.
func (p Plan) Apply(path string, text []byte) (_ []byte, err error) {
	for _, c := range p.Changes {
		list, isRule := strings.CutPrefix(c.Key, permissions)
		alias, isServer := strings.CutPrefix(c.Key, servers)
		switch {
		case isRule:
			var rule string
			if err = json.Unmarshal(c.Value, &rule); err == nil {
				text, err = settings.AddRules(path, text, list, []string{rule})
			}
		case isServer:
			text, err = settings.SetServer(path, text, alias, c.Value)
		default:
			text, err = settings.SetKey(path, text, c.Key, c.Value)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// String describes the plan.
func (p Plan) String() string {
	var b strings.Builder
	for _, path := range p.Read {
		fmt.Fprintf(&b, "Read %s\n", path)
	}
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "  %s: %s\n", c.Key, c.Value)
	}
	if len(p.Left) > 0 {
		b.WriteString("Not imported:\n")
	}
	for _, text := range p.Left {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// valid reports whether a rule can be in a list.
func valid(list, text string) bool {
	given := map[string][]permission.Written{list: {{Text: text}}}
	_, ignored, err := permission.ReadRules(given[allow], given["ask"], given["deny"])
	return err == nil && len(ignored) == 0
}
