package tui

import "github.com/adze-dev/adze/internal/app/tui/keys"

// vimActive reports whether the prompt has vim's keys. The text for a question has no modes.
func (s *Screen) vimActive() bool {
	q := s.asked()
	return s.vim.On && (q == nil || !q.typing)
}

// vimKey handles a key of normal mode, and the Esc that leads there. It reports whether it used the key; others do what
// they always do.
func (s *Screen) vimKey(k keys.Key) bool {
	if !s.vimActive() {
		return false
	}
	esc, text := k.String() == "esc", k.Text
	switch {
	case !s.vim.Normal:
		if !esc || s.editor.Empty() && s.work != nil { // the screen says that Esc interrupts
			return false
		}
		s.vim.Escape(&s.editor)
		s.complete.close()
		return true
	case esc:
		return s.vim.Cancel()
	case k.String() == "backspace":
		text = "h"
	case text == "" || text == "?" && s.editor.Empty():
		s.vim.Cancel()
		return false
	}
	before := s.editor.Text()
	rows := s.vim.Key(&s.editor, text)
	if s.editor.Text() != before {
		s.history.leave()
	}
	for ; rows > 0; rows-- {
		s.down()
	}
	for ; rows < 0; rows++ {
		s.up()
	}
	s.complete.close()
	s.showKeys = false
	return true
}
