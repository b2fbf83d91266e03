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

// language is how declarations look.
type language struct {
	name     string
	files    []string
	patterns []pattern
}

// pattern is an expression for the line of a declaration.
type pattern struct {
	role       string
	expression func() *regexp.Regexp
}

const identifier = `[\pL_$][\pL\pN_$]*`

// roles has the roles of declarations with their usual kinds.
var roles = map[string]string{"container": "type", "leaf": "function", "member": "method", "minor": "declaration"}

// notNames are words before an opening parenthesis that aren't names of functions.
var notNames = strings.Fields("if for while switch catch return else new throw with function super await do case " +
	"synchronized this delete sizeof defined alignas void int char bool long")

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
	lines, err := table.Lines(text, 40)
	if err != nil {
		return nil, err
	}
	l := &language{}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line.Text, " ")
		switch {
		case word == "language":
			l = &language{name: rest}
			all = append(all, l)
		case word == "files":
			l.files = strings.Fields(rest)
		case roles[word] != "":
			l.patterns = append(l.patterns, pattern{word, lazy.Regexp(strings.ReplaceAll(rest, "NAME", identifier))})
		default:
			return nil, fmt.Errorf("line %d is invalid: %s", line.Number, line.Text)
		}
	}
	return all, nil
}
