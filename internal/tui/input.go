package tui

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/tui/keys"
)

// again is how soon a key must be pressed a second time to mean more.
const again = time.Second

// input handles what the terminal sent.
func (s *Screen) input(ctx context.Context, e keys.Event) {
	switch e := e.(type) {
	case keys.Focus:
		s.focused = e.In
	case keys.Paste:
		s.editor.Paste(e.Text)
		s.typed(ctx)
	case keys.Key:
		s.key(ctx, e)
		s.lastKey = s.o.Now()
	}
}

// key handles a key: a question's first, then those of the table, then text.
func (s *Screen) key(ctx context.Context, k keys.Key) {
	s.note = ""
	if q := s.questions.current(); q != nil && s.questionKey(q, k) {
		return
	}
	if s.lookup.key(s, k) {
		return
	}
	if s.complete.key(s, k) {
		s.complete.update(s, ctx) // what follows may be one of a list too
		return
	}
	name := k.String()
	if f := bindings[name]; f != nil {
		f(s, ctx)
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

// binding is a key and what it does. Those with a text are listed for the user.
type binding struct {
	keys  string // separated by spaces
	about string
	run   func(*Screen, context.Context)
}

// keyTable is the one table of keys.
func keyTable() []binding {
	edit := func(f func(*Screen)) func(*Screen, context.Context) {
		return func(s *Screen, ctx context.Context) {
			f(s)
			s.complete.update(s, ctx)
		}
	}
	return []binding{
		{"enter", "send; during work: queue", (*Screen).enter},
		{"shift+enter alt+enter ctrl+j", "new line; \\ and Enter too", edit(func(s *Screen) { s.editor.Insert("\n") })},
		{"esc", "interrupt; twice: clear the prompt", func(s *Screen, _ context.Context) { s.escape() }},
		{"ctrl+c", "clear, interrupt; twice: quit", func(s *Screen, _ context.Context) { s.cancel() }},
		{"ctrl+d", "quit, if the prompt is empty", func(s *Screen, _ context.Context) { s.endOfInput() }},
		{"up", "", func(s *Screen, _ context.Context) { s.up() }},
		{"down", "", func(s *Screen, _ context.Context) { s.down() }},
		{"ctrl+p", "earlier prompt; Up too", func(s *Screen, _ context.Context) { s.earlier() }},
		{"ctrl+n", "", func(s *Screen, _ context.Context) { s.later() }},
		{"ctrl+r", "search earlier prompts", func(s *Screen, _ context.Context) { s.searchHistory() }},
		{"shift+tab", "next approval mode", func(s *Screen, _ context.Context) { s.o.Host.NextMode() }},
		{"ctrl+b", "move a running command to the background", func(s *Screen, _ context.Context) { s.background() }},
		{"ctrl+g", "edit the prompt in $EDITOR", func(s *Screen, _ context.Context) { s.editPrompt() }},
		{"ctrl+z", "suspend", func(s *Screen, _ context.Context) { s.suspend() }},
		{"ctrl+l", "draw the screen again", func(s *Screen, _ context.Context) { s.painter.Redraw() }},
		{"left", "", edit(func(s *Screen) { s.editor.Left() })},
		{"right ctrl+f", "", edit(func(s *Screen) { s.editor.Right() })},
		{"ctrl+left alt+left alt+b", "", edit(func(s *Screen) { s.editor.WordLeft() })},
		{"ctrl+right alt+right alt+f", "", edit(func(s *Screen) { s.editor.WordRight() })},
		{"home ctrl+a", "", edit(func(s *Screen) { s.editor.Home() })},
		{"end ctrl+e", "", edit(func(s *Screen) { s.editor.End() })},
		{"backspace shift+backspace", "", edit(func(s *Screen) { s.editor.Backspace() })},
		{"delete", "", edit(func(s *Screen) { s.editor.Delete() })},
		{"ctrl+w alt+backspace ctrl+backspace", "delete a word; Ctrl+U, Ctrl+K: a line", edit(func(s *Screen) { s.editor.KillWord() })},
		{"alt+d ctrl+delete", "", edit(func(s *Screen) { s.editor.KillNextWord() })},
		{"ctrl+u", "", edit(func(s *Screen) { s.editor.KillToStart() })},
		{"ctrl+k", "", edit(func(s *Screen) { s.editor.KillToEnd() })},
		{"ctrl+y", "", edit(func(s *Screen) { s.editor.Yank() })},
		{"ctrl+_ ctrl+-", "take a change of the prompt back", edit(func(s *Screen) { s.editor.Undo() })},
	}
}

// bindings is the table by keys. Of a key that is listed twice, the first entry applies.
var bindings = func() map[string]func(*Screen, context.Context) {
	m := map[string]func(*Screen, context.Context){}
	for _, b := range keyTable() {
		for key := range strings.FieldsSeq(b.keys) {
			if m[key] == nil {
				m[key] = b.run
			}
		}
	}
	return m
}()

// enter sends the prompt. After a backslash it is a new line.
func (s *Screen) enter(ctx context.Context) {
	line, at := s.editor.Line()
	if at > 0 && line[at-1] == '\\' {
		s.editor.Replace(1, "\n")
		return
	}
	text := s.editor.Text()
	if strings.TrimSpace(text) == "" {
		return
	}
	s.editor.Clear()
	s.history.leave()
	s.complete.close()
	s.submit(ctx, text)
}

// escape interrupts what runs; pressed twice, it clears the prompt.
func (s *Screen) escape() {
	now := s.o.Now()
	switch {
	case s.showKeys:
		s.showKeys = false
	case s.work != nil:
		s.interrupt()
	case now.Sub(s.escaped) < again:
		s.editor.Clear()
	case !s.editor.Empty():
		s.note = "Esc again clears the prompt"
	}
	s.escaped = now
}

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
	case now.Sub(s.interrupted) < again:
		s.done = true
	default:
		s.note = "Ctrl+C again quits"
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
	for _, name := range s.o.Host.Background() {
		s.tell("moved to the background as " + name)
	}
}

// up moves the cursor, or takes an earlier prompt if it is in the first row.
func (s *Screen) up() {
	if len(s.queue) > 0 && s.editor.Empty() { // the last one that is queued comes back
		s.editor.Set(s.queue[len(s.queue)-1])
		s.queue = s.queue[:len(s.queue)-1]
		return
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
