package settings

import (
	"encoding/json"
	"slices"
)

// AllowRules adds rules to permissions.allow in the text of a settings file. Everything else stays as it is, comments
// included. path is for the error of a text that cannot be read.
func AllowRules(path string, text []byte, rules []string) ([]byte, error) {
	for _, rule := range rules {
		var err error
		if text, err = allowRule(path, text, rule); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func allowRule(path string, text []byte, rule string) ([]byte, error) {
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
		if allow, err = e.last(permissions.value, "allow", "a list"); err != nil {
			return nil, err
		}
	}
	switch {
	case e.blank():
		e.begin()
	case permissions == nil:
		e.insert(e.file.root(), "permissions", []byte(`{}`))
	case allow == nil:
		e.insert(permissions.value, "allow", []byte(`[]`))
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
	return allowRule(path, out, rule) // there is a place for it now
}

// last is the last member of that name, which no other hides; nil if there is none.
func (e *edit) last(object value, name, kind string) (*member, error) {
	var found *member
	for _, m := range object.members() {
		if m.name == name {
			found = &m
		}
	}
	if found != nil && found.kind() != kind {
		return nil, &Error{From: e.file.place(found.start), Key: name, Reason: "must be " + kind + ", got " + found.kind()}
	}
	return found, nil
}

// append adds an element at the end of a list, in the way the others stand there.
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
