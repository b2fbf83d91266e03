package outline

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/table"
)

//go:embed languages.txt
var languagesText string

// language is how declarations look. The first pattern that matches a line counts.
type language []pattern

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

// languages has the languages by the endings of their files.
var languages = sync.OnceValue(func() map[string]*language { return table.Must(readLanguages(languagesText)) })

func readLanguages(text string) (map[string]*language, error) {
	lines, err := table.Lines(text, 40)
	if err != nil {
		return nil, err
	}
	all, l := map[string]*language{}, new(language)
	for _, line := range lines {
		word, rest, _ := strings.Cut(line.Text, " ")
		switch {
		case word == "files":
			l = new(language)
			for _, ending := range strings.Fields(rest) {
				all[ending] = l
			}
		case roles[word] != "":
			*l = append(*l, pattern{word, lazy.Regexp(strings.ReplaceAll(rest, "NAME", identifier))})
		default:
			return nil, fmt.Errorf("line %d is invalid: %s", line.Number, line.Text)
		}
	}
	return all, nil
}
