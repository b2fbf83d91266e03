package bash

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/shellwords"
)

// Kind says how much is known of a word.
type Kind int

// The kinds.
const (
	Literal Kind = iota // known exactly
	Glob                // with an unquoted *, ? or [: names of files, or itself
	Unknown             // known only at run time
)

// Word is a word after quote removal.
type Word struct {
	// Text is the value of a literal, the pattern of a glob with quoted characters escaped, otherwise the source.
	Text string
	Kind Kind
}

// String returns the word, quoted for bash.
func (w Word) String() string {
	if w.Kind != Literal {
		return w.Text
	}
	return shellwords.Quote(w.Text)
}

// Bytes of names, of words without special characters, and of patterns.
const (
	nameBytes    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	plainBytes   = nameBytes + "-./:=@%+,~^"
	patternBytes = plainBytes + "*?[]|!"
)

// only reports whether all bytes of s are among bytes.
func only(s, bytes string) bool { return strings.Trim(s, bytes) == "" }

// word reads a word. What braces expand to is unknown.
func (r Reader) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	if s, ok := plainLiteral(w); ok {
		return Word{s, Literal}
	}
	source := r.text(w)
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") && expandsBraces().MatchString(source) {
			return Word{source, Unknown}
		}
	}
	return r.build(w).word(source)
}

// expandsBraces matches braces that may be a list or a sequence.
var expandsBraces = lazy.Regexp(`(?s)\{.*,|\{[^}]*\.\.`)

// plainLiteral returns the text of a word without quotes or special characters.
func plainLiteral(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || strings.ContainsAny(lit.Value, `\*?[~{}`) || oddBlank(lit.Value) {
		return "", false
	}
	return lit.Value, true
}

// builder builds a word from its parts.
type builder struct {
	*Reader
	text    strings.Builder // a pattern, in which quoted special characters are escaped
	glob    bool            // it has an unquoted *, ? or [
	unknown bool
	odd     bool // its expansion may have side effects: assign, calculate
	started bool // something came before: ~ is the home only at the start
}

// build reads the parts of a word.
func (r Reader) build(w *syntax.Word) *builder {
	b := &builder{Reader: &r}
	for i, p := range w.Parts {
		b.part(p, i == len(w.Parts)-1)
	}
	return b
}

// word returns the word; source is how it is written.
func (b *builder) word(source string) Word {
	s := b.text.String()
	switch {
	case b.unknown:
		return Word{source, Unknown}
	case b.glob && s != "[":
		return Word{s, Glob}
	}
	return Word{Unescaped(s), Literal}
}

// Unescaped returns a pattern without its backslashes.
func Unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escaped().ReplaceAllString(s, "$1")
}

var escaped = lazy.Regexp(`(?s)\\(.)`)

func (b *builder) part(p syntax.WordPart, last bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.lit(p.Value, last)
	case *syntax.SglQuoted:
		s, ok := p.Value, true
		if p.Dollar {
			s, ok = ansiC(s)
		}
		b.unknown = b.unknown || !ok
		b.quoted(s)
	case *syntax.DblQuoted:
		b.unknown = b.unknown || p.Dollar // translated by a catalog of messages
		b.started = true
		for _, q := range p.Parts {
			switch q := q.(type) {
			case *syntax.Lit:
				b.quoted(doubleEscapes.Replace(q.Value))
			case *syntax.ParamExp:
				b.param(q, true)
			case *syntax.CmdSubst:
				b.unknown = true
			default:
				b.unknown, b.odd = true, true
			}
		}
	case *syntax.ParamExp:
		b.param(p, false)
	case *syntax.CmdSubst:
		b.unknown = true
	default:
		b.unknown, b.odd = true, true
	}
}

// oddBlank reports whether s has a byte that is a blank to bash in some locales and on some systems, such as the second
// byte of à on macOS.
func oddBlank(s string) bool {
	return strings.IndexByte(s, 0xa0) >= 0 || strings.IndexByte(s, 0x85) >= 0
}

// lit reads an unquoted literal, which may have backslashes.
func (b *builder) lit(s string, last bool) {
	b.unknown = b.unknown || oddBlank(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) || s[i] == '\n' { // the parser takes the third of three backslashes for an escaped one
				b.unknown = true
				return
			}
			b.quoted(s[i : i+1])
		case '~':
			b.tilde(s[i+1:], last)
		default:
			b.glob = b.glob || c == '*' || c == '?' || c == '['
			b.text.WriteByte(c)
		}
		b.started = true
	}
}

// tilde reads a ~ before rest. It is the home directory at the start of a word, alone or before a slash. After = and :
// bash may expand it too.
func (b *builder) tilde(rest string, last bool) {
	switch prev := b.text.String(); {
	case b.started:
		b.unknown = b.unknown || strings.HasSuffix(prev, "=") || strings.HasSuffix(prev, ":")
		b.text.WriteByte('~')
	case b.options.Home == "" || !(rest == "" && last || strings.HasPrefix(rest, "/")):
		b.unknown = true
	default:
		b.quoted(b.options.Home)
	}
}

// quoted adds text without special meaning.
func (b *builder) quoted(s string) {
	b.started = true
	b.text.WriteString(patternEscapes.Replace(s))
}

// patternEscapes escapes what is special in a pattern. doubleEscapes removes the backslashes from a text in double
// quotes, and the line ends after them.
var (
	patternEscapes = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)
	doubleEscapes  = strings.NewReplacer(`\$`, "$", "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "")
)

// param reads a variable: only $HOME and $PWD are known.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	b.started = true
	if !plainParam(p) {
		b.unknown, b.odd = true, true
		return
	}
	value := ""
	switch name := p.Param.Value; {
	case name == "HOME":
		value = b.options.Home
	case name == "PWD" && len(b.Dirs) == 1 && !names(b.source, name):
		value = b.Dirs[0]
	}
	b.unknown = b.unknown || value == "" || !quoted && !only(value, plainBytes)
	b.quoted(value)
}

// plainParam reports whether p is just $name or ${name}.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// ansiC reads the text of $'…' with the escapes that Go has too. ok is false for others, for NUL, which ends the text,
// for bytes that aren't UTF-8, and for \u, which depends on the locale.
func ansiC(s string) (text string, ok bool) {
	text, err := strconv.Unquote(`"` + ansiToGo.Replace(s) + `"`)
	return text, err == nil && utf8.ValidString(s) && utf8.ValidString(text) && !strings.ContainsRune(text, 0) &&
		!strings.Contains(strings.ToLower(s), `\u`)
}

var ansiToGo = strings.NewReplacer("\\\n", `\\\n`, `\\`, `\\`, `\'`, "'", `\"`, `\"`, `"`, `\"`, "\n", `\n`)
