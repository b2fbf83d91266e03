package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// token is a piece of a pattern: one escape, one group opener, or one other byte.
type token struct {
	text    string
	inClass bool
}

// tokens splits a pattern, to distinguish syntax from text that is quoted or in a class.
func tokens(pattern string) []token {
	var ts []token
	inClass := false
	for i := 0; i < len(pattern); {
		n := 1
		switch rest := pattern[i:]; {
		case strings.HasPrefix(rest, `\Q`) && !inClass:
			n = len(rest)
			if end := strings.Index(rest, `\E`); end >= 0 {
				n = end + 2
			}
		case rest[0] == '\\':
			n = escapeLen(rest)
		case inClass:
			if end := strings.Index(rest, ":]"); end > 0 && strings.HasPrefix(rest, "[:") {
				n = end + 2
			}
			inClass = rest[0] != ']'
		case rest[0] == '[':
			inClass = true
			for _, first := range []string{"[^]", "[]", "[^", "["} {
				if strings.HasPrefix(rest, first) {
					n = len(first)
					break
				}
			}
		case strings.HasPrefix(rest, "(?"):
			n = groupLen(rest)
		}
		ts = append(ts, token{pattern[i : i+n], inClass})
		i += n
	}
	return ts
}

// groupLen returns the length of the opening of a group: "(?:", "(?<name>", "(?<=", "(?i)".
func groupLen(s string) int {
	for _, p := range []string{"(?<=", "(?<!", "(?=", "(?!", "(?>", "(?|", "(?(", "(?#", "(?R", "(?&", "(?P=", "(?P>"} {
		if strings.HasPrefix(s, p) {
			return len(p)
		}
	}
	if n := strings.IndexAny(s, ":)>"); n > 0 {
		return n + 1
	}
	return 2
}

// advice has the alternatives for syntax of other engines that a linear-time search can't support.
var advice = map[string]string{
	"(?=": "look-ahead (?=…) is not supported: match the text that follows too, as in foo(bar|baz)",
	"(?!": "negative look-ahead (?!…) is not supported: search without it and drop the lines not wanted, or " +
		"exclude characters with a class such as [^x]",
	"(?<=": `look-behind (?<=…) is not supported: match the text before too, or use \b for the start of a word`,
	"(?<!": "negative look-behind (?<!…) is not supported: search without it and drop the lines not wanted, or " +
		"write (^|[^x]) in its place",
	"(?>":  "an atomic group (?>…) is not supported and not needed, because the search never backtracks: write (?:…)",
	"(?|":  "a branch-reset group (?|…) is not supported: write (?:…)",
	"(?(":  "a conditional (?(…)…) is not supported: write the cases as alternatives a|b",
	"(?#":  "a comment (?#…) is not supported: omit it",
	"(?R":  "recursion (?R) is not supported: write out the depth that is needed",
	"(?&":  "a call of a group (?&…) is not supported: write the group out",
	"(?P>": "a call of a group (?P>…) is not supported: write the group out",
	"(?P=": "a back-reference (?P=…) is not supported: write out the texts that may repeat, as in (\"[^\"]*\"|'[^']*')",
	`\K`:   `\K is not supported: the whole line is shown anyway, so omit it`,
	`\G`:   `\G is not supported: omit it, or use ^ for the start of a line`,
	`\X`:   `\X is not supported: use . for a character`,
}

// refuse finds unsupported syntax first, since the parser's own errors don't help.
func refuse(pattern string) error {
	quantified := false // the previous token was a quantifier, so that a "+" would make it possessive
	for _, t := range tokens(pattern) {
		if text, ok := advice[t.text]; ok && !t.inClass {
			return fmt.Errorf("pattern %q: %s", pattern, text)
		}
		if len(t.text) >= 2 && t.text[0] == '\\' && !t.inClass {
			switch c := t.text[1]; {
			case '1' <= c && c <= '9', c == 'k', c == 'g':
				return fmt.Errorf("pattern %q: a back-reference %s is not supported: write out the texts that may "+
					"repeat, as in (\"[^\"]*\"|'[^']*')", pattern, t.text)
			}
		}
		if strings.HasPrefix(t.text, "(?") && strings.Contains(strings.TrimRight(t.text, ":)"), "x") &&
			!strings.ContainsAny(t.text, "<P") {
			return fmt.Errorf("pattern %q: the flag x (blanks and comments in patterns) is not supported: write the "+
				"pattern without them", pattern)
		}
		if quantified && t.text == "+" {
			return fmt.Errorf("pattern %q: a possessive quantifier is not supported and not needed, because the "+
				"search never backtracks: omit the second +", pattern)
		}
		quantified = !t.inClass && (t.text == "*" || t.text == "+" || t.text == "?" || t.text == "}")
		if t.text == "}" && !strings.Contains(pattern, "{") {
			quantified = false
		}
	}
	return nil
}

// translate rewrites syntax of other engines, with a note where that is a guess.
func translate(pattern string) (string, []string) {
	if !strings.Contains(pattern, `\`) {
		return pattern, nil
	}
	var b strings.Builder
	var notes []string
	for _, t := range tokens(pattern) {
		text := t.text
		switch {
		case (text == `\<` || text == `\>`) && !t.inClass:
			text = `\b`
			if notes == nil {
				notes = append(notes, `\< and \> were read as word boundaries; write < and > for the characters`)
			}
		case text == `\|` && !t.inClass:
			notes = append(notes, `\| was read as the character |; write | alone for alternatives`)
		case text == `\Z` && !t.inClass:
			text = `\z`
		case text == `\h` && t.inClass:
			text = ` \t`
		case text == `\h`:
			text = `[ \t]`
		case text == `\R` && !t.inClass:
			text = `(?:\r\n|\n|\r)`
		case text == `\e`:
			text = `\x1b`
		case strings.HasPrefix(text, `\u{`):
			text = `\x` + text[2:]
		case strings.HasPrefix(text, `\u`) && len(text) == 6:
			text = `\x{` + text[2:] + `}`
		}
		b.WriteString(text)
	}
	return b.String(), notes
}

// explain turns a parser error into one that says what to do.
func explain(pattern string, err error) error {
	hint := "see https://pkg.go.dev/regexp/syntax for what is understood"
	var se *syntax.Error
	if errors.As(err, &se) {
		switch se.Code {
		case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
			hint = `write \( and \) for the characters, or set fixed_strings to search for plain text`
		case syntax.ErrMissingBracket:
			hint = `write \[ for the character, or set fixed_strings to search for plain text`
		case syntax.ErrMissingRepeatArgument:
			hint = `write \* for the character, .* for anything; file names are given as glob`
		case syntax.ErrTrailingBackslash:
			hint = `write \\ for the character`
		case syntax.ErrInvalidRepeatSize:
			hint = "a repetition may be at most 1000"
		case syntax.ErrInvalidUTF8:
			hint = "the pattern must be valid UTF-8"
		case syntax.ErrLarge, syntax.ErrNestingDepth:
			hint = "split it into several searches"
		case syntax.ErrInvalidEscape:
			hint = `write the character without the backslash, or \\ for a backslash`
		}
	}
	return fmt.Errorf("pattern %q cannot be read (%s): %w", pattern, hint, err)
}
