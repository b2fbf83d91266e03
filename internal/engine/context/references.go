package contextfiles

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reference is the text after an @.
type reference string

// maxReferences is the maximum number per file.
const maxReferences = 200

// references finds the @paths of a Markdown text. An @ counts at the start of a line or after a space, before a dot, a
// slash, a tilde or a letter, and not in code.
func references(text string) []reference {
	var found []reference
	fence := ""
	for line := range strings.Lines(text) {
		if mark := fenceOf(line); fence == "" && mark != "" {
			fence = mark
			continue
		} else if fence != "" {
			if strings.HasPrefix(mark, fence) && strings.Trim(line, " \t\r\n"+fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		found = inLine(withoutSpans(line), found)
		if len(found) >= maxReferences {
			return found[:maxReferences]
		}
	}
	return found
}

// fenceOf returns the run of ``` or ~~~ that begins a line, or "".
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans replaces code spans by spaces.
func withoutSpans(line string) string {
	if !strings.Contains(line, "`") {
		return line
	}
	var b strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		b.WriteString(line[:i])
		rest := strings.TrimLeft(line[i:], "`")
		ticks := line[i : len(line)-len(rest)]
		end := closing(rest, ticks)
		if end < 0 { // not a code span
			b.WriteString(ticks)
			line = rest
			continue
		}
		b.WriteByte('`')
		line = rest[end+len(ticks):]
	}
	return b.String() + line
}

// closing finds a run of exactly these back-ticks.
func closing(s, ticks string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '`')
		if i < 0 {
			return -1
		}
		run := len(s[at+i:]) - len(strings.TrimLeft(s[at+i:], "`"))
		if run == len(ticks) {
			return at + i
		}
		at += i + run
	}
}

func inLine(line string, found []reference) []reference {
	for i := 0; i < len(line); i++ {
		if line[i] != '@' || i > 0 && line[i-1] != ' ' && line[i-1] != '\t' {
			continue
		}
		if ref := word(line[i+1:]); ref != "" && ref.begins() {
			found = append(found, ref)
			i += len(ref)
		}
	}
	return found
}

// word returns the text up to a space or code; a backslash escapes a space.
func word(s string) reference {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && s[i+1] == ' ' {
				i++
			}
		case ' ', '\t', '\r', '\n', '`':
			return reference(s[:i])
		}
	}
	return reference(s)
}

func (r reference) begins() bool {
	first, _ := utf8.DecodeRuneInString(string(r))
	return first == '.' || first == '/' || first == '~' || unicode.IsLetter(first)
}

// endMarks are the marks that may end a sentence after a name.
const endMarks = ".,;:!?)]}>\"'*_"

// file returns the name of a file, if it is clearly not a user or a package.
func (r reference) file() (name string, is bool) {
	name = strings.TrimRight(string(r), endMarks)
	return name, strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

// find returns the path of an existing file. Marks that end a sentence are not part of it, unless the name has them.
func (r reference) find(dir, home string) (string, bool) {
	name := strings.ReplaceAll(string(r), `\ `, " ")
	if strings.Contains(name, "://") || strings.ContainsRune(name, 0) {
		return "", false
	}
	for {
		path := filepath.FromSlash(name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
			path = filepath.Join(home, rest)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
		shorter := strings.TrimRight(name, endMarks)
		if shorter == name || shorter == "" {
			return "", false
		}
		name = shorter
	}
}
