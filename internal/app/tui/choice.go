package tui

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// Choice is what the user decides before a command continues.
type Choice struct {
	Title   string
	Detail  []string // lines about it
	View    string   // more about it, for the viewer; "": nothing
	Options []Option // the first one is the default
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
	at     int // selected, in matching
	filter string
}

// keyed reports whether letters choose the options; else they are a list.
func (c *openChoice) keyed() bool { return len(c.Options) > 0 && c.Options[0].Key != "" }

// matching are the options that have what was typed.
func (c *openChoice) matching() []Option {
	if c.filter == "" {
		return c.Options
	}
	var out []Option
	for _, o := range c.Options {
		if strings.Contains(strings.ToLower(o.Text), strings.ToLower(c.filter)) {
			out = append(out, o)
		}
	}
	return out
}

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
	case c.keyed():
		s.keyedChoice(ctx, name)
	case name == "enter":
		if list := c.matching(); len(list) > 0 {
			s.pickOption(ctx, list[c.at])
		}
	case name == "up" || name == "ctrl+p":
		c.at = max(0, c.at-1)
	case name == "down" || name == "ctrl+n" || name == "tab":
		c.at = max(0, min(c.at+1, len(c.matching())-1))
	case name == "pageup":
		c.at = max(0, c.at-maxOptions)
	case name == "pagedown":
		c.at = max(0, min(c.at+maxOptions, len(c.matching())-1))
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(c.filter)
		c.filter, c.at = c.filter[:len(c.filter)-n], 0
	case c.filter == "" && len(k.Text) == 1 && k.Text[0] >= '1' && int(k.Text[0]-'0') <= min(9, len(c.Options)):
		c.at = int(k.Text[0] - '1')
	case c.filter == "" && k.Text == "v" && c.View != "":
		s.viewText(c.Title, c.View)
	case k.Text != "":
		c.filter, c.at = c.filter+k.Text, 0
	}
}

// keyedChoice handles a letter.
func (s *Screen) keyedChoice(ctx context.Context, name string) {
	for _, o := range s.choice.Options {
		if o.Key == name {
			s.pickOption(ctx, o)
			return
		}
	}
	switch name {
	case "v":
		if s.choice.View != "" {
			s.viewText(s.choice.Title, s.choice.View)
		}
	case "n", "q":
		s.pickOption(ctx, Option{})
	}
}

// pickOption continues with an option.
func (s *Screen) pickOption(ctx context.Context, o Option) {
	s.choice = nil
	if o.Run != nil {
		s.start(ctx, o.Run)
		return
	}
	s.sendQueued(ctx)
}

// maxOptions is how many options of a list are shown.
const maxOptions = 10

// live is the choice in the live area, below the rule.
func (c *openChoice) live(width, rows int) []cell.Line {
	title := cell.Styled(visible(c.Title), cell.Yellow)
	if c.keyed() {
		var pairs []string
		for _, o := range c.Options {
			pairs = append(pairs, o.Key, o.Text)
		}
		if c.View != "" {
			pairs = append(pairs, "v", "view")
		}
		keys := hint(append(pairs, "Esc", "cancel")...)
		if line := append(append(title, cell.Span{Text: " "}), keys...); line.Width() <= width {
			return []cell.Line{line}
		}
		return append(cell.Wrap(title, width, cell.Text("  ")), keys.Cut(width))
	}
	out := []cell.Line{append(cell.Line{{Text: "? ", Style: cell.Yellow}}, title...)}
	list := c.matching()
	// for details and options: beside them are a finished line, the rule, the title, the keys, the prompt and the
	// status line
	room := rows - 6
	for _, d := range c.Detail[:max(0, min(len(c.Detail), room-min(len(list), 3)))] {
		out = append(out, cell.Styled("    "+cell.Clean(d), cell.Dim))
	}
	most := min(maxOptions, max(1, room-len(out)+1))
	from := max(0, min(c.at-most+1, len(list)-most))
	for i := from; i < len(list) && i < from+most; i++ {
		mark, style := "    ", cell.Plain
		if i == c.at {
			mark, style = "  › ", cell.Bold
		}
		l := cell.Line{{Text: mark + visible(list[i].Text), Style: style}}
		if list[i].About != "" {
			about := cell.Styled(" "+visible(list[i].About), cell.Dim)
			if l.Width() <= width*2/3 { // what is chosen can be read
				about = about.Cut(width - l.Width() - 1)
			}
			l = l.Right(about, width)
		}
		out = append(out, l)
	}
	pairs := []string{"↑↓", fmt.Sprintf("%d of %d", min(c.at+1, len(list)), len(list)), "Enter", "choose"}
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
