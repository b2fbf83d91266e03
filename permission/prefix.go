package permission

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/tool"
)

//go:embed prefixes.txt
var prefixesText string

// prefix is a row of prefixes.txt: a command whose further words can't write, connect or run a program.
type prefix struct {
	words            []string
	example, counter string
}

// prefixes is what prefixes.txt says.
var prefixes = sync.OnceValue(func() []prefix { return table.Must(parsePrefixes(prefixesText, 10)) })

func parsePrefixes(text string, least int) ([]prefix, error) {
	lines, err := table.Lines(text, least)
	if err != nil {
		return nil, err
	}
	var out []prefix
	for _, line := range lines {
		f := strings.Split(line.Text, " | ")
		if len(f) != 3 || slices.Contains(f, "") || !strings.HasPrefix(f[1], f[0]+" ") ||
			strings.HasPrefix(f[2]+" ", f[0]+" ") {
			return nil, fmt.Errorf("line %d is not WORDS | EXAMPLE | COUNTER-EXAMPLE", line.Number)
		}
		out = append(out, prefix{strings.Split(f[0], " "), f[1], f[2]})
	}
	return out, nil
}

// prefixOf returns the row for the beginning of a command.
func prefixOf(argv []string) (prefix, bool) {
	for _, p := range prefixes() {
		if len(argv) >= len(p.words) && slices.Equal(argv[:len(p.words)], p.words) {
			return p, true
		}
	}
	return prefix{}, false
}

// Wide returns the allow rules whose further words may write, connect or run a program, such as Shell(git push:*), and
// those for all commands. Permission prompts offered such rules once.
func (p *Policy) Wide(tools []tool.Declaration) []tool.Rule {
	var out []tool.Rule
	for _, u := range p.current().rules.allow {
		runs := u.verb == shelling || slices.ContainsFunc(tools, func(d tool.Declaration) bool {
			return d.Kind == tool.Execute && d.Origin == "" && u.ofTool(&d, true)
		})
		if runs && u.wide() {
			out = append(out, u.cite(false))
		}
	}
	return out
}

// wide reports whether a rule for commands allows words that may write, connect or run a program.
func (r *rule) wide() bool {
	if r.whole || !r.isCommand || r.command.Exact() {
		return r.whole
	}
	words := r.command.Words()
	_, harmless := prefixOf(words)
	return !harmless && !program.RunnerOf(words[0]).Safe
}
