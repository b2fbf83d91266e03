package cli

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/builtin"
)

// mostSteps is how many lines a checklist has on the screen.
const mostSteps = 20

// checklist is a list of steps, each on a line behind margin; of a long one, what is done is left out first.
func checklist(list builtin.TodoList, margin string) string {
	if len(list) > mostSteps {
		list = append(builtin.TodoList{{Content: fmt.Sprintf("(%d of %d steps done)", len(list)-len(list.Open()), len(list)), Status: builtin.TodoCompleted}}, list.Open()...)
	}
	more := len(list) - mostSteps
	list = list[:min(len(list), mostSteps)]
	lines := strings.Split(strings.ReplaceAll(list.Markdown(), "\n- ", "\n"), "\n")
	lines[0] = strings.TrimPrefix(lines[0], "- ")
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	for i, line := range lines {
		if r := []rune(line); len(r) > 100 {
			line = string(r[:100]) + " …"
		}
		lines[i] = margin + line
	}
	return strings.Join(lines, "\n")
}
