package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/nearest"
)

// ValueError is an invalid value of a setting, or an unknown setting. Nothing was changed.
type ValueError struct{ Key, Reason string }

func (e *ValueError) Error() string { return fmt.Sprintf("setting %s %s", e.Key, e.Reason) }

// Canonical returns the current name of a setting, which may be given by an older one. The error suggests a similar
// one.
func Canonical(name string) (string, error) {
	k, ok := find(name)
	if ok {
		return k.name, nil
	}
	var names, below, same []string // same: with this name in another object
	for _, k := range keys() {
		names = append(names, k.name)
		if strings.HasPrefix(k.name, name+".") {
			below = append(below, k.name)
		}
		if strings.EqualFold(k.name[strings.LastIndexByte(k.name, '.')+1:], name) {
			same = append(same, k.name)
		}
	}
	near := nearest.Names(name, names)
	reason := "is unknown\nSee 'adze config list'."
	switch {
	case len(below) > 0:
		slices.Sort(below)
		reason = "contains other settings\nUse one of: " + strings.Join(below, ", ")
	case len(near) == 1:
		reason = fmt.Sprintf("is unknown\nDid you mean %s?", near[0])
	case len(same) == 1:
		reason = fmt.Sprintf("is unknown\nDid you mean %s?", same[0])
	}
	return "", &ValueError{fmt.Sprintf("%q", name), reason}
}

// CheckValue checks a value of a setting, which is JSON. The note reports that it is interpreted differently.
func CheckValue(name string, value json.RawMessage, project bool) (note string, err error) {
	if name, err = Canonical(name); err != nil {
		return "", err
	}
	k, _ := find(name)
	if k.own && project {
		return "", &ValueError{k.name, "is allowed only in user settings"}
	}
	if strings.TrimSpace(string(value)) == "null" {
		return "", &ValueError{k.name, "can't be null\nUse 'adze config unset " + k.name + "' to remove it."}
	}
	f, err := parse("the value", slices.Concat([]byte(`{"value":`), value, []byte(`}`)))
	if err != nil {
		return "", &ValueError{k.name, "can't have this value: it is not valid JSON"}
	}
	s := builtin()
	note, err = k.put(&s, given{value: f.root().members()[0].value, project: project})
	if err != nil {
		return "", &ValueError{k.name, err.Error()}
	}
	return note, nil
}

// SetKey writes a setting to the text of a settings file. Everything else is unchanged, including comments; only older
// spellings of the setting are removed. path is for errors about the text.
func SetKey(path string, text []byte, name string, value json.RawMessage) ([]byte, error) {
	k, ok := find(name)
	if !ok {
		return nil, &ValueError{name, "is unknown"}
	}
	text, err := dropAll(path, text, k, 1)
	if err != nil {
		return nil, err
	}
	e, err := newEdit(path, text)
	if err != nil {
		return nil, err
	}
	if e.blank() {
		e.begin()
		return e.again(k.name, value)
	}
	at := e.file.root()
	parts := strings.Split(k.name, ".")
	for i, part := range parts[:len(parts)-1] {
		inner, err := e.lastObject(at, part, strings.Join(parts[:i+1], "."))
		switch {
		case err != nil:
			return nil, err
		case inner == nil:
			e.insert(at, part, []byte(`{}`))
			return e.again(k.name, value)
		case inner.kind() == "null":
			e.replace(inner.start, inner.end, `{}`)
			return e.again(k.name, value)
		}
		at = inner.value
	}
	e.put(at, parts[len(parts)-1], value)
	out, err := e.done()
	if err != nil {
		return nil, err
	}
	return out, says(path, out, k, value)
}

// again writes the setting to the current text, in which more of its objects exist.
func (e *edit) again(name string, value json.RawMessage) ([]byte, error) {
	out, err := e.done()
	if err != nil {
		return nil, err
	}
	return SetKey(e.file.path, out, name, value)
}

// lastObject returns the last member of a name, which must be an object or null; nil without one.
func (e *edit) lastObject(object value, name, full string) (*member, error) {
	var found *member
	for _, m := range object.members() {
		if m.name == name {
			found = &m
		}
	}
	if found != nil && found.kind() != "an object" && found.kind() != "null" {
		return nil, &Error{From: e.file.place(found.start), Key: full, Reason: "must be an object, got " + found.kind()}
	}
	return found, nil
}

// says verifies that a text has the intended value.
func says(path string, text []byte, k key, value json.RawMessage) error {
	f, err := parse(path, text)
	if err != nil {
		return err
	}
	found := occurrences(f.root(), k)
	if len(found) != 1 || compact(found[0].json()) != compact(value) {
		return fmt.Errorf("change %s: can't set %s; edit the file by hand", path, k.name)
	}
	return nil
}

