package tui

import (
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
)

// lines are what a reply shows.
func (r Reply) lines(width int) []cell.Line {
	if r.Markdown {
		return markdown.Render(r.Text, width)
	}
	return plain(r.Text, width)
}

// plain is a text as it is, wrapped. The further rows of a line start where its last column does.
func plain(text string, width int) []cell.Line {
	var out []cell.Line
	for _, l := range cell.CleanLines(strings.Trim(text, "\n")) {
		out = append(out, cell.Wrap(cell.Text(l), width, cell.Text(strings.Repeat(" ", hang(l, width))))...)
	}
	return out
}

// hang is the column at which the last column of a line of a table starts, or else the line itself.
func hang(l string, width int) int {
	indent := len(l) - len(strings.TrimLeft(l, " "))
	if i := strings.LastIndex(l, "  "); i > indent {
		indent = cell.Width(l[:i+2])
	}
	if indent > width/2 {
		return 0
	}
	return indent
}
