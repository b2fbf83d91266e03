package discover

import (
	"errors"
	"fmt"
	"strings"
)

// Words splits a command line into words by the quoting rules of a shell: backslash, single and double quotes. It runs
// nothing and expands nothing. A character that only a shell could act on is an error unless it is quoted.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch c {
		case ' ', '\t', '\n', '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'', '"':
			text, n, err := quoted(line[i:])
			if err != nil {
				return nil, fmt.Errorf("parse command %s: %w", line, err)
			}
			word.WriteString(text)
			i += n - 1
		case '\\':
			if i+1 == len(line) {
				return nil, fmt.Errorf("parse command %s: trailing backslash", line)
			}
			i++
			if line[i] == '\n' {
				continue // a continued line
			}
			word.WriteByte(line[i])
		case '|', '&', ';', '<', '>', '(', ')', '`':
			return nil, fmt.Errorf("parse command %s: %q requires a shell. Quote it, or use sh -c '…'", line, string(c))
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted reads the quoted text at the beginning of s and says how many bytes it takes.
func quoted(s string) (text string, n int, err error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String(), i + 1, nil
		case quote == '"' && c == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, errors.New("unclosed quote")
}

// quote writes words so that [Words] reads the same ones: the permission prompt shows where one ends.
func quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\|&;<>()`$*?[]{}~#!") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
