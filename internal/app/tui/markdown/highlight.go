package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// language is what a scanner must know to color code: comments, strings and keywords. It reads a line at a time, apart
// from comments and strings that span lines.
type language struct {
	line     []string  // start comments that end with the line
	block    [2]string // enclose comments
	long     []string  // enclose strings that span lines
	quotes   string    // enclose strings
	keywords map[string]bool
}

const (
	commentStyle = cell.Dim
	stringStyle  = cell.Blue
	keywordStyle = cell.Magenta
	numberStyle  = cell.Cyan
)

// Highlight colors lines of code. Lines of an unknown language stay plain.
func Highlight(lines []string, name string) []cell.Line {
	out := make([]cell.Line, len(lines))
	if name == "diff" || name == "patch" {
		for i, l := range lines {
			out[i] = diffLine(l)
		}
		return out
	}
	lang, ok := languages[strings.ToLower(name)]
	h := highlighter{lang: lang}
	for i, l := range lines {
		if !ok {
			out[i] = cell.Text(l)
		} else {
			out[i] = h.scan(l)
		}
	}
	return out
}

func diffLine(l string) cell.Line {
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
		return cell.Styled(l, cell.Bold)
	case strings.HasPrefix(l, "+"):
		return cell.Styled(l, cell.GreenText)
	case strings.HasPrefix(l, "-"):
		return cell.Styled(l, cell.Red)
	case strings.HasPrefix(l, "@@"):
		return cell.Styled(l, cell.Cyan)
	}
	return cell.Text(l)
}

// highlighter remembers what a line ended in.
type highlighter struct {
	lang  language
	until string // ends what is open; "": nothing is
	style cell.Style
}

func (h *highlighter) scan(l string) cell.Line {
	var out cell.Line
	add := func(text string, style cell.Style) {
		if text != "" {
			out = append(out, cell.Span{Text: text, Style: style})
		}
	}
	plain := 0 // start of the text that has no style
	i := 0
	for i < len(l) {
		if h.until != "" {
			end := strings.Index(l[i:], h.until)
			if end < 0 {
				add(l[i:], h.style)
				return out
			}
			end += i + len(h.until)
			add(l[i:end], h.style)
			i, plain, h.until = end, end, ""
			continue
		}
		n, style := h.token(l, i)
		if style != cell.Plain {
			add(l[plain:i], cell.Plain)
			add(l[i:i+n], style)
			plain = i + n
		}
		i += n
	}
	add(l[plain:], cell.Plain)
	return out
}

// token is the length and style of what begins at a byte.
func (h *highlighter) token(l string, i int) (int, cell.Style) {
	rest := l[i:]
	for _, c := range h.lang.line {
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || l[i-1] == ' ') {
			return len(rest), commentStyle
		}
	}
	if open := h.lang.block[0]; open != "" && strings.HasPrefix(rest, open) {
		h.until, h.style = h.lang.block[1], commentStyle
		return len(open), commentStyle
	}
	for _, q := range h.lang.long {
		if strings.HasPrefix(rest, q) {
			h.until, h.style = q, stringStyle
			return len(q), stringStyle
		}
	}
	if strings.IndexByte(h.lang.quotes, rest[0]) >= 0 {
		return quoted(rest), stringStyle
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		n = len(rest)
	}
	switch {
	case n == 0:
		_, size := utf8.DecodeRuneInString(rest)
		return size, cell.Plain
	case h.lang.keywords[rest[:n]]:
		return n, keywordStyle
	case rest[0] >= '0' && rest[0] <= '9':
		return n, numberStyle
	}
	return n, cell.Plain
}

// quoted is the length of a string, which ends with its line at the latest.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var languages = func() map[string]language {
	c := language{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`}
	with := func(l language, keywords string) language {
		l.keywords = words(keywords)
		return l
	}
	js := c
	js.long = []string{"`"}
	script := with(js, `async await break case catch class const continue default delete do else enum export extends false finally for from
		function if implements import in instanceof interface let new null of private protected public readonly return static super switch
		this throw true try type typeof undefined var void while yield`)
	golang := with(js, `break case chan const continue default defer else fallthrough false for func go goto if import interface map nil
		package range return select struct switch true type var`)
	cfamily := with(c, `auto bool break case catch char class const constexpr continue default delete do double else enum extern false final
		float for goto if import inline int interface long namespace new null nullptr operator override package private protected public
		return short signed sizeof static struct super switch template this throw true try typedef union unsigned using virtual void while`)
	rust := with(language{line: c.line, block: c.block, quotes: `"`}, `as async await break const continue crate dyn else enum extern false fn for
		if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while`)
	python := with(language{line: []string{"#"}, long: []string{`"""`, "'''"}, quotes: `"'`}, `and as assert async await break class continue def
		del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield`)
	shell := with(language{line: []string{"#"}, quotes: `"'`}, "case do done elif else esac export fi for function "+
		"if in local return set then while until")
	data := with(language{line: []string{"#"}, quotes: `"'`}, "true false null yes no")
	json := with(language{line: []string{"//"}, quotes: `"`}, "true false null")
	sql := with(language{line: []string{"--"}, block: c.block, quotes: `'"`}, `SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE
		INDEX DROP ALTER JOIN LEFT RIGHT INNER ON GROUP BY ORDER LIMIT AND OR NOT NULL select from where insert into values update set delete
		create table index drop alter join left right inner on group by order limit and or not null`)
	ruby := with(language{line: []string{"#"}, quotes: `"'`}, `begin break case class def do else elsif end ensure false for if in module next nil
		not or and redo rescue retry return self super then true unless until when while yield`)
	return map[string]language{
		"go": golang, "golang": golang, "js": script, "javascript": script, "jsx": script, "ts": script,
		"typescript": script, "tsx": script,
		"c": cfamily, "h": cfamily, "cpp": cfamily, "c++": cfamily, "java": cfamily, "cs": cfamily, "csharp": cfamily,
		"kotlin": cfamily,
		"swift":  cfamily, "php": cfamily, "rust": rust, "rs": rust, "python": python, "py": python, "sh": shell,
		"bash": shell, "shell": shell,
		"zsh": shell, "console": shell, "yaml": data, "yml": data, "toml": data, "ini": data, "dockerfile": data,
		"makefile": data,
		"json":     json, "jsonc": json, "sql": sql, "ruby": ruby, "rb": ruby,
	}
}()
