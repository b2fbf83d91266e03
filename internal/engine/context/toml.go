package contextfiles

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlStrings reads the strings at the top level of a TOML text, by key, which is what command files consist of. Other
// values and tables are skipped. Errors start with the line number.
func tomlStrings(text string) (map[string]tomlString, error) {
	r := &tomlReader{text: text, line: 1}
	found := map[string]tomlString{}
	for {
		r.skip(" \t\r\n")
		switch {
		case r.at == len(r.text):
			return found, nil
		case r.text[r.at] == '#':
			r.rest()
			continue
		case r.text[r.at] == '[': // a table: no top-level keys follow
			return found, nil
		}
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		if _, twice := found[key]; twice {
			return nil, r.errorf("%s is there twice", key)
		}
		r.skip(" \t")
		begins := r.line
		if rest := r.text[r.at:]; len(rest) > 3 && rest[3] == '\n' { // after three quotes
			begins++
		}
		value, isText, err := r.value()
		if err != nil {
			return nil, err
		}
		if isText {
			found[key] = tomlString{value, begins}
		}
	}
}

// tomlString is a string, and the line in which it starts.
type tomlString struct {
	text string
	line int
}

type tomlReader struct {
	text string
	at   int
	line int
}

// lineError is an error in a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

func (r *tomlReader) errorf(format string, args ...any) error {
	return &lineError{r.line, fmt.Sprintf(format, args...)}
}

// take advances by n bytes and returns them.
func (r *tomlReader) take(n int) string {
	s := r.text[r.at : r.at+n]
	r.at += n
	r.line += strings.Count(s, "\n")
	return s
}

func (r *tomlReader) skip(chars string) {
	rest := r.text[r.at:]
	r.take(len(rest) - len(strings.TrimLeft(rest, chars)))
}

// rest returns the rest of the line.
func (r *tomlReader) rest() string {
	rest := r.text[r.at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return r.take(len(rest))
}

// key reads a key and the = after it.
func (r *tomlReader) key() (string, error) {
	line := r.text[r.at:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	key, _, ok := strings.Cut(line, "=")
	name := strings.Trim(strings.TrimSpace(key), `"'`)
	if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
		return "", r.errorf("expected KEY = VALUE")
	}
	r.take(len(key) + 1)
	return name, nil
}

// value reads the value of a key. Only a comment may follow it on its line.
func (r *tomlReader) value() (text string, isText bool, err error) {
	rest := r.text[r.at:]
	switch {
	case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
		text, err = r.long(rest[:3])
	case strings.HasPrefix(rest, `"`):
		text, err = r.short()
	case strings.HasPrefix(rest, "'"):
		end := strings.IndexAny(rest[1:], "'\n")
		if end < 0 || rest[1+end] == '\n' {
			return "", false, r.errorf("the string isn't closed")
		}
		text = r.take(end + 2)[1 : end+1]
	default:
		if strings.TrimSpace(r.rest()) == "" {
			return "", false, r.errorf("expected a value after =")
		}
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	r.skip(" \t\r")
	if more := r.rest(); more != "" && more[0] != '#' {
		return "", false, r.errorf("unexpected text after the string")
	}
	return text, true, nil
}

// long reads a triple-quoted string.
func (r *tomlReader) long(quotes string) (string, error) {
	start := *r
	r.take(3)
	body := r.text[r.at:]
	end, escaped := -1, quotes == `"""`
	for i := 0; i < len(body); i++ {
		if escaped && body[i] == '\\' {
			i++
		} else if strings.HasPrefix(body[i:], quotes) {
			end = i
			break
		}
	}
	if end < 0 {
		return "", start.errorf("the string isn't closed with %s", quotes)
	}
	for n := 0; n < 2 && strings.HasPrefix(body[end+1:], quotes); n++ { // up to two quotes belong to the text
		end++
	}
	text := strings.TrimPrefix(body[:end], "\n")
	if escaped {
		var err error
		if text, err = r.unescape(text, r.line+strings.Count(body[:end], "\n")-strings.Count(text, "\n")); err != nil {
			return "", err
		}
	}
	r.take(end + 3)
	return text, nil
}

// short reads a quoted string.
func (r *tomlReader) short() (string, error) {
	body := r.text[r.at+1:]
	for i := 0; i < len(body) && body[i] != '\n'; i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			text, err := r.unescape(body[:i], r.line)
			r.take(i + 2)
			return text, err
		}
	}
	return "", r.errorf("the string isn't closed")
}

// unescape replaces the escapes of a basic string that starts in a line.
func (r *tomlReader) unescape(s string, line int) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	simple := map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		rest := s[min(i, len(s)):]
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[append([]byte(rest), 0)[0]]
		switch {
		case rest != "" && simple[rest[0]] != "":
			b.WriteString(simple[rest[0]])
		case digits > 0 && len(rest) > digits:
			n, err := strconv.ParseUint(rest[1:1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return "", &lineError{line + strings.Count(s[:i], "\n"),
					fmt.Sprintf("invalid escape \\%s", rest[:1+digits])}
			}
			b.WriteRune(rune(n))
			i += digits
		case strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n"): // the line continues on the next one
			i += len(rest) - len(strings.TrimLeft(rest, " \t\r\n")) - 1
		default:
			return "", &lineError{line + strings.Count(s[:i], "\n"),
				"invalid escape: use ''' for a text with backslashes"}
		}
	}
	return b.String(), nil
}
