package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// SetServer writes an MCP server to the text of a settings file, replacing the one of that alias. Everything else is
// unchanged, including comments. path is for errors about the text.
func SetServer(path string, text []byte, alias string, server json.RawMessage) ([]byte, error) {
	e, err := newEdit(path, text)
	if err != nil {
		return nil, err
	}
	var servers *member // the last one, which overrides the others
	for _, m := range e.file.root().members() {
		if m.name == serversKey {
			servers = &m
		}
	}
	switch {
	case e.blank():
		e.begin()
	case servers == nil:
		e.insert(e.file.root(), serversKey, []byte(`{}`))
	case servers.kind() == "null":
		e.replace(servers.start, servers.end, `{}`)
	case servers.kind() != "an object":
		return nil, &Error{
			From: e.file.place(servers.start), Key: serversKey, Reason: "must be an object, got " + servers.kind(),
		}
	default:
		e.put(servers.value, alias, server)
		out, err := e.done()
		if err != nil {
			return nil, err
		}
		return out, e.check(out, alias, server)
	}
	out, err := e.done()
	if err != nil {
		return nil, err
	}
	return SetServer(path, out, alias, server) // now the object exists
}

// RemoveServer removes an MCP server from the text of a settings file, and reports whether it was there.
func RemoveServer(path string, text []byte, alias string) ([]byte, bool, error) {
	found := false
	for {
		e, err := newEdit(path, text)
		if err != nil {
			return nil, false, err
		}
		dropped := false
		for _, m := range e.file.root().members() {
			if m.name == serversKey && m.kind() == "an object" {
				dropped = e.drop(m.value, func(s member) bool { return s.name == alias })
			}
			if dropped {
				break
			}
		}
		if !dropped {
			return text, found, nil
		}
		found = true
		if text, err = e.done(); err != nil {
			return nil, false, err
		}
	}
}

// edit is one change of a text.
type edit struct {
	file    *file
	mark    []byte // the byte order mark, if there is one
	text    []byte // without it; offsets are the file's
	newline string
}

func newEdit(path string, text []byte) (*edit, error) {
	f, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	e := &edit{file: f, text: bytes.Clone(text), newline: "\n"}
	if rest, ok := bytes.CutPrefix(e.text, []byte("\uFEFF")); ok {
		e.mark, e.text = []byte("\uFEFF"), rest
	}
	if bytes.Contains(text, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	return e, nil
}

// blank reports whether the text has no object: it is empty, or only comments.
func (e *edit) blank() bool { return e.skip(0) == len(e.text) }

// begin adds an empty object, on its own line.
func (e *edit) begin() {
	if len(e.text) > 0 && !bytes.HasSuffix(e.text, []byte("\n")) {
		e.text = append(e.text, e.newline...)
	}
	e.text = append(e.text, "{}"+e.newline...)
}

// done returns the resulting text. It must still be valid.
func (e *edit) done() ([]byte, error) {
	out := append(bytes.Clone(e.mark), e.text...)
	if _, err := parse(e.file.path, out); err != nil {
		return nil, fmt.Errorf("change %s: the result would be invalid, nothing was changed: %w", e.file.path, err)
	}
	return out, nil
}

// check verifies that the text has the intended change.
func (e *edit) check(out []byte, alias string, server json.RawMessage) error {
	f, err := parse(e.file.path, out)
	if err != nil {
		return err
	}
	var s Settings
	for _, m := range f.root().members() {
		if m.name == serversKey {
			if _, err := putServers(&s, given{value: m.value}); err != nil {
				return err
			}
		}
	}
	if compact(s.MCP.Servers[alias].JSON) != compact(server) {
		return fmt.Errorf("change %s: can't add the server; edit the file by hand", e.file.path)
	}
	return nil
}

func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// member returns the text of a member at an indentation.
func (e *edit) member(name string, value []byte, indent string) string {
	var b bytes.Buffer
	quoted, _ := json.Marshal(name) // a can't fail for strings
	if json.Indent(&b, value, indent, "  ") != nil {
		b.Write(value)
	}
	return indent + string(quoted) + ": " + strings.ReplaceAll(b.String(), "\n", e.newline)
}

// put sets a member of an object, the last of its name, or adds it.
func (e *edit) put(object value, name string, value []byte) {
	ms := object.members()
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].name == name {
			text := strings.TrimLeft(e.member(name, value, e.indentAt(ms[i].at)), " \t")
			e.replace(ms[i].at, ms[i].end, text)
			return
		}
	}
	e.insert(object, name, value)
}

