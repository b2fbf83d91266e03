package tui

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// showEarlier prints the end of a conversation that continues: its last prompts with their answers, up to two screens.
func (s *Screen) showEarlier(items []Item) {
	s.transcript.earlier = items
	if len(items) == 0 {
		return
	}
	width, limit := s.width(), 2*s.rows
	var shown []cell.Line
	from := len(items) // the first item that is shown
	for at := len(items); at > 0; {
		start := at - 1
		for start > 0 && items[start].Kind != ItemPrompt {
			start--
		}
		lines := exchange(items[start:at], width, s.toView())
		if len(shown)+len(lines) > limit && from < len(items) {
			break
		}
		if len(lines) > limit { // the last one alone is too long: its end
			lines = append([]cell.Line{lines[0], cell.Styled("  …", cell.Dim)}, lines[len(lines)-limit:]...)
		}
		shown = append(lines, shown...)
		from, at = start, start
	}
	if len(shown) > 0 && len(shown[0]) == 0 {
		shown = shown[1:]
	}
	s.space()
	if turns := turnsOf(items[:from]); turns > 0 {
		text := humanize.Count(turns, "earlier turn") + strings.TrimPrefix(s.toView(), " ")
		s.print(cell.Styled("∙ "+text, cell.Dim), nil)
	}
	s.print(shown...)
	s.space()
}

// turnsOf counts the prompts.
func turnsOf(items []Item) (n int) {
	for _, i := range items {
		if i.Kind == ItemPrompt {
			n++
		}
	}
	return n
}

// exchange is a prompt and what follows it: answers, and a line for each call. view says how to see what is folded.
func exchange(items []Item, width int, view string) []cell.Line {
	var out []cell.Line
	items = slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Kind == ItemNote }) // for the model
	for n, i := range items {
		if n > 0 && !(i.call() && items[n-1].call()) || i.Kind == ItemPrompt {
			out = append(out, nil)
		}
		if i.Kind == ItemThinking {
			out = append(out, cell.Styled("∙ "+visible(i.Head)+view, cell.Dim))
			continue
		}
		out = append(out, i.lines(width, i.foldable())...)
	}
	return out
}
