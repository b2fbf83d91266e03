package tui

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

const (
	// again is how soon Ctrl+C or Ctrl+D must be pressed a second time to quit.
	again = 2 * time.Second
	// burst is how soon after a Ctrl+C that interrupted the next key, if it is another one, means the same, although
	// nothing runs anymore.
	burst = time.Second
)

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
	if s.vimKey(k) {
		return
	}
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
	s.vim.Insert()
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
		s.clearDraft()
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

// cancel is Ctrl+C: it clears the prompt, or interrupts what runs, however often it is pressed. With nothing to clear
// or to interrupt, it quits if it is pressed twice.
func (s *Screen) cancel() {
	switch {
	case !s.editor.Empty():
		s.clearDraft()
	case s.work != nil || s.lastKey.Equal(s.interrupted) && s.keyAt.Sub(s.interrupted) < burst:
		s.interrupted = s.keyAt
		s.interrupt()
	default:
		s.leave("Ctrl+C")
	}
}

// clearDraft clears the prompt. Up brings it back.
func (s *Screen) clearDraft() {
	s.history.leave()
	s.o.History.Prompts = append(s.o.History.Prompts, s.editor.Text())
	s.editor.Clear()
	s.complete.close()
}

// endOfInput is Ctrl+D.
func (s *Screen) endOfInput() {
	switch {
	case !s.editor.Empty():
		s.editor.Delete()
	case len(s.o.Host.Running()) > 0:
		s.leave("Ctrl+D")
	default:
		s.done = true
	}
}

// leave quits if the key was pressed before, and says so otherwise. Background commands that would end are named.
func (s *Screen) leave(key string) {
	if s.offered == quits && s.keyAt.Sub(s.lastKey) < again {
		s.done = true
		return
	}
	if running := s.o.Host.Running(); len(running) > 0 {
		s.tell(key + " again quits and stops " + strings.Join(running, ", "))
	}
	s.note, s.offer = key+" again quits", quits
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
		s.note = "a command can't move to the background during a trial; Esc stops it"
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
