package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// docs/cli.md is generated from the tables of commands and flags: run make golden.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nGenerated from the program: `make golden`. `adze COMMAND --help` and `adze man` print the same.\n")
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		name := strings.TrimSpace("adze " + c.name)
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", name, upperFirst(c.about), strings.Join(strings.Fields(name+" [FLAGS] "+c.words), " "))
		if rows := flagRows(c); len(rows) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for i, r := range rows {
				text := markdownCell(r[1])
				switch {
				case r[0] == "":
					b.WriteString(" " + text)
				case i > 0:
					fmt.Fprintf(&b, " |\n| `%s` | %s", markdownCell(strings.TrimSpace(r[0])), text)
				default:
					fmt.Fprintf(&b, "| `%s` | %s", markdownCell(strings.TrimSpace(r[0])), text)
				}
			}
			b.WriteString(" |\n")
		}
		if c.help != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.TrimSpace(c.help))
		}
	}
	fmt.Fprintf(&b, "\n## Environment and exit codes\n\n```\n%s\n```\n", strings.TrimSpace(environment))
	golden(t, filepath.Join("..", "..", "docs", "cli.md"), b.String())
}

func markdownCell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }
