package document

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The layout of a notebook is read from the file itself, so that additions look like the rest.

// indentAt returns the indentation of the line of offset at, and whether nothing else is before at or, for a value,
// before its key.
func (nb *NotebookFile) indentAt(at int) (indent string, ownLine bool) {
	start := bytes.LastIndexByte(nb.data[:at], '\n') + 1
	line := nb.data[start:at]
	rest := bytes.TrimLeft(line, " \t")
	indent = string(line[:len(line)-len(rest)])
	if start == 0 {
		return "", false
	}
	key := bytes.TrimSpace(rest)
	return indent, len(key) == 0 || key[0] == '"' && key[len(key)-1] == ':' && bytes.Count(key, []byte(`"`)) == 2
}

// indentUnit returns the indentation of the first member of the file; "": the file is one line.
func (nb *NotebookFile) indentUnit() string {
	open := bytes.IndexByte(nb.data, '{') + 1
	gap := nb.data[open : len(nb.data)-len(bytes.TrimLeft(nb.data[open:], " \t\r\n"))]
	at := bytes.LastIndexByte(gap, '\n')
	if at < 0 {
		return ""
	}
	return string(gap[at+1:])
}

// newline returns the file's newline.
func (nb *NotebookFile) newline() string {
	if at := bytes.IndexByte(nb.data, '\n'); at > 0 && nb.data[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// colon returns the separator of keys and values: ": " or ":".
func (nb *NotebookFile) colon() string {
	for at := range nb.data {
		if nb.data[at] == ':' && bytes.HasSuffix(bytes.TrimRight(nb.data[:at], " "), []byte(`"`)) {
			if at+1 < len(nb.data) && nb.data[at+1] != ' ' {
				return ":"
			}
			break
		}
	}
	return ": "
}

// ascii reports whether the file escapes characters beyond ASCII.
func (nb *NotebookFile) ascii() bool {
	if !bytes.Contains(nb.data, []byte(`\u`)) {
		return false
	}
	for _, c := range nb.data[min(3, len(nb.data)):] {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sourceLike writes source in the form of the member that it replaces: a string or an array of lines.
func (nb *NotebookFile) sourceLike(old member, source string) string {
	if old.value.kind == '"' {
		return encodeString(source, nb.ascii())
	}
	indent, ownLine := nb.indentAt(old.start)
	return nb.sourceLines(source, indent, ownLine)
}

// sourceLines writes source as Jupyter does: an array of lines with their newlines. indent is that of the key.
func (nb *NotebookFile) sourceLines(source, indent string, ownLine bool) string {
	lines := strings.SplitAfter(source, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	if len(lines) == 0 {
		return "[]"
	}
	between, first, end := ","+strings.TrimPrefix(nb.colon(), ":"), "", ""
	if ownLine {
		first = nb.newline() + indent + nb.indentUnit()
		between, end = ","+first, nb.newline()+indent
	}
	ascii := nb.ascii()
	for i, line := range lines {
		lines[i] = encodeString(line, ascii)
	}
	return "[" + first + strings.Join(lines, between) + end + "]"
}

// cellText writes a new cell with Jupyter's order of members. indent is that of its opening brace.
func (nb *NotebookFile) cellText(indent string, ownLine bool, id, typ, source string) string {
	deeper := indent + nb.indentUnit()
	members := []string{encodeString("cell_type", false) + nb.colon() + encodeString(typ, false)}
	add := func(key, value string) {
		members = append(members, encodeString(key, false)+nb.colon()+value)
	}
	if typ == "code" {
		add("execution_count", "null")
	}
	if id != "" {
		add("id", encodeString(id, true))
	}
	add("metadata", "{}")
	if typ == "code" {
		add("outputs", "[]")
	}
	add("source", nb.sourceLines(source, deeper, ownLine))
	if !ownLine {
		return "{" + strings.Join(members, ","+strings.TrimPrefix(nb.colon(), ":")) + "}"
	}
	sep := nb.newline() + deeper
	return "{" + sep + strings.Join(members, ","+sep) + nb.newline() + indent + "}"
}
