package tui

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
	"github.com/adze-dev/adze/internal/app/tui/viewer"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// transcriptView is the conversation as the items of a view. The last ones are what the model is saying now.
type transcriptView struct{ s *Screen }

// now are the items that are not finished.
func (t transcriptView) now() []Item {
	var out []Item
	if a := &t.s.answer; a.thought.Len() > 0 {
		out = append(out, Item{Kind: ItemThinking, Head: "thinking", Text: a.thought.String()})
	} else if a.raw.Len() > 0 {
		out = append(out, Item{Kind: ItemAnswer, Text: a.raw.String()})
	}
	return out
}

func (t transcriptView) at(item int) Item {
	if n := t.s.transcript.len(); item >= n {
		if now := t.now(); item-n < len(now) {
			return now[item-n]
		}
		return Item{Kind: ItemNote}
	}
	return t.s.transcript.at(item)
}

// Len is the number of items.
func (t transcriptView) Len() int { return t.s.transcript.len() + len(t.now()) }

// Prompt reports whether an item is a prompt.
func (t transcriptView) Prompt(item int) bool { return t.at(item).Kind == ItemPrompt }

// Copy is the text of an item.
func (t transcriptView) Copy(item int) string {
	i := t.at(item)
	if i.Text == "" {
		return i.Head
	}
	return i.Text
}

// folded reports whether the text of an item isn't shown. Calls are folded at first.
func (t transcriptView) folded(item int, i Item) bool {
	return i.foldable() && (i.Kind != ItemThinking) != t.s.transcript.toggled[item]
}

func (i Item) call() bool { return i.Kind == ItemCall || i.Kind == ItemDiff }

func (i Item) foldable() bool {
	return (i.call() || i.Kind == ItemThinking) && strings.TrimSpace(i.Text) != ""
}

// Fold folds or unfolds a call or thinking.
func (t transcriptView) Fold(item int, dry bool) bool {
	ok := t.at(item).foldable()
	if ok && !dry {
		if t.s.transcript.toggled == nil {
			t.s.transcript.toggled = map[int]bool{}
		}
		t.s.transcript.toggled[item] = !t.s.transcript.toggled[item]
	}
	return ok
}

// Has looks for a text in an item. In Markdown each word of it counts, because there may be marks between them.
func (t transcriptView) Has(item int, text string) viewer.Match {
	i := t.at(item)
	if i.Kind == ItemAnswer {
		lower := strings.ToLower(i.Text)
		for word := range strings.FieldsSeq(text) {
			if !strings.Contains(lower, word) {
				return viewer.Nowhere
			}
		}
		return viewer.Shown
	}
	switch {
	case strings.Contains(strings.ToLower(i.Head), text):
		return viewer.Shown
	case !strings.Contains(strings.ToLower(i.Text), text):
		return viewer.Nowhere
	case t.folded(item, i):
		return viewer.Folded
	}
	return viewer.Shown
}

// Lines are an item as it is shown.
func (t transcriptView) Lines(item, width int) []cell.Line {
	i := t.at(item)
	var out []cell.Line
	if item > 0 && !(i.call() && t.at(item-1).call()) {
		out = append(out, nil)
	}
	return append(out, i.lines(width, t.folded(item, i))...)
}

// lines are an item in a width.
func (i Item) lines(width int, folded bool) []cell.Line {
	switch i.Kind {
	case ItemPrompt:
		return promptLines(i.Text, width)
	case ItemAnswer:
		return markdown.Render(i.Text, width)
	case ItemNote:
		return noteLines(i.Text, width)
	case ItemThinking:
		out := []cell.Line{cell.Styled("∙ "+visible(i.Head), cell.Dim)}
		if folded {
			return out
		}
		return append(out, block(strings.TrimSpace(i.Text), cell.Dim, "  ", "  ", width)...)
	}
	head := cell.Line{callMark(i.Status), {Text: visible(i.Head), Style: cell.Bold}}
	if folded {
		n := strings.Count(strings.Trim(i.Text, "\n"), "\n") + 1
		return []cell.Line{head.Right(cell.Styled(fmt.Sprintf("  ▸ %s", humanize.Count(n, "line")), cell.Dim), width)}
	}
	out := []cell.Line{head.Cut(width)}
	if i.Kind == ItemDiff {
		return append(out, DiffLines(i.Text, 0)...)
	}
	if i.Text == "" {
		return out
	}
	return append(out, block(strings.Trim(i.Text, "\n"), cell.Plain, "    ", "    ", width)...)
}

// callMark says how a call ended.
func callMark(s tool.Status) cell.Span {
	switch s {
	case tool.StatusDenied:
		return cell.Span{Text: "⊘ ", Style: cell.Yellow}
	case tool.StatusError, tool.StatusCancelled:
		return cell.Span{Text: "✗ ", Style: cell.Red}
	}
	return cell.Span{Text: "● ", Style: cell.Green}
}

// block is a text of one style, wrapped. A mark is before its first line, and another one of that width before others.
func block(text string, style cell.Style, first, others string, width int) []cell.Line {
	var out []cell.Line
	for i, l := range cell.CleanLines(text) {
		mark := others
		if i == 0 {
			mark = first
		}
		indent := cell.Text(strings.Repeat(" ", cell.Width(mark)))
		out = append(out, cell.Wrap(cell.Styled(mark+l, style), width, indent)...)
	}
	return out
}

// promptLines are a prompt as it is shown after it was sent.
func promptLines(text string, width int) []cell.Line {
	return block(text, cell.Bold, "› ", "  ", width)
}

// noteLines are a notice.
func noteLines(text string, width int) []cell.Line {
	return block(text, cell.Dim, "∙ ", "∙ ", width)
}

// item is a finished call for the transcript.
func (c *call) item() Item {
	i := Item{Kind: ItemCall, Status: c.outcome.Status, Head: strings.TrimSpace(c.name().String())}
	if sum := c.summary(); sum != "" {
		i.Head += "  " + sum
	}
	if c.by != "" {
		i.Head += " (" + visible(c.by) + ")"
	}
	switch d := c.outcome.Result.Display.(type) {
	case tool.FileDiff:
		if c.outcome.Error == nil {
			i.Kind, i.Text = ItemDiff, d.Diff
			return i
		}
	case tool.Literal:
		i.Text = string(d)
	default:
		i.Text = c.outcome.Result.Text()
	}
	if f := c.outcome.Error; f != nil && !strings.Contains(i.Text, f.Message) {
		i.Text = strings.TrimLeft(i.Text+"\n"+f.Message, "\n")
	}
	return i
}
