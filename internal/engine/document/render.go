package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

const (
	maxCellOutput = 10_000  // characters of output shown for one cell
	maxRendered   = 100_000 // bytes shown of one notebook
)

// Render shows the notebook by cell: a header with ID and execution count, the source in a fence, and the text of its
// outputs without escape sequences. Images and other media are named by type. whole is false if cells were omitted.
func (nb *NotebookFile) Render() (text string, whole bool) {
	language := nb.language
	if language == "" {
		language = "unknown language"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Jupyter Notebook (%s, %s)\n", language, humanize.Count(len(nb.cells), "cell"))
	for i, c := range nb.cells {
		cell := nb.renderCell(i, c)
		if b.Len()+len(cell) > maxRendered {
			if room := maxRendered - b.Len(); i == 0 && room > 0 {
				b.WriteString(cut(cell, room))
			}
			fmt.Fprintf(&b, "\n[%d of %d cells are not shown: the notebook is too long; the next is %s. Read them "+
				"with jq '.cells[%d]']\n", len(nb.cells)-i, len(nb.cells), c.id, i)
			return b.String(), false
		}
		b.WriteString(cell)
	}
	return b.String(), true
}

func (nb *NotebookFile) renderCell(index int, c notebookCell) string {
	var b strings.Builder
	source := nb.text(c.value("source"))
	switch c.typ {
	case "code":
		fmt.Fprintf(&b, "\n--- Code Cell %s", c.id)
		if n := c.value("execution_count"); n.kind == 0 && n.end > n.start {
			fmt.Fprintf(&b, " [%s]", nb.data[n.start:n.end])
		}
		b.WriteString(" ---\n")
		writeFenced(&b, nb.language, source)
		if out := nb.outputs(index, c.value("outputs")); out != "" {
			b.WriteString("Output:\n")
			writeFenced(&b, "", out)
		}
	case "markdown":
		fmt.Fprintf(&b, "\n--- Markdown Cell %s ---\n", c.id)
		writeFenced(&b, "markdown", source)
	default:
		fmt.Fprintf(&b, "\n--- %s Cell %s ---\n", titled(c.typ), c.id)
		writeFenced(&b, "", source)
	}
	return b.String()
}

func titled(word string) string {
	if word == "" || word[0] < 'a' || word[0] > 'z' {
		return "Unknown"
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// writeFenced writes s in a fence that s can't end.
func writeFenced(b *strings.Builder, info, s string) {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s", fence, info, s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence + "\n")
}

// outputs returns the text of a cell's outputs, limited in length.
func (nb *NotebookFile) outputs(index int, outputs node) string {
	var b strings.Builder
	for _, out := range outputs.items {
		part := nb.output(out)
		if part != "" && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(part)
	}
	all := b.String()
	if utf8.RuneCountInString(all) <= maxCellOutput {
		return all
	}
	return fmt.Sprintf("%s\n[output cut: %d of %d characters shown; all of it: jq '.cells[%d].outputs']",
		cut(all, maxCellOutput), maxCellOutput, utf8.RuneCountInString(all), index)
}

// output returns one output as text.
func (nb *NotebookFile) output(out node) string {
	switch nb.text(out.value("output_type")) {
	case "stream":
		return terminalText(nb.text(out.value("text")))
	case "error":
		var lines []string
		for _, line := range out.value("traceback").items {
			lines = append(lines, nb.text(line))
		}
		if len(lines) == 0 {
			lines = []string{nb.text(out.value("ename")) + ": " + nb.text(out.value("evalue"))}
		}
		return terminalText(strings.Join(lines, "\n"))
	}
	data := out.value("data")
	text := terminalText(nb.text(data.value("text/plain")))
	for _, m := range data.members {
		if m.key != "text/plain" {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += "[" + m.key + "]"
		}
	}
	return text
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// terminalText returns s as a terminal would show it: without escape sequences, and of overwritten lines (progress
// bars) only the last version.
func terminalText(s string) string {
	s = withoutEscapes(strings.ReplaceAll(s, "\r\n", "\n"))
	if !strings.ContainsRune(s, '\r') {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// withoutEscapes removes ANSI escape sequences.
func withoutEscapes(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, 0x1B)
		if i < 0 || i+1 >= len(s) {
			b.WriteString(strings.TrimSuffix(s, "\x1B"))
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		switch s[0] {
		case '[': // parameters, then a letter
			end := strings.IndexFunc(s[1:], func(r rune) bool { return r < ' ' || r >= '@' })
			if end < 0 {
				return b.String()
			}
			s = s[1+end:]
			if s[0] >= '@' && s[0] <= '~' {
				s = s[1:]
			}
		case ']': // up to BEL or ESC \
			end := strings.IndexAny(s, "\a\x1B")
			if end < 0 {
				return b.String()
			}
			if s[end] == 0x1B && strings.HasPrefix(s[end:], "\x1B\\") {
				end++
			}
			s = s[end+1:]
		default:
			_, size := utf8.DecodeRuneInString(s)
			s = s[size:]
		}
	}
}
