package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Value is what one source says of a key.
type Value struct {
	JSON json.RawMessage
	From Place
}

// record notes what a source says of a key.
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

// written is the JSON of a value from a flag or a variable, which are texts.
func (k key) written(text string, texts []string) json.RawMessage {
	var raw []byte
	switch {
	case texts != nil:
		raw, _ = json.Marshal(texts) // strings always can
	case k.shape == listShape:
		raw, _ = json.Marshal([]string{text})
	case (k.shape == integerShape || k.shape == booleanShape) && json.Valid([]byte(text)):
		raw = []byte(text)
	default:
		raw, _ = json.Marshal(text)
	}
	return raw
}

// Value is the value of a key that takes effect, and the sources that it comes from. Without a source it is the default;
// nil: there is none.
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

// added is the sum of two lists, or of two objects, where a member of the second replaces that of the first.
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

// find is the key of a name, also by an older spelling.
func find(name string) (key, bool) {
	all := keys()
	i := slices.IndexFunc(all, func(k key) bool { return slices.Contains(k.spellings(), name) })
	if i < 0 {
		return key{}, false
	}
	return all[i], true
}
