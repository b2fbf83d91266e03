// Package table reads tables that are part of the program, as embedded text files. A permission table with a line that
// means something other than its author wrote would allow too much, so whatever is unexpected is an error: a carriage
// return of a checkout that converted line endings, other control characters, blanks at the end of a line, an
// incomplete last line, and too few lines.
package table

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a line of a table.
type Line struct {
	Number int
	Text   string
}

// Lines returns the lines of a table without comments and empty lines. least is the minimum number of them.
func Lines(text string, least int) ([]Line, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the table is not valid UTF-8")
	}
	if !strings.HasSuffix(text, "\n") {
		return nil, errors.New("the last line of the table is incomplete")
	}
	var lines []Line
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = line[:len(line)-1]
		if i := strings.IndexFunc(line, unexpected); i >= 0 {
			return nil, fmt.Errorf("line %d contains %q: was the file converted to other line endings?", number,
				line[i:i+1])
		}
		if strings.TrimSpace(line) != strings.TrimLeft(line, " \t") {
			return nil, fmt.Errorf("line %d ends with a blank", number)
		}
		if line != "" && line[0] != '#' {
			lines = append(lines, Line{number, line})
		}
	}
	if len(lines) < least {
		return nil, fmt.Errorf("the table has %d lines, and should have at least %d", len(lines), least)
	}
	return lines, nil
}

// unexpected reports whether a character doesn't belong into a table.
func unexpected(c rune) bool { return (c < ' ' || c > '~') && c != '\t' && !unicode.IsGraphic(c) }

// Must returns a table that was read without an error, and panics otherwise: the program is broken, and a test reads
// the table.
func Must[T any](read T, err error) T {
	if err != nil {
		panic(err)
	}
	return read
}
