package edit

import (
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change in a unified diff.
const diffContext = 3

// Unified returns the differences as a unified diff with three lines of context, or "" if there are none. It is
// complete: lines are unchanged, so a changed line ending is a removed line that ends with "\r" and an added one that
// doesn't (showing the "\r" is up to the display), and a missing final newline is marked as usual.
func (c Comparison) Unified(oldName, newName string) string {
	if len(c.changes) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
	for _, near := range c.groups(diffContext) {
		c.writeHunk(&b, near)
	}
	return b.String()
}

// Part is a part of a unified diff: changes whose lines of context touch.
type Part struct {
	Span        // of the old text
	Diff string // with its "@@" line
}

// Parts returns the parts of the unified diff. [Splice] makes the changes of some of them in the old text.
func (c Comparison) Parts() []Part {
	var out []Part
	for _, near := range c.groups(diffContext) {
		var b strings.Builder
		c.writeHunk(&b, near)
		first, last := near[0], near[len(near)-1]
		out = append(out, Part{Span{first.oldStart, last.oldEnd, c.new[first.newStart:last.newEnd]}, b.String()})
	}
	return out
}

// groups returns the changes whose lines of context touch together.
func (c Comparison) groups(context int) (out [][]change) {
	for rest := c.changes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].oldLine-(rest[n-1].oldLine+rest[n-1].oldCount) <= 2*context {
			n++
		}
		out, rest = append(out, rest[:n]), rest[n:]
	}
	return out
}

// writeHunk writes nearby changes with their context.
func (c Comparison) writeHunk(b *strings.Builder, near []change) {
	first, last := near[0], near[len(near)-1]
	start, before := linesBefore(c.old, first.oldStart, diffContext)
	end, after := linesAfter(c.old, last.oldEnd, diffContext)
	oldLine, newLine := first.oldLine-before, first.newLine-before
	oldCount := last.oldLine + last.oldCount + after - oldLine
	newCount := last.newLine + last.newCount + after - newLine
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(oldLine, oldCount), hunkRange(newLine, newCount))
	for _, ch := range near {
		old, now := c.old[ch.oldStart:ch.oldEnd], c.new[ch.newStart:ch.newEnd]
		if c.part > 0 && ch.oldCount == 1 && ch.newCount == 1 {
			old, now = shortened(old, now, c.part)
		}
		c.context(b, c.old[start:ch.oldStart])
		writeLines(b, '-', old)
		writeLines(b, '+', now)
		start = ch.oldEnd
	}
	c.context(b, c.old[start:end])
}

// Short returns a comparison whose diff shows only the beginning of long unchanged lines, and only the part of long
// lines that differs.
func (c Comparison) Short() Comparison {
	c.part = longPart
	return c
}

// longPart is how much is shown of a long line where it doesn't differ.
const longPart = 500

// context writes unchanged lines.
func (c Comparison) context(b *strings.Builder, lines string) {
	for line := range strings.Lines(lines) {
		writeLines(b, ' ', shortPart(line, c.part))
	}
}

// shortPart omits the middle of a long unchanged part of a line, unless all is shown (0).
func shortPart(s string, part int) string {
	const mark = 40 // it replaces more than it is long
	n := len(s) - 2*part
	if n <= mark || part == 0 {
		return s
	}
	return strings.ToValidUTF8(s[:part], "") + fmt.Sprintf("[… %d unchanged bytes …]", n) +
		strings.ToValidUTF8(s[part+n:], "")
}

// shortened omits most of the common start and end of two lines.
func shortened(old, now string, part int) (string, string) {
	start, end := common(old, now)
	cut := func(line string) string {
		return shortPart(line[:start], part) + line[start:len(line)-end] + shortPart(line[len(line)-end:], part)
	}
	return cut(old), cut(now)
}

// hunkRange writes a range as diff and patch do: an empty one names the line before it.
func hunkRange(line, count int) string {
	if count == 1 {
		return fmt.Sprint(line + 1)
	}
	return fmt.Sprintf("%d,%d", line+min(count, 1), count)
}

func writeLines(b *strings.Builder, mark byte, lines string) {
	for line := range strings.Lines(lines) {
		b.WriteByte(mark)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n" + noNewline + "\n")
		}
	}
}

// linesBefore returns the start of up to n lines that end at offset at, and how many there are.
func linesBefore(s string, at, n int) (start, count int) {
	for count < n && at > 0 {
		at = strings.LastIndexByte(s[:at-1], '\n') + 1
		count++
	}
	return at, count
}

// linesAfter returns the end of up to n lines that begin at offset at, and how many there are.
func linesAfter(s string, at, n int) (end, count int) {
	for count < n && at < len(s) {
		next := strings.IndexByte(s[at:], '\n') + 1
		if next == 0 {
			next = len(s) - at
		}
		at, count = at+next, count+1
	}
	return at, count
}

const (
	snippetContext  = 4
	maxSnippetLines = 1000
	maxSnippetBytes = 30_000
)

// Snippet returns the changed lines of the new text with four lines of context, each part under a header: "Showing
// lines 3-11 of 40:". It is "" without changes, and limited to 1000 lines, with a note. Lines have their anchors in
// anchored, the new text as it is in the file, unless that is "".
func (c Comparison) Snippet(anchored string) string {
	if c.new == "" && len(c.changes) > 0 {
		return "The file is now empty."
	}
	total := strings.Count(strings.TrimSuffix(c.new, "\n"), "\n") + 1
	var b strings.Builder
	lines := 0
	groups := c.groups(snippetContext)
	for i, near := range groups {
		end := near[len(near)-1]
		from, before := linesBefore(c.new, near[0].newStart, snippetContext)
		to, after := linesAfter(c.new, end.newEnd, snippetContext)
		first, last := near[0].newLine-before+1, end.newLine+end.newCount+after
		if lines += last - first + 1; lines > maxSnippetLines || b.Len()+to-from > maxSnippetBytes {
			if i > 0 {
				fmt.Fprintf(&b, "\n%d more changed parts are not shown, the next at line %d.", len(groups)-i, first)
			} else {
				fmt.Fprintf(&b, "The changed lines %d-%d of %d are too many to show.", first, last, total)
			}
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Showing lines %d-%d of %d:\n\n---\n\n", first, last, total)
		shown := c.new[from:to]
		if anchored != "" && strings.Count(anchored, "\n") == strings.Count(c.new, "\n") {
			shown = Anchored(anchored, shown, first)
		}
		if b.WriteString(shown); !strings.HasSuffix(shown, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}
