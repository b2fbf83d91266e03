package outline

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/table"
)

//go:embed languages.txt
var languagesText string

// language is how declarations and what isn't code look.
type language struct {
	name     string
	files    []string
	notNames []string // words before an opening parenthesis that aren't names of functions
	spans    []span
	begins   [256]bool // the first bytes of spans
	patterns []pattern
}

// pattern is an expression for the line of a declaration.
type pattern struct {
	role       string
	words      []string // the line has one of these
	expression func() *regexp.Regexp
}

const identifier = `[\pL_$][\pL\pN_$]*`

// roles has the roles of declarations with their usual kinds.
var roles = map[string]string{"container": "type", "leaf": "function", "member": "method", "minor": "declaration"}

var languages = sync.OnceValue(func() []*language { return table.Must(readLanguages(languagesText)) })

func languageOf(extension string) *language {
	for _, l := range languages() {
		if slices.Contains(l.files, extension) {
			return l
		}
	}
	return nil
}

func readLanguages(text string) (all []*language, err error) {
	lines, err := table.Lines(text, 50)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line.Text, " ")
		if word == "language" {
			all = append(all, &language{name: rest})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d is before the first language", line.Number)
		}
		if !all[len(all)-1].read(word, rest) {
			return nil, fmt.Errorf("line %d is invalid: %s", line.Number, line.Text)
		}
	}
	return all, nil
}

// read adds a line of the table to a language.
func (l *language) read(word, rest string) (ok bool) {
	parts := strings.Fields(rest)
	s := span{escapes: word == "text" || word == "quote", inLine: word == "comment" || word == "quote"}
	switch {
	case word == "files":
		l.files = parts
		return len(parts) > 0
	case word == "not":
		l.notNames = parts
		return true
	case roles[word] != "" && len(parts) > 1:
		_, expression, _ := strings.Cut(rest, " ")
		l.patterns = append(l.patterns, pattern{
			word, strings.Split(parts[0], ","), lazy.Regexp(strings.ReplaceAll(expression, "NAME", identifier)),
		})
		return true
	case word == "comment" && len(parts) == 1:
		s.begin = parts[0]
	case word == "quote" && len(parts) == 1:
		s.begin, s.end = parts[0], parts[0]
	case (word == "raw" || word == "text") && len(parts) == 2:
		s.begin, s.end = parts[0], parts[1]
	default:
		return false
	}
	l.spans = append(l.spans, s)
	l.begins[s.begin[0]] = true
	return true
}
