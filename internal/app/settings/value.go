package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Value is the value of a key in one source.
type Value struct {
	JSON json.RawMessage
	From Place
}

// record records the value of a key in a source.
func (s *Settings) record(k key, g given) {
	given := maps.Clone(s.given)
	if given == nil {
		given = map[string][]Value{}
	}
	said := json.RawMessage(g.json())
	if g.file == nil {
		said = k.written(g.text, g.texts)
	}
	list := slices.Clip(given[k.name])
	if !k.adds {
		list = nil
	}
	given[k.name] = append(list, Value{said, g.from})
	s.given = given
}

// written returns the JSON of a value from a flag or a variable, which are text.
func (k key) written(text string, texts []string) json.RawMessage {
	var raw []byte
	switch {
	case texts != nil:
		raw, _ = json.Marshal(texts) // can't fail for strings
	case k.shape == listShape:
		raw, _ = json.Marshal([]string{text})
	case (k.shape == integerShape || k.shape == booleanShape) && json.Valid([]byte(text)):
		raw = []byte(text)
	default:
		raw, _ = json.Marshal(text)
	}
	return raw
}

// Value returns the effective value of a key, and its sources. Without a source it is the default; nil: none.
func (s *Settings) Value(name string) (json.RawMessage, []Place) {
	k, ok := find(name)
	if !ok {
		return nil, nil
	}
	said := s.given[k.name]
	if len(said) == 0 {
		if k.preset == "" {
			return nil, nil
		}
		return json.RawMessage(k.preset), nil
	}
	var from []Place
	sum := said[0].JSON
	for i, v := range said {
		from = append(from, v.From)
		if i > 0 {
			sum = added(sum, v.JSON)
		}
	}
	var out bytes.Buffer
	if json.Compact(&out, sum) != nil {
		return sum, from
	}
	return out.Bytes(), from
}

// added returns the concatenation of two lists, or the union of two objects, in which members of the second win.
func added(a, b json.RawMessage) json.RawMessage {
	var lists [2][]json.RawMessage
	var objects [2]map[string]json.RawMessage
	var sum any
	switch {
	case json.Unmarshal(a, &lists[0]) == nil && json.Unmarshal(b, &lists[1]) == nil:
		sum = append(lists[0], lists[1]...)
	case json.Unmarshal(a, &objects[0]) == nil && json.Unmarshal(b, &objects[1]) == nil:
		maps.Copy(objects[0], objects[1])
		sum = objects[0]
	default:
		return b
	}
	out, err := json.Marshal(sum)
	if err != nil {
		return b
	}
	return out
}

// find returns a key by its name, or by an older spelling.
func find(name string) (key, bool) {
	all := keys()
	i := slices.IndexFunc(all, func(k key) bool { return slices.Contains(k.spellings(), name) })
	if i < 0 {
		return key{}, false
	}
	return all[i], true
}

// fewerCore reports whether the list of built-in tools became smaller.
func fewerCore(before, after *Settings) bool { return fewer(before.Tools.Core, after.Tools.Core) }

// fewerServers reports whether the list of MCP servers became smaller.
func fewerServers(before, after *Settings) bool { return fewer(before.MCP.Allowed, after.MCP.Allowed) }

// fewer reports whether a list of allowed entries, where nil allows all, allows no more than before.
func fewer(before, after []Entry) bool {
	return before == nil || !slices.ContainsFunc(Texts(after),
		func(text string) bool { return !slices.Contains(Texts(before), text) })
}

func respectsGit(before, after *Settings) bool {
	return !before.Context.GitIgnore || after.Context.GitIgnore
}

// putAIIgnore reads the setting that makes Qwen Code ignore AI ignore files.
func putAIIgnore(s *Settings, g given) (note string, err error) {
	respect := true
	if note, err = boolean(func(*Settings) *bool { return &respect })(s, g); err == nil && !respect {
		note = "is not supported; AI ignore files always apply"
	}
	return note, err
}

// putIgnoreFiles reads further names of AI ignore files.
func putIgnoreFiles(s *Settings, g given) (note string, err error) {
	var names []Entry
	if note, err = entries(func(*Settings) *[]Entry { return &names })(s, g); err != nil {
		return note, err
	}
	for _, e := range names {
		if e.Text == "" || e.Text == "." || e.Text == ".." || strings.ContainsAny(e.Text, "/\\\x00") {
			return "", fmt.Errorf("has the invalid value %q\nExpected a file name without a directory", e.Text)
		}
	}
	all := slices.Clip(s.Context.IgnoreFiles)
	for _, e := range names {
		if !slices.Contains(Texts(all), e.Text) {
			all = append(all, e)
		}
	}
	if len(all) > maxIgnoreFiles {
		return "", fmt.Errorf("has too many names: %d, over the limit of %d", len(all), maxIgnoreFiles)
	}
	s.Context.IgnoreFiles = all
	return note, nil
}

// maxIgnoreFiles is the maximum number of further names for AI ignore files.
const maxIgnoreFiles = 8