// UnsetKey removes a setting from the text of a settings file, by all its spellings, and reports whether it was there.
func UnsetKey(path string, text []byte, name string) (out []byte, found bool, err error) {
	k, ok := find(name)
	if !ok {
		return nil, false, &ValueError{name, "is unknown"}
	}
	f, err := parse(path, text)
	if err != nil {
		return nil, false, err
	}
	if len(occurrences(f.root(), k)) == 0 {
		return text, false, nil
	}
	out, err = dropAll(path, text, k, 0)
	return out, true, err
}

// occurrence is a position of a setting in a file.
type occurrence struct {
	member
	in      value // the object that contains it
	current bool  // it has the current name
}

// occurrences returns the positions of a setting, in the order of its spellings: those of the current name are last.
func occurrences(root value, k key) []occurrence {
	var out []occurrence
	for _, spelling := range k.spellings() {
		objects := []value{root}
		parts := strings.Split(spelling, ".")
		for i, part := range parts {
			var inner []value
			for _, o := range objects {
				for _, m := range o.members() {
					switch {
					case m.name != part:
					case i < len(parts)-1 && m.kind() == "an object":
						inner = append(inner, m.value)
					case i == len(parts)-1 && (m.kind() != "an object" || !holds(spelling)):
						out = append(out, occurrence{m, o, spelling == k.name})
					}
				}
			}
			objects = inner
		}
	}
	return out
}

// holds reports whether a name is also that of an object with other settings: "model" is an older spelling of
// model.name.
func holds(name string) bool {
	return slices.ContainsFunc(keys(), func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// dropAll removes a setting from a text, except the last one of the current name if keep is 1.
func dropAll(path string, text []byte, k key, keep int) ([]byte, error) {
	for {
		e, err := newEdit(path, text)
		if err != nil {
			return nil, err
		}
		found := occurrences(e.file.root(), k)
		if n := len(found); n == 0 || keep == 1 && n == 1 && found[0].current {
			return text, nil
		}
		first := found[0]
		e.drop(first.in, func(m member) bool { return m.at == first.at })
		if text, err = e.done(); err != nil {
			return nil, err
		}
	}
}

// AddRules adds rules to a list of permissions, such as allow, in the text of a settings file. Everything else is
// unchanged, including comments. path is for errors about the text.
func AddRules(path string, text []byte, list string, rules []string) ([]byte, error) {
	for _, rule := range rules {
		var err error
		if text, err = addRule(path, text, list, rule); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func addRule(path string, text []byte, list, rule string) ([]byte, error) {
	e, err := newEdit(path, text)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(rule)
	if err != nil {
		return nil, err
	}
	permissions, err := e.last(e.file.root(), "permissions", "an object")
	if err != nil {
		return nil, err
	}
	var allow *member
	if permissions != nil {
		if allow, err = e.last(permissions.value, list, "a list"); err != nil {
			return nil, err
		}
	}
	switch {
	case e.blank():
		e.begin()
	case permissions == nil:
		e.insert(e.file.root(), "permissions", []byte(`{}`))
	case allow == nil:
		e.insert(permissions.value, list, []byte(`[]`))
	default:
		if slices.ContainsFunc(allow.members(), func(m member) bool { return compact(m.json()) == string(quoted) }) {
			return text, nil
		}
		e.append(allow.value, string(quoted))
		return e.done()
	}
	out, err := e.done()
	if err != nil {
		return nil, err
	}
	return addRule(path, out, list, rule) // now the object exists
}

// last returns the last member of that name, which overrides the others; nil without one.
func (e *edit) last(object value, name, kind string) (*member, error) {
	var found *member
	for _, m := range object.members() {
		if m.name == name {
			found = &m
		}
	}
	if found != nil && found.kind() != kind {
		return nil, &Error{
			From: e.file.place(found.start), Key: name, Reason: "must be " + kind + ", got " + found.kind(),
		}
	}
	return found, nil
}

// append adds an element at the end of a list, in the list's layout.
func (e *edit) append(list value, element string) {
	ms := list.members()
	if len(ms) == 0 {
		e.replace(list.start+1, list.start+1, element)
		return
	}
	end := ms[len(ms)-1].end
	sep := " "
	if e.firstOnLine(ms[len(ms)-1].start) {
		sep = e.newline + e.indentAt(ms[len(ms)-1].start)
	}
	if next := e.skip(end); next < len(e.text) && e.text[next] == ',' { // a trailing comma
		e.replace(next+1, next+1, sep+element+",")
		return
	}
	e.replace(end, end, ","+sep+element)
}
