package markdown

import (
	"strings"
)

// writer writes lines, each with the prefixes of its quotations and lists.
type writer struct {
	b        strings.Builder
	limit    int
	full     bool
	prefixes []prefix
	gap      int // newlines to write before the next line
}

// prefix is the prefix of the lines of a quotation or a list item.
type prefix struct {
	first, rest string
	used        bool
}

// maxNesting bounds the prefixes of a line: deeper nesting is not shown.
const maxNesting = 10

func (w *writer) push(first, rest string) {
	if len(w.prefixes) >= maxNesting {
		first, rest = "", ""
	}
	w.prefixes = append(w.prefixes, prefix{first: first, rest: rest})
}

func (w *writer) pop() { w.prefixes = w.prefixes[:len(w.prefixes)-1] }

// separate requests at least n newlines before the next text: 1 for the next line, 2 for a blank one between. The first
// line of an item or quotation directly follows its mark.
func (w *writer) separate(n int) {
	if k := len(w.prefixes); k > 0 && !w.prefixes[k-1].used {
		return
	}
	w.gap = max(w.gap, n)
}

// write writes a text of one or more lines.
func (w *writer) write(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if w.full {
			return
		}
		w.begin()
		w.b.WriteString(line)
		w.gap = 1
		if w.b.Len() > w.limit {
			w.full = true
		}
	}
}

// begin ends the previous line and writes the prefixes of the next.
func (w *writer) begin() {
	if w.b.Len() > 0 {
		for i := range max(w.gap, 1) {
			if i > 0 {
				w.b.WriteString(strings.TrimRight(w.between(), " "))
			}
			w.b.WriteByte('\n')
		}
	}
	w.gap = 0
	for i := range w.prefixes {
		p := &w.prefixes[i]
		if p.used {
			w.b.WriteString(p.rest)
		} else {
			w.b.WriteString(p.first)
			p.used = true
		}
	}
}

// between returns the prefix of a blank line: that of the open quotations.
func (w *writer) between() string {
	var b strings.Builder
	for _, p := range w.prefixes {
		if !p.used {
			break
		}
		b.WriteString(p.rest)
	}
	return b.String()
}

// text returns all that was written, cut at the limit.
func (w *writer) text() (string, bool) {
	s := w.b.String()
	if len(s) <= w.limit {
		return strings.TrimSpace(s), false
	}
	s = s[:w.limit]
	if i := strings.LastIndexByte(s, '\n'); i > w.limit/2 {
		s = s[:i]
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "")), true
}
