package bash

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Kind says how much is known of a word.
type Kind int

// The sorts.
const (
	Literal   Kind = iota // known to the byte
	Glob                  // an unquoted * ? or [ in it: names of files, or itself
	PublicVar             // with variables that everybody may see, such as $PWD or $?; of use to echo alone
	Unknown               // only the shell knows
)

// Word is a word after quote removal.
type Word struct {
	// Text is the value of a literal, the pattern of a glob with what was quoted escaped by backslashes, else the source.
	Text string
	Kind Kind
}

// CanBeFlag reports whether a glob may come out with a minus in front.
func (w Word) CanBeFlag() bool {
	return w.Text == "" || strings.IndexByte("-*?[", w.Text[0]) >= 0
}

// String writes the word so that bash reads it the same way.
func (w Word) String() string {
	if w.Kind != Literal {
		return w.Text
	}
	return Quote(w.Text)
}

// Quote writes a text as one word of bash.
func Quote(s string) string {
	if s != "" && Only(s, &PlainSet) && s[0] != '~' && !strings.Contains(s, "=~") && !strings.Contains(s, ":~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,~^"

// byteSet is a set of bytes.
type byteSet [256]bool

func SetOf(bytes string) (set byteSet) {
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return set
}

var (
	PlainSet, patternSet, specialSet = SetOf(plainBytes), SetOf(plainBytes + "*?[]|!"), SetOf("\\*?[~{}\x85\xa0")
	quotedSet                        = SetOf(`*?[]\{},.~`) // what quotes take a meaning from
)

// Only reports whether all bytes of s are in a set.
func Only(s string, set *byteSet) bool {
	for i := range len(s) {
		if !set[s[i]] {
			return false
		}
	}
	return true
}

// has reports whether a byte of s is in a set.
func has(s string, set *byteSet) bool {
	for i := range len(s) {
		if set[s[i]] {
			return true
		}
	}
	return false
}

// builder puts a word together from its parts.
type builder struct {
	home       string
	bound      map[string]Word // values of loop variables
	dirs       []string        // that the shell may stand in
	text       strings.Builder // what was quoted stands behind a backslash where it would otherwise mean more than itself
	publicVars bool
	unknown    bool
	started    bool // only at the start of a word ~ is the home
	marked     bool // something in it was quoted, and be it nothing: {1..'3'} is no range
	short      bool // $HOME stands in it unquoted: what braces put behind it is read as part of the name
}

// word reads a word in which bash expands no braces.
func (r *Reader) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	b, unknown := r.build(w)
	if b == nil {
		return unknown
	}
	return finish(b.text.String())
}

// words reads a word and expands its braces.
func (r *Reader) words(w *syntax.Word) []Word {
	if s, ok := plainLiteral(w); ok {
		return []Word{{s, Literal}}
	}
	if s, ok := wholeQuote(w); ok {
		return []Word{{s, Literal}}
	}
	b, unknown := r.build(w)
	if b == nil {
		return []Word{unknown}
	}
	texts, ok := ExpandBraces(b.text.String(), !b.marked)
	if !ok || len(texts) > 1 && b.short {
		return []Word{{r.text(w), Unknown}}
	}
	out := make([]Word, len(texts))
	for i, t := range texts {
		if len(texts) > 1 && (t == "" || strings.HasPrefix(t, "~") || strings.Contains(t, "=~") || strings.Contains(t, ":~")) {
			out[i] = Word{r.text(w), Unknown} // braces come before the home; an empty word may or may not be left out
			continue
		}
		out[i] = finish(t)
	}
	return out
}

// plainLiteral is the text of a word of which nothing means more than itself.
func plainLiteral(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || has(lit.Value, &specialSet) {
		return "", false
	}
	return lit.Value, true
}

// wholeQuote is the text of a word that is one text in quotes, as long ones are.
func wholeQuote(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok {
				return unquoteDouble(lit.Value), true
			}
		}
	}
	return "", false
}

// oneWord reads a word that must come to one, as the target of a redirection does.
func (r *Reader) oneWord(w *syntax.Word) Word {
	if words := r.words(w); len(words) == 1 {
		return words[0]
	}
	return Word{r.text(w), Unknown}
}

