// Package shellwords splits lines into words by the quoting rules of a shell. It runs nothing and expands nothing.
package shellwords

import "strings"

// Line is a line in words.
type Line struct {
	Words   []string
	InWord  bool // the line ends in the last word, not after it
	Open    byte // the quote or backslash that the line ends in; 0: none
	Special byte // the first unquoted character that is special to a shell, such as '|'; 0: none
}

// Split splits a line. Quotes and, with escapes, backslashes keep spaces. A special character is part of its word.
func Split(line string, escapes bool) Line {
	var l Line
	var word strings.Builder
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case l.Open == '\\':
			l.Open = 0
			if c == '\n' {
				continue // a continued line
			}
			word.WriteByte(c)
		case l.Open == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if l.InWord {
				l.Words = append(l.Words, word.String())
				word.Reset()
			}
			l.InWord = false
			continue
		case l.Open == 0 && (c == '\'' || c == '"' || c == '\\' && escapes):
			l.Open = c
			if c == '\\' {
				continue
			}
		case l.Open != 0 && c == l.Open:
			l.Open = 0
		case l.Open == '"' && c == '\\' && escapes && i+1 < len(line) && strings.IndexByte("\"\\$`\n", line[i+1]) >= 0:
			if i++; line[i] != '\n' {
				word.WriteByte(line[i])
			}
		default:
			if l.Open == 0 && l.Special == 0 && strings.IndexByte("|&;<>()`", c) >= 0 {
				l.Special = c
			}
			word.WriteByte(c)
		}
		l.InWord = true
	}
	if l.InWord {
		l.Words = append(l.Words, word.String())
	}
	return l
}

// Quote writes a word so that a shell reads it as it is, in quotes only where it needs them.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,~^"
	if word != "" && strings.Trim(word, plain) == "" && word[0] != '~' && !strings.Contains(word, "=~") &&
		!strings.Contains(word, ":~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
