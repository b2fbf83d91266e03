package cli

import (
	"strings"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

// slashText is what a slash command has for the user.
func slashText(x session.Expansion) string {
	if len(x.Commands) == 0 {
		return x.Print
	}
	return "Slash commands, at the start of a prompt:\n" + slashTable(x.Commands) +
		"@path attaches a file, @server:uri attaches an MCP resource, !command runs a command."
}

// slashTable is a line for every slash command.
func slashTable(all []session.Slash) string {
	var rows [][]string
	for _, c := range all {
		about, _, _ := strings.Cut(c.About, "\n")
		rows = append(rows, []string{tool.Visible(strings.TrimSpace("/" + c.Name + " " + c.Words)), tool.Visible(about)})
	}
	return table(rows)
}
