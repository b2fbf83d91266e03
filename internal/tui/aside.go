package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/adze-dev/adze/internal/tui/cell"
)

// echo prints what the user sent.
func (s *Screen) echo(typed string) {
	s.space()
	for i, l := range cell.CleanLines(typed) {
		mark := "› "
		if i > 0 {
			mark = "  "
		}
		s.print(cell.Wrap(cell.Line{{Text: mark, Style: cell.Bold}, {Text: l, Style: cell.Bold}}, s.width(), cell.Text("  "))...)
	}
	s.o.History.add(typed)
}

// aside runs a command that only shows something, while a prompt is being answered.
func (s *Screen) aside(ctx context.Context, typed string) {
	s.echo(typed)
	s.asides.Go(func() {
		reply, err := s.o.Host.Run(ctx, typed)
		s.send(func(s *Screen) {
			s.show(reply)
			if err != nil && !errors.Is(err, context.Canceled) {
				s.fail(err)
			}
			s.space()
		})
	})
}

// show prints a reply and does what it asks for.
func (s *Screen) show(r Reply) {
	if r.Text != "" {
		s.space()
		s.print(r.lines(s.width())...)
	}
	if r.Copy != "" {
		s.term.out.WriteString(clipboard(r.Copy, s.o.Tmux))
	}
}

// clipboard is the sequence that copies a text to the clipboard of the terminal: OSC 52. tmux takes it as it is if its
// set-clipboard is on, and passes it on to its terminal if allow-passthrough is.
func clipboard(text string, tmux bool) string {
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if tmux {
		seq += "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return seq
}
