package tui

import (
	"context"
	"errors"
)

// aside runs a command that only shows something, while a prompt is being answered.
func (s *Screen) aside(ctx context.Context, typed string) {
	s.printPrompt(typed)
	s.o.History.add(typed)
	host := s.o.Host
	s.beside(ctx, func(ctx context.Context) (Reply, error) { return host.Run(ctx, typed) })
}

// beside runs something while a prompt is being answered.
func (s *Screen) beside(ctx context.Context, f func(context.Context) (Reply, error)) {
	s.asides.Go(func() {
		reply, err := f(ctx)
		s.send(func(s *Screen) {
			s.show(reply)
			if err != nil && !errors.Is(err, context.Canceled) {
				s.fail(err)
			}
			if reply.Choice != nil && s.choice == nil {
				s.choice = newChoice(*reply.Choice)
			}
			s.space()
		})
	})
}

// show prints a reply and does what it asks for.
func (s *Screen) show(r Reply) {
	if r.Text != "" {
		s.space()
		s.transcript.add(Item{Kind: ItemAnswer, Text: r.Text})
		s.print(r.lines(s.width())...)
	}
	if r.Copy != "" {
		s.term.out.WriteString(clipboard(r.Copy, s.o.Terminal("TMUX") != ""))
	}
}
