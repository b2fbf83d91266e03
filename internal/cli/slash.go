package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/tui"
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

// usageColumn is how wide the first column of the table of commands is at most.
const usageColumn = 24

// slashTable is a line for every slash command, and two for one that takes many words.
func slashTable(all []session.Slash) string {
	type row struct{ usage, about string }
	var rows []row
	width := 0
	for _, c := range all {
		about, _, _ := strings.Cut(c.About, "\n")
		if len(c.Also) > 0 {
			about += " (also /" + strings.Join(c.Also, ", /") + ")"
		}
		r := row{tool.Visible(strings.TrimSpace("/" + c.Name + " " + c.Words)), tool.Visible(about)}
		rows = append(rows, r)
		if n := utf8.RuneCountInString(r.usage); n <= usageColumn {
			width = max(width, n)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if utf8.RuneCountInString(r.usage) > width && r.about != "" {
			r.usage += "\n" + strings.Repeat(" ", width+2)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s   %s", width, r.usage, r.about), " ") + "\n")
	}
	return b.String()
}

// completeSlash lists the commands that start as a prompt does, or what the word behind one can be.
func completeSlash(ctx context.Context, s *session.Session, typed string) []tui.Candidate {
	var out []tui.Candidate
	name, word, ok := strings.Cut(typed, " ")
	if !ok {
		for _, c := range s.Slashes() {
			names := append([]string{c.Name}, c.Also...)
			if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix("/"+n, typed) }); i >= 0 {
				out = append(out, tui.Candidate{Text: "/" + names[i], Words: c.Words, About: c.About})
			}
		}
		return out
	}
	for _, v := range s.SlashValues(ctx, typed) {
		if strings.HasPrefix(v.Text, strings.TrimLeft(word, " ")) {
			out = append(out, tui.Candidate{Text: name + " " + v.Text, About: v.About})
		}
	}
	return out
}
