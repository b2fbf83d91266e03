package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// list is what the user chooses from: the answers to a question, the rules of "always", the choices of a form, the
// options of a command. Arrows highlight an item, and Enter takes it; who shows the list handles Enter and the keys of
// the items.
type list struct {
	items  []item
	at     int    // highlighted, of those that match; -1: none
	least  int    // what the first arrow highlights if none is: the item that changes least
	filter string // items without it are omitted
}

// item is a line of a list.
type item struct {
	key         string // that chooses it; "": none
	text, about string // text is one line
	words       string // that can follow the text
	marked      string // a mark before the text, where several items may be chosen
}

// matching are the indexes of the items that have the filter.
func (l *list) matching() []int {
	var out []int
	for i, o := range l.items {
		if strings.Contains(strings.ToLower(o.text), strings.ToLower(l.filter)) {
			out = append(out, i)
		}
	}
	return out
}

// chosen is the index of the highlighted item; -1 if none is.
func (l *list) chosen() int {
	if m := l.matching(); l.at >= 0 && l.at < len(m) {
		return m[l.at]
	}
	return -1
}

// find is the index of the item that a key chooses; -1: no item.
func (l *list) find(key string) int {
	return slices.IndexFunc(l.items, func(o item) bool { return o.key != "" && strings.EqualFold(o.key, key) })
}

// steps are how far keys move.
var steps = map[string]int{
	"up": -1, "ctrl+p": -1, "down": 1, "ctrl+n": 1, "pageup": -maxOptions, "pagedown": maxOptions,
}

// move highlights another item. It reports whether a key does that.
func (l *list) move(name string) bool {
	step, ok := steps[name]
	if !ok {
		return false
	}
	if l.at < 0 {
		l.at = l.least
	} else {
		l.at += step
	}
	l.at = max(0, min(l.at, len(l.matching())-1))
	return true
}

// narrow changes the filter: it adds a text, or without a text removes the last character.
func (l *list) narrow(text string) {
	if text == "" {
		_, n := utf8.DecodeLastRuneInString(l.filter)
		l.filter = l.filter[:len(l.filter)-n]
	}
	l.filter, l.at = l.filter+text, 0
}

// maxOptions is how many items are shown in lines, apart from rules.
const maxOptions = 10

// lines are the items, one in a line, with the highlighted one among them. What they are about is in a column.
func (l *list) lines(width, limit int) []cell.Line {
	limit = max(1, limit)
	match := l.matching()
	from := max(0, min(l.at-limit+1, len(match)-limit))
	match = match[from:min(len(match), from+limit)]
	column := 0
	for _, i := range match {
		column = max(column, min(l.items[i].line(false).Width()+2, width/2))
	}
	var out []cell.Line
	for n, i := range match {
		line := l.items[i].line(from+n == l.at)
		if about := cell.Styled(visible(l.items[i].about), cell.Dim); about.Width() > 0 {
			line = line.Cut(width - min(about.Width(), width/3) - 2)
			line = append(append(line, cell.Span{Text: strings.Repeat(" ", max(2, column-line.Width()))}), about...)
		}
		out = append(out, line.Cut(width))
	}
	return out
}

// line is an item without what it is about.
func (o item) line(highlighted bool) cell.Line {
	mark, style := "    ", cell.Plain
	if highlighted {
		mark, style = "  › ", cell.Bold
	}
	out := cell.Line{{Text: mark, Style: style}}
	if o.key != "" {
		out = append(out, cell.Span{Text: o.key + " ", Style: cell.Cyan})
	}
	out = append(out, cell.Span{Text: o.marked + cell.Clean(o.text), Style: style})
	if o.words != "" {
		out = append(out, cell.Span{Text: " " + visible(o.words), Style: cell.Dim})
	}
	return out
}

// pieces are the items beside each other, as keys and what they do.
func (l *list) pieces() []cell.Line {
	var out []cell.Line
	for i, o := range l.items {
		h := hint(o.key, o.text)
		if i == l.at {
			h[0], h[len(h)-1].Style = cell.Span{Text: "› ", Style: cell.Bold}, cell.Bold
		}
		out = append(out, h)
	}
	return out
}
