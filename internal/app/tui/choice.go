package tui

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// Choice is what the user decides before a command continues.
type Choice struct {
	Title   string
	Detail  []string // lines about it
	View    string   // more about it, for the viewer; "": nothing
	Options []Option
	At      int // the option that is highlighted first
}

// Option is a possible answer to a choice.
type Option struct {
	Key         string // a letter that chooses it; "": it is in a list
	Text, About string
	Run         func(context.Context) (Reply, error) // nil: nothing happens
}

// openChoice is a choice that waits for the user. All keys are for it: the user asked for it.
type openChoice struct {
	Choice
	list
}

// newChoice opens a choice. Of options with letters none is highlighted.
func newChoice(c Choice) *openChoice {
	out := &openChoice{Choice: c, list: list{at: c.At}}
	for _, o := range c.Options {
		out.items = append(out.items, item{key: o.Key, text: visible(o.Text), about: o.About})
	}
	if out.keyed() {
		if c.View != "" {
			out.items = append(out.items, item{key: "v", text: "view"})
		}
		out.items = append(out.items, item{key: "Esc", text: "cancel"})
		out.at, out.least = -1, len(out.items)-1
	}
	return out
}

// keyed reports whether letters choose the options; else they are lines.
func (c *openChoice) keyed() bool { return len(c.Options) > 0 && c.Options[0].Key != "" }

// choiceKey handles a key while a choice is open.
func (s *Screen) choiceKey(ctx context.Context, k keys.Key) {
	c := s.choice
	name := k.String()
	switch {
	case name == "esc" || name == "ctrl+c":
		s.pickOption(ctx, Option{})
	case name == "ctrl+z":
		s.suspend()
	case name == "ctrl+l":
		s.painter.Redraw()
	case c.move(name):
	case name == "enter":
		s.take(ctx, c.chosen())
	case c.keyed():
		if name == "n" || name == "q" {
			name = "esc"
		}
		s.take(ctx, c.find(name))
	case name == "tab":
		c.move("down")
	case name == "backspace":
		c.narrow("")
	case c.filter == "" && len(k.Text) == 1 && k.Text[0] >= '1' && int(k.Text[0]-'0') <= min(9, len(c.Options)):
		c.at = int(k.Text[0] - '1')
	case c.filter == "" && k.Text == "v" && c.View != "":
		s.viewText(c.Title, c.View)
	case k.Text != "":
		c.narrow(k.Text)
	}
}

// take continues with an item of the choice.
func (s *Screen) take(ctx context.Context, i int) {
	switch c := s.choice; {
	case i < 0:
	case i < len(c.Options):
		s.pickOption(ctx, c.Options[i])
	case c.items[i].key == "v":
		s.viewText(c.Title, c.View)
	default:
		s.pickOption(ctx, Option{})
	}
}

// pickOption continues with an option.
func (s *Screen) pickOption(ctx context.Context, o Option) {
	s.choice = nil
	switch {
	case o.Run != nil && s.work != nil:
		s.beside(ctx, o.Run)
	case o.Run != nil:
		s.start(ctx, o.Run)
	case s.work == nil:
		s.sendQueued(ctx)
	}
}

// live is the choice in the live area, below the rule.
func (c *openChoice) live(width, rows int) []cell.Line {
	title := cell.Styled(visible(c.Title), cell.Yellow)
	if c.keyed() {
		keys := c.pieces()
		if line := fill(append([]cell.Line{append(title, cell.Span{Text: " "})}, keys...), width); len(line) == 1 {
			return line
		}
		return append(cell.Wrap(title, width, cell.Text("  ")), fill(keys, width)...)
	}
	out := []cell.Line{append(cell.Line{{Text: "? ", Style: cell.Yellow}}, title...)}
	match := len(c.matching())
	// for details and options: beside them are a finished line, the rule, the title, the keys, the prompt and the
	// status line
	room := rows - 6
	for _, d := range c.Detail[:max(0, min(len(c.Detail), room-min(match, 3)))] {
		out = append(out, cell.Styled("    "+cell.Clean(d), cell.Dim))
	}
	out = append(out, c.lines(width, min(maxOptions, room-len(out)+1))...)
	pairs := []string{"↑↓", fmt.Sprintf("%d of %d", min(c.at+1, match), match), "Enter", "choose"}
	if c.View != "" {
		pairs = append(pairs, "v", "view")
	}
	pairs = append(pairs, "Esc", "cancel")
	if len(c.Options) > 3 {
		pairs = append(pairs, "", "type to search")
	}
	if rows >= 7 {
		out = append(out, hint(pairs...))
	}
	for i, l := range out {
		out[i] = l.Cut(width)
	}
	return out
}

// command carries out a command that a key stands for.
func (s *Screen) command(ctx context.Context, line string) {
	if s.work != nil {
		s.note = "wait until the work has ended, or interrupt it with Esc"
		return
	}
	host := s.o.Host
	s.start(ctx, func(ctx context.Context) (Reply, error) { return host.Run(ctx, line) })
}