// build reads the parts of a word, whose text is still escaped then. Without a builder it is the other word.
func (r *Reader) build(w *syntax.Word) (known *builder, other Word) {
	b := &builder{home: r.options.Home, dirs: r.Dirs, bound: r.bound}
	for i, p := range w.Parts {
		b.part(p, i == len(w.Parts)-1)
	}
	switch {
	case b.unknown, b.publicVars && hasGlob(b.text.String()):
		return nil, Word{r.text(w), Unknown}
	case b.publicVars:
		return nil, Word{r.text(w), PublicVar}
	}
	return b, Word{}
}

// hasGlob reports whether escaped text holds a * ? [ or { that was not quoted: what it stands for begins nobody knows
// where, and may be more than one word.
func hasGlob(s string) bool {
	return unescapedByte(s, '{') >= 0 || unescapedByte(s, '*') >= 0 || unescapedByte(s, '?') >= 0 || unescapedByte(s, '[') >= 0
}

// finish makes a word of escaped text: a glob keeps the backslashes that matter to it, a literal none.
func finish(s string) Word {
	if strings.IndexByte(s, '\\') < 0 {
		if strings.ContainsAny(s, "*?[") && s != "[" {
			return Word{s, Glob}
		}
		return Word{s, Literal}
	}
	plain, pattern := make([]byte, 0, len(s)), make([]byte, 0, len(s))
	glob := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			if strings.IndexByte(`*?[]\`, s[i]) >= 0 {
				pattern = append(pattern, '\\')
			}
		} else if c == '*' || c == '?' || c == '[' {
			glob = true
		}
		plain, pattern = append(plain, s[i]), append(pattern, s[i])
	}
	if glob {
		return Word{string(pattern), Glob}
	}
	return Word{string(plain), Literal}
}

func (b *builder) part(p syntax.WordPart, last bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.lit(p.Value, last)
	case *syntax.SglQuoted:
		s := p.Value
		if p.Dollar {
			var ok bool
			if s, ok = ansiC(s); !ok {
				b.unknown = true
			}
		}
		b.quoted(s)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.unknown = true // translated by a catalogue of messages
		}
		b.started, b.marked = true, true
		for _, q := range p.Parts {
			b.inQuotes(q)
		}
	case *syntax.ParamExp:
		b.param(p, false)
	default:
		b.unknown = true
	}
}

// oddBlank reports whether s holds a byte that bash takes for a blank in some languages and on some systems: the second
// half of an à, for one, on macOS.
func oddBlank(s string) bool {
	return strings.IndexByte(s, 0xa0) >= 0 || strings.IndexByte(s, 0x85) >= 0
}

// lit reads an unquoted literal, in which backslashes still stand.
func (b *builder) lit(s string, last bool) {
	b.unknown = b.unknown || oddBlank(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				b.unknown = true // a line that ends in a backslash
				return
			}
			b.unknown = b.unknown || s[i] == '\n' // the parser takes the third of three backslashes for escaped
			b.quoted(s[i : i+1])
			continue
		case '~':
			b.tilde(s, i, last)
		default:
			b.text.WriteByte(c)
		}
		b.started = true
	}
}

// tilde reads a ~ at s[i]: the home where it begins a word, alone or before a slash; itself in the middle of one. After
// = and : bash may expand it too.
func (b *builder) tilde(s string, i int, last bool) {
	if b.started {
		if prev := b.text.String(); prev != "" && strings.IndexByte("=:", prev[len(prev)-1]) >= 0 {
			b.unknown = true
		}
		b.text.WriteByte('~')
		return
	}
	rest := s[i+1:]
	if b.home == "" || !(rest == "" && last || strings.HasPrefix(rest, "/")) {
		b.unknown = true
		return
	}
	b.quoted(b.home)
}

// quoted adds text that means itself.
func (b *builder) quoted(s string) {
	b.started, b.marked = true, true
	from := 0
	for i := range len(s) {
		if quotedSet[s[i]] {
			b.text.WriteString(s[from:i])
			b.text.WriteByte('\\')
			from = i
		}
	}
	b.text.WriteString(s[from:])
}

// inQuotes reads a part within double quotes.
func (b *builder) inQuotes(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.quoted(unquoteDouble(p.Value))
	case *syntax.ParamExp:
		b.param(p, true)
	default:
		b.unknown = true
	}
}

// unquoteDouble takes the backslashes out of a text between double quotes, and the ends of lines behind them.
func unquoteDouble(s string) string {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	text := append(make([]byte, 0, len(s)), s[:at]...)
	for i := at; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		text = append(text, s[i])
	}
	return string(text)
}

// calculate adds, subtracts and multiplies small decimal numbers.
func calculate(x syntax.ArithmExpr) (n int, ok bool) {
	const most = 1 << 20
	switch x := x.(type) {
	case *syntax.Word:
		s, plain := plainLiteral(x)
		n, err := strconv.Atoi(s)
		return n, plain && err == nil && n < most && strconv.Itoa(n) == s
	case *syntax.ParenArithm:
		return calculate(x.X)
	case *syntax.BinaryArithm:
		a, ok1 := calculate(x.X)
		b, ok2 := calculate(x.Y)
		if !ok1 || !ok2 || a > most || b > most || a < -most || b < -most {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			return a + b, true
		case syntax.Sub:
			return a - b, true
		case syntax.Mul:
			return a * b, true
		}
	}
	return 0, false
}

// param reads a variable: $HOME is known, a few others are nobody's secret, all the rest is unknown.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	b.started = true
	if !plainParam(p) {
		b.unknown = true
		return
	}
	name := p.Param.Value
	b.short = b.short || p.Short && !quoted
	if v, known := b.bound[name]; known {
		b.value(v, quoted)
		return
	}
	switch {
	case name == "HOME" && b.home != "" && (quoted || Only(b.home, &PlainSet)):
		b.quoted(b.home)
	case publicVars[name] && (quoted || b.steady(name)):
		b.publicVars = true
	default:
		b.unknown = true
	}
}

// steady reports whether the value of a variable stays one word without quotes. A folder may be called "x /home/me/*".
func (b *builder) steady(name string) bool {
	odd := func(dir string) bool { return !Only(dir, &PlainSet) }
	return name != "OLDPWD" && (name != "PWD" || b.dirs != nil && !slices.ContainsFunc(b.dirs, odd))
}

// plainParam reports whether p is $name or ${name} and nothing more.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// publicVars are the variables whose value anyone may see.
var publicVars = map[string]bool{
	"?": true, "$": true, "#": true, "!": true, "PWD": true, "OLDPWD": true, "USER": true, "LOGNAME": true, "SHELL": true,
	"PATH": true, "LANG": true, "TERM": true, "HOSTNAME": true, "UID": true, "EUID": true, "BASH_VERSION": true,
	"HOME": true, "SECONDS": true, "LINENO": true, "RANDOM": true,
}

// ansiC reads the text of $'…'. ok is false where bash versions or places differ.
func ansiC(s string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		if c := strings.IndexByte(`\'"?abefnrtvE`, s[i]); c >= 0 {
			b.WriteByte("\\'\"?\a\b\x1b\f\n\r\t\v\x1b"[c])
			continue
		}
		n, value := number(s[i:])
		if n == 0 || value == 0 || value > 0x7f {
			return "", false // NUL ends the text; \u depends on the locale
		}
		b.WriteByte(byte(value))
		i += n - 1
	}
	return b.String(), true
}

// number reads \nnn (octal) or \xHH, without the backslash.
func number(s string) (n, value int) {
	if s[0] == 'x' {
		for n = 1; n < len(s) && n < 3; n++ {
			d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
			if d < 0 {
				break
			}
			value = value*16 + d
		}
		if n == 1 {
			return 0, 0
		}
		return n, value
	}
	for n < len(s) && n < 3 && s[n] >= '0' && s[n] <= '7' {
		value = value*8 + int(s[n]-'0')
		n++
	}
	return n, value
}

// oneText reports whether a word is made of texts, of what commands print and of plain variables: where words are not
// taken apart, it is one word, whatever its value.
func oneText(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				return false
			}
		case *syntax.ParamExp:
			if !plainParam(p) {
				return false
			}
		case *syntax.DblQuoted:
			if p.Dollar || !oneText(p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
