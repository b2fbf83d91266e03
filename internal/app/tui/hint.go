package tui

import (
	"slices"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// hints are keys and what they do, each with two spaces before it.
func hints(pairs ...string) []cell.Line {
	var out []cell.Line
	for i := 0; i+1 < len(pairs); i += 2 {
		l := cell.Line{{Text: "  "}, {Text: pairs[i], Style: cell.Cyan}}
		if pairs[i] != "" {
			l = append(l, cell.Span{Text: " "})
		}
		out = append(out, append(l, cell.Span{Text: pairs[i+1]}))
	}
	return out
}

// hint is a line of keys and what they do.
func hint(pairs ...string) cell.Line { return slices.Concat(hints(pairs...)...) }

// fill puts pieces into lines of this width. None is divided.
func fill(pieces []cell.Line, width int) []cell.Line {
	var out []cell.Line
	for _, p := range pieces {
		if n := len(out); n > 0 && out[n-1].Width()+p.Width() <= width {
			out[n-1] = slices.Concat(out[n-1], p)
		} else {
			out = append(out, p)
		}
	}
	return out
}