// insert adds a member at the end of an object, after any comments.
func (e *edit) insert(object value, name string, value []byte) {
	ms := object.members()
	if lone := e.skip(object.start + 1); len(ms) == 0 && e.text[lone] == ',' {
		e.text[lone] = ' '
	}
	outer := e.indentAt(object.start)
	indent := outer + "  "
	closing := object.end - 1
	at := len(bytes.TrimRight(e.text[:closing], " \t\r\n"))
	oneLine := len(ms) > 0 && !bytes.Contains(e.text[object.start:object.end], []byte("\n"))
	if len(ms) > 0 && e.firstOnLine(ms[0].at) {
		indent = e.indentAt(ms[0].at)
	}
	added := e.newline + e.member(name, value, indent)
	switch {
	case oneLine:
		quoted, _ := json.Marshal(name)
		added = " " + string(quoted) + ": " + compact(value)
	case !bytes.Contains(e.text[at:closing], []byte("\n")):
		added += e.newline + outer
		e.replace(at, closing, added)
		e.comma(ms)
		return
	}
	e.replace(at, at, added)
	e.comma(ms)
}

// comma adds a comma after the last member if it has none.
func (e *edit) comma(ms []member) {
	if len(ms) == 0 {
		return
	}
	end := ms[len(ms)-1].end
	if next := e.skip(end); next == len(e.text) || e.text[next] != ',' {
		e.replace(end, end, ",")
	}
}

// drop removes the first matching member, with its comma and its line.
func (e *edit) drop(object value, meant func(member) bool) bool {
	ms := object.members()
	for i, m := range ms {
		if !meant(m) {
			continue
		}
		from, to := m.at, m.end
		if next := e.skip(to); e.text[next] == ',' {
			to = next + 1
		} else if i > 0 {
			before := e.skip(ms[i-1].end)
			e.dropLine(from, to)
			e.replace(before, before+1, "")
			return true
		}
		e.dropLine(from, to)
		return true
	}
	return false
}

// dropLine removes a range, and the line if it becomes empty.
func (e *edit) dropLine(from, to int) {
	start := bytes.LastIndexByte(e.text[:from], '\n') + 1
	rest := bytes.TrimLeft(e.text[to:], " \t\r")
	switch blankBefore := len(bytes.TrimSpace(e.text[start:from])) == 0; {
	case blankBefore && len(rest) > 0 && rest[0] == '\n':
		from, to = start, len(e.text)-len(rest)+1
	case !blankBefore:
		for to < len(e.text) && (e.text[to] == ' ' || e.text[to] == '\t') {
			to++
		}
	}
	e.replace(from, to, "")
}

func (e *edit) replace(from, to int, with string) {
	e.text = append(append(bytes.Clone(e.text[:from]), with...), e.text[to:]...)
}

// skip returns the position of the next character that is neither whitespace nor in a comment.
func (e *edit) skip(at int) int {
	for at < len(e.text) {
		switch rest := e.text[at:]; {
		case bytes.HasPrefix(rest, []byte("//")):
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				at += n + 1
				continue
			}
			return len(e.text)
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest, []byte("*/"))
			if n < 0 {
				return len(e.text)
			}
			at += n + 2
		case bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

// indentAt returns the indentation of the line.
func (e *edit) indentAt(at int) string {
	start := bytes.LastIndexByte(e.text[:at], '\n') + 1
	line := e.text[start:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (e *edit) firstOnLine(at int) bool {
	start := bytes.LastIndexByte(e.text[:at], '\n') + 1
	return len(bytes.TrimSpace(e.text[start:at])) == 0
}
