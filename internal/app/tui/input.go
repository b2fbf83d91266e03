package tui

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// again is how soon a key must be pressed a second time to mean more.
const again = time.Second

// input handles what the terminal sent. When that was counts, not when it is handled: keys that were typed before a
// question was visible don't answer it.
func (s *Screen) input(ctx context.Context, in arrival) {
	switch e := in.event.(type) {
	case keys.Focus:
		s.focused = e.In
		return
	case keys.Report:
		s.setBackground(e.Text)
		return
	}
	s.keyAt = in.at
	switch e := in.event.(type) {
	case keys.Sent:
		s.tested(e)
	case keys.Paste:
		s.pasted(ctx, e.Text)
		s.lastKey = in.at
	case keys.Key:
		s.key(ctx, e)
		s.lastKey = in.at
	}
}

// promptKey handles a key of the prompt: those of the table, then text.
func (s *Screen) promptKey(ctx context.Context, k keys.Key) {
	if k.String() == "tab" {
		if q := s.asked(); !s.complete.await(s) && q != nil && !s.editor.Empty() {
			s.focus(q)
		}
		return
	}
	if a, ok := s.keys.find(k); ok {
		a.run(s, ctx)
		return
	}
	if k.Text != "" {
		if k.Text == "?" && s.editor.Empty() {
			s.showKeys = !s.showKeys
			return
		}
		s.editor.Insert(k.Text)
		s.typed(ctx)
	}
}

// typed follows a change of the text: the list of completions belongs to it.
func (s *Screen) typed(ctx context.Context) {
	s.showKeys = false
	s.history.leave()
	s.complete.update(s, ctx)
}

// enter sends the prompt. After a backslash it is a new line.
func (s *Screen) enter(ctx context.Context) {
	line, at := s.editor.Line()
	if at > 0 && line[at-1] == '\\' {
		s.editor.Replace(1, "\n")
		return
	}
	text := s.editor.Text()
	if strings.TrimSpace(text) == "" {
		s.again(ctx)
		return
	}
	s.editor.Clear()
	s.history.leave()
	s.complete.close()
	s.submit(ctx, text)
}

// again tries a prompt again that failed.
func (s *Screen) again(ctx context.Context) {
	if !s.retry || s.work != nil {
		return
	}
	s.retry = false
	host := s.o.Host
	s.start(ctx, func(ctx context.Context) (Reply, error) { return Reply{}, host.Retry(ctx) })
}

// escape interrupts what runs; pressed twice, it clears the prompt, or rewinds if that is empty.
func (s *Screen) escape(ctx context.Context) {
	switch {
	case s.work != nil:
		s.interrupt()
	case s.offered == escapes && s.editor.Empty():
		s.command(ctx, "/rewind")
	case s.offered == escapes:
		s.editor.Clear()
	case !s.editor.Empty():
		s.note, s.offer = "Esc again clears the prompt", escapes
	default:
		s.note, s.offer = "Esc again rewinds", escapes
	}
}

// offer is what a key does if it is pressed again, as the status line says.
type offer uint8

const (
	nothing offer = iota
	escapes
	quits
)

// cancel is Ctrl+C: it clears the prompt, interrupts, or quits if it is pressed twice.
func (s *Screen) cancel() {
	now := s.o.Now()
	defer func() { s.interrupted = now }()
	switch {
	case !s.editor.Empty():
		s.editor.Clear()
		s.complete.close()
	case s.work != nil && now.Sub(s.interrupted) >= again:
		s.interrupt()
	case s.offered == quits || now.Sub(s.interrupted) < again:
		s.done = true
	default:
		s.note, s.offer = "Ctrl+C again quits", quits
	}
}

// endOfInput is Ctrl+D.
func (s *Screen) endOfInput() {
	if s.editor.Empty() {
		s.done = true
		return
	}
	s.editor.Delete()
}

// interrupt stops what runs. What it did remains.
func (s *Screen) interrupt() {
	if s.work != nil {
		s.work.cancel()
	}
}

func (s *Screen) background() {
	moved := s.o.Host.Background()
	for _, name := range moved {
		s.tell("moved to the background as " + name)
	}
	switch {
	case len(moved) > 0:
	case s.calls.tried():
		s.note = "a command that is being tried can't move to the background; Esc stops it"
	default:
		s.note = "no command is running"
	}
}

// up moves the cursor, or takes an earlier prompt if it is in the first row.
func (s *Screen) up() {
	if s.editor.Empty() { // the last one that is queued comes back
		if typed, ok := s.queue.last(); ok {
			s.editor.Set(typed)
			return
		}
	}
	if !s.editor.Up(s.inputWidth()) {
		s.earlier()
	}
}

func (s *Screen) down() {
	if !s.editor.Down(s.inputWidth()) {
		s.later()
	}
}

func (s *Screen) earlier() {
	if text, ok := s.history.earlier(s.o.History, s.editor.Text()); ok {
		s.editor.Set(text)
	}
}

func (s *Screen) later() {
	if text, ok := s.history.later(s.o.History); ok {
		s.editor.Set(text)
	}
}
