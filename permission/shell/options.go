package shell

import (
	"slices"
	"strings"
)

// skipOptions is what follows the options of a wrapper. unsure: there was one that we do not know.
func skipOptions(c *Command, w wrapper) (rest []Word, unsure bool) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		s := words[i].Text
		switch {
		case s == "-" && c.base() == "env": // another -i
		case words[i].Kind != Literal || len(s) < 2 || s[0] != '-':
			return words[i:], unsure
		case s == "--":
			return words[i+1:], unsure
		case strings.HasPrefix(s, "--"):
			name, _, attached := strings.Cut(s, "=")
			if slices.Contains(w.long, name) && !attached {
				i++
			} else if !attached && !slices.Contains(w.bare, name) {
				unsure = true
			}
		default:
			// The first letter that takes a value takes the rest of the word, or the next word.
			at := strings.IndexAny(s[1:], w.values+"\x00")
			if at >= 0 && w.values != "" && at+2 == len(s) {
				i++
			} else if at < 0 && strings.Trim(s[1:], "0123456789") != "" {
				unsure = true
			}
		}
	}
	return nil, unsure
}

// optionValue is the value of an option, in its word or the next one.
func optionValue(words []Word, option string) (Word, bool) {
	for i, w := range words {
		if i == 0 {
			continue
		}
		switch {
		case w.Text == option || len(option) == 2 && cluster(w.Text) && strings.HasSuffix(w.Text, option[1:]):
			if i+1 < len(words) {
				return words[i+1], true
			}
		case len(option) == 2 && strings.HasPrefix(w.Text, option):
			return Word{w.Text[2:], w.Kind}, true
		case strings.HasPrefix(w.Text, option+"=") && strings.HasPrefix(option, "--"):
			return Word{w.Text[len(option)+1:], w.Kind}, true
		}
	}
	return Word{}, false
}

// firstOperand is the first word that is no option.
func firstOperand(words []Word) (Word, bool) {
	for _, w := range words[1:] {
		if w.Kind != Literal || !strings.HasPrefix(w.Text, "-") || len(w.Text) < 2 {
			return w, true
		}
	}
	return Word{}, false
}

// cluster reports whether s is -abc.
func cluster(s string) bool {
	return len(s) > 1 && s[0] == '-' && strings.Trim(s[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// splitString reads env -S LINE WORD…, -iSLINE, --split-string=LINE and what it may be cut to. The words that follow are
// added to those of the line.
func (r *reader) splitString(c *Command) {
	for i := 1; i < len(c.Words) && strings.HasPrefix(c.Words[i].Text, "-") && c.Words[i].Text != "--"; i++ {
		text := c.Words[i].Text
		option, value, attached := strings.Cut(text, "=")
		if !strings.HasPrefix(text, "--") {
			at := strings.IndexAny(text, wrapperOf("env").values)
			if at < 0 || text[at] != 'S' {
				if at == len(text)-1 {
					i++ // -u NAME
				}
				continue
			}
			option, value, attached = "--split-string", text[at+1:], at+1 < len(text)
		}
		if len(option) < 3 || !strings.HasPrefix("--split-string", option) {
			if slices.Contains(wrapperOf("env").long, option) && !attached {
				i++
			}
			continue
		}
		line := Word{value, c.Words[i].Kind}
		rest := c.Words[i+1:]
		if !attached && len(rest) > 0 {
			line, rest = rest[0], rest[1:]
		}
		for _, w := range rest {
			line = Word{line.Text + " " + w.String(), max(line.Kind, w.Kind)}
		}
		if r.line(c, line); !only(strings.ReplaceAll(line.Text, " ", ""), &plainSet) {
			r.unknown(c) // env has quotes and signs of its own
		}
		return
	}
}

// queries reports whether command is asked about a name rather than to run it.
func queries(c *Command) bool {
	return len(c.Words) > 1 && (c.Words[1].Text == "-v" || c.Words[1].Text == "-V")
}

// join makes one line of words, as eval does.
func join(words []Word) Word {
	var parts []string
	for _, w := range words {
		if w.Kind != Literal {
			return Word{w.Text, Unknown}
		}
		parts = append(parts, w.Text)
	}
	return Word{strings.Join(parts, " "), Literal}
}
