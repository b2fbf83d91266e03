package edit

import (
	"fmt"
	"strings"
)

const (
	snippetContext  = 4
	maxSnippetLines = 1000
	maxSnippetBytes = 30_000
)

// Snippet shows the changed lines of the new text with four lines of context, each part under a line that says which
// lines it is: "Showing lines 3-11 of 40:". It is "" where nothing changed, and stops at 1000 lines, saying so.
func (c Comparison) Snippet() string {
	total := strings.Count(c.new, "\n")
	if c.new != "" && !strings.HasSuffix(c.new, "\n") {
		total++
	}
	if total == 0 && len(c.changes) > 0 {
		return "The file is now empty."
	}
	var b strings.Builder
	lines := 0
	parts := c.parts()
	for i, p := range parts {
		if lines += p.last - p.first; lines > maxSnippetLines || b.Len()+p.end-p.start > maxSnippetBytes {
			if i > 0 {
				fmt.Fprintf(&b, "\n%d more changed parts are not shown, the next at line %d.", len(parts)-i, p.first+1)
			} else {
				fmt.Fprintf(&b, "The changed lines %d-%d of %d are too many to show.", p.first+1, p.last, total)
			}
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Showing lines %d-%d of %d:\n\n---\n\n", p.first+1, p.last, total)
		b.WriteString(c.new[p.start:p.end])
		if !strings.HasSuffix(c.new[p.start:p.end], "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// part is a range of lines of the new text: first to last, counted from 0, last not included.
type part struct{ start, end, first, last int }

// parts are the changed lines with their context; parts that meet are one.
func (c Comparison) parts() []part {
	var out []part
	for _, ch := range c.changes {
		start, before := linesBefore(c.new, ch.newStart, snippetContext)
		end, after := linesAfter(c.new, ch.newEnd, snippetContext)
		p := part{start, end, ch.newLine - before, ch.newLine + ch.newCount + after}
		if last := len(out) - 1; last >= 0 && p.first <= out[last].last {
			out[last].end, out[last].last = p.end, p.last
			continue
		}
		out = append(out, p)
	}
	return out
}
