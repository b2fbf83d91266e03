// Package configimport reads the settings of other agents and plans their counterparts in Adze's settings. Rules become
// equal or stricter ones, and values that may be keys or tokens aren't copied.
//
//	plan, err := configimport.Read("claude", "/home/me", false, current)
//	fmt.Print(plan)
//	text, err := plan.Apply("/home/me/.adze/settings.json", current)
package configimport

import (
	"encoding/json"
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
	"github.com/adze-dev/adze/internal/engine/toml"
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

// Agents returns the names of the agents whose settings can be imported.
func Agents() (names []string) {
	for _, s := range sources {
		names = append(names, s.agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// object is a decoded object.
type object = map[string]any

// reader collects a plan.
type reader struct {
	source         // of the current file
	raw     []byte // its text
	file    object // its values
	project bool   // it is in a project

	changes object            // settings and servers
	rules   map[string][]rule // by list
	broken  string            // a restriction without a counterpart
	off     []func(key string) bool
	plan    Plan
}

// Read plans the import of an agent's settings below a directory: the user's home, or a project. current is the text of
// the settings file to change, whose values stay.
func Read(agent, dir string, project bool, current []byte) (Plan, error) {
	if !slices.Contains(Agents(), agent) {
		return Plan{}, fmt.Errorf("unknown agent %q (expected %s)", agent, strings.Join(Agents(), ", "))
	}
	mine, err := readJSON(current)
	if err != nil {
		return Plan{}, fmt.Errorf("read your settings: %w", err)
	}
	r := &reader{project: project, changes: object{}, rules: map[string][]rule{}}
	for _, r.source = range sources {
		for pattern := range strings.FieldsSeq(r.files) {
			found, _ := fs.Glob(os.DirFS(dir), pattern) // the patterns are valid
			for _, name := range found {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if r.agent != agent {
					continue
				}
				if err := r.read(path); err != nil {
					return Plan{}, fmt.Errorf("read %s: %w", path, err)
				}
				r.plan.Read = append(r.plan.Read, path)
			}
		}
	}
	r.finish(mine)
	return r.plan, nil
}

const maxFile = 1 << 20

// read plans the counterparts of the settings in a file.
func (r *reader) read(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("it isn't a regular file of at most %d MB", maxFile>>20)
	}
	if err == nil {
		r.raw, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
	case r.whole != nil:
		r.whole(r, filepath.Base(path), nil)
		return nil
	case filepath.Ext(path) == ".toml":
		r.file, _, err = toml.Read(r.raw)
	default:
		r.file, err = readJSON(r.raw)
	}
	values := object{}
	for name, value := range r.file {
		inner, _ := value.(object)
		nested := func(k key) bool { return strings.HasPrefix(k.name, name+".") }
		if inner == nil || !slices.ContainsFunc(r.keys, nested) {
			values[name] = value
			continue
		}
		for below := range inner {
			values[name+"."+below] = inner[below]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(r.keys, func(k key) bool { return k.name == name })
		switch {
		case i >= 0 && r.keys[i].take != nil:
			r.keys[i].take(r, name, values[name])
		case i >= 0:
			r.left(name, r.keys[i].why)
		case !r.state && !strings.HasPrefix(name, "$"):
			r.left(name, "no counterpart")
		}
	}
	return err
}

func readJSON(raw []byte) (all object, err error) {
	if raw = jsonc.ToJSON(raw); len(strings.TrimSpace(string(raw))) == 0 {
		return object{}, nil
	}
	return all, json.Unmarshal(raw, &all)
}

// left reports what isn't imported.
func (r *reader) left(what, why string) { r.plan.Left = append(r.plan.Left, what+": "+why) }

// finish orders the changes, and omits what is there already or has a token.
func (r *reader) finish(mine object) {
	mask := redact.NewMask(nil, redact.NewTable(nil))
	add := func(key string, value any) {
		raw, err := json.Marshal(value)
		if text := string(raw); err != nil || mask.String(text) != text {
			r.left(key, "it contains a token, which isn't copied")
			return
		}
		r.plan.Changes = append(r.plan.Changes, Change{key, raw})
	}
	for _, list := range ruleLists {
		for _, one := range r.rules[list] {
			if list == allowList && r.broken != "" {
				r.left(one.from, r.broken+" has no counterpart and could restrict it")
				continue
			}
			for _, text := range one.to {
				add(permissions+list, text)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.changes)) {
		section, name, nested := strings.Cut(key, ".")
		value, there := mine[section]
		if inner, _ := value.(object); nested {
			_, there = inner[name]
		}
		off := func(turns func(key string) bool) bool { return turns(key) }
		switch {
		case slices.ContainsFunc(r.off, off):
			r.left(key, "it is turned off")
		case there:
			r.left(key, "it is set in your settings already")
		default:
			add(key, r.changes[key])
		}
	}
}

// Apply writes the changes to the text of a settings file. Comments and other keys stay.
func (p Plan) Apply(path string, text []byte) (_ []byte, err error) {
	for _, c := range p.Changes {
		var rule string
		switch section, name, _ := strings.Cut(c.Key, "."); section + "." {
		case permissions:
			if err = json.Unmarshal(c.Value, &rule); err == nil {
				text, err = settings.AddRules(path, text, name, []string{rule})
			}
		case serverKey:
			text, err = settings.SetServer(path, text, name, c.Value)
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
		fmt.Fprintf(&b, "Not imported:\n  %s\n", strings.Join(p.Left, "\n  "))
	}
	return b.String()
}
