package tui

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// live is the area below the finished lines: what is going on, a rule, a question, the prompt and the status line.
func (s *Screen) live() ([]cell.Line, paint.Position) {
	width := s.width()
	prompt, row, column := s.prompt(width)
	foot := append(s.complete.live(s, width), s.keyHelp(width)...)
	foot = append(foot, s.status(width))
	room := s.rows - 1 - len(prompt) // in a low terminal, the prompt is what remains
	foot = last(foot, room)
	room -= len(foot)
	var asked []cell.Line
	if s.choice != nil {
		asked = s.choice.live(width, s.rows)
	} else if q := s.asked(); q != nil {
		asked = s.ask(q, max(room-1, min(room, 3))) // with a row for the rule, unless few are left
	}
	fixed := append([]cell.Line{cell.Styled(strings.Repeat("─", width), cell.Dim)}, asked...)
	if len(fixed) > room {
		fixed = last(fixed[:1+min(len(asked), max(0, room))], room)
	}
	out := last(s.going(width), room-len(fixed))
	cursor := paint.Position{Row: len(out) + len(fixed) + row, Column: column}
	out = append(out, fixed...)
	out = append(out, prompt...)
	return append(out, foot...), cursor
}

// last are the last lines, n at most.
func last(lines []cell.Line, n int) []cell.Line { return lines[max(0, len(lines)-max(0, n)):] }

// going is what the model and its tools are doing.
func (s *Screen) going(width int) []cell.Line {
	out := append(headerLines(s.header, width), s.answer.live...)
	now := s.o.Now()
	calls := s.calls.live(now, width, s.keys.label("background"))
	out = append(out, calls...)
	switch {
	case !s.answer.until.IsZero():
		out = append(out, s.answer.retrying(now, width)...)
	case !s.answer.thinking.IsZero():
		out = append(out, cell.Styled("∙ thinking "+humanize.Seconds(now.Sub(s.answer.thinking)), cell.Dim))
	case s.work != nil && len(s.answer.live)+len(calls) == 0 && !s.work.model.IsZero():
		out = append(out, cell.Styled("∙ waiting for the model "+humanize.Seconds(now.Sub(s.work.model)), cell.Dim))
	}
	for _, q := range s.queue.list() {
		out = append(out, cell.Styled("  queued: "+visible(q), cell.Dim).Cut(width))
	}
	return append(out, s.todos.live(width, max(1, s.rows/3))...)
}

// inputWidth is the number of cells for the text of the prompt.
func (s *Screen) inputWidth() int { return s.width() - 2 }

// prompt is the text that is being typed, and the cursor in it.
func (s *Screen) prompt(width int) (lines []cell.Line, row, column int) {
	if s.choice != nil { // what is typed is for it
		line := cell.Line{{Text: "› ", Style: cell.Bold}, {Text: cell.Clean(s.choice.filter)}}.Cut(width)
		return []cell.Line{line}, 0, min(line.Width(), width-1)
	}
	text, row, column := s.editor.Layout(s.inputWidth())
	limit := max(1, s.rows/3)
	from := 0
	if len(text) > limit { // the rows around the cursor
		from = min(max(0, row-limit/2), len(text)-limit)
		text = text[from : from+limit]
	}
	for i, l := range text {
		mark := "  "
		if i == 0 && from == 0 {
			mark = "› "
		}
		lines = append(lines, append(cell.Line{{Text: mark, Style: cell.Bold}}, l...))
	}
	if s.editor.Empty() && s.work != nil && s.questions.current() == nil {
		hint := s.keys.label("interrupt") + " interrupts · " + s.keys.label("send") + " queues"
		if why := "a trial can't move to the background · "; s.calls.tried() && cell.Width(why+hint)+4 < width {
			hint = why + hint
		}
		lines[0] = lines[0].Right(cell.Styled(hint, cell.Dim), width)
	}
	return lines, row - from, column + 2
}

// keyColumn is the width of the keys in the list of keys.
const keyColumn = 32

// keyHelp lists the keys.
func (s *Screen) keyHelp(width int) []cell.Line {
	if !s.showKeys {
		return nil
	}
	var out []cell.Line
	for _, a := range s.keys.actions {
		if a.about != "" && a.keys != "" {
			out = append(out, cell.Line{{
				Text: fmt.Sprintf("  %-*s ", keyColumn, firstLabels(a.keys, keyColumn)), Style: cell.Cyan,
			}, {Text: a.about}}.Cut(width))
		}
	}
	return out
}
