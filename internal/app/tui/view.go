package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/app/tui/viewer"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// overlay is a view on the alternate screen. While it is open, work continues: what it prints waits.
type overlay struct {
	*viewer.View
	refresh       func()      // brings the view up to date; may be nil
	about         *question   // that the view was opened from; may be nil
	drawn         []cell.Line // as it is on the terminal
	columns, rows int         // of drawn
}

const (
	// enterView switches to the alternate screen, where text stops at the right edge.
	enterView = "\x1b[?1049h\x1b[?7l\x1b[?25l"
	leaveView = "\x1b[?7h\x1b[?1049l\x1b[?25h"
)

// openView shows a view instead of the conversation.
func (s *Screen) openView(v *overlay) {
	v.Notice = func() string {
		for _, q := range s.questions.open {
			if q != v.about {
				return "a question waits · q closes"
			}
		}
		return ""
	}
	if err := s.painter.Paint(paint.Frame{Finished: s.finished}); err != nil { // the live area is drawn again after it
		return
	}
	s.finished = nil
	s.view = v
	io.WriteString(s.o.Out, enterView)
}

// closeView returns to the conversation. The terminal restores it as it was.
func (s *Screen) closeView() {
	if s.view == nil {
		return
	}
	s.view = nil
	io.WriteString(s.o.Out, leaveView)
}

// paintView draws the rows of the view that changed.
func (s *Screen) paintView() error {
	v := s.view
	columns, rows := s.term.size()
	s.columns, s.rows = columns, rows
	if v.refresh != nil {
		v.refresh()
	}
	lines, cursor := v.Frame(columns, rows)
	if columns != v.columns || rows != v.rows {
		v.drawn = nil
	}
	var out []byte
	for i, l := range lines {
		if v.drawn != nil && slices.Equal(l, v.drawn[i]) {
			continue
		}
		out = moveTo(out, i, 0)
		out = l.Append(out, s.painter.Colors)
		if l.Width() < columns {
			out = append(out, "\x1b[K"...)
		}
	}
	v.drawn, v.columns, v.rows = lines, columns, rows
	if cursor >= 0 {
		out = append(moveTo(out, rows-1, cursor), "\x1b[?25h"...)
	} else if len(out) > 0 {
		out = append(out, "\x1b[?25l"...)
	}
	if len(out) == 0 {
		return nil
	}
	if s.term.synchronized.Load() {
		out = append(append([]byte("\x1b[?2026h"), out...), "\x1b[?2026l"...)
	}
	_, err := s.o.Out.Write(out)
	return err
}

func moveTo(out []byte, row, column int) []byte {
	out = strconv.AppendInt(append(out, "\x1b["...), int64(row+1), 10)
	out = strconv.AppendInt(append(out, ';'), int64(column+1), 10)
	return append(out, 'H')
}

// viewKey handles a key while a view is open.
func (s *Screen) viewKey(k keys.Key) {
	switch k.String() {
	case "ctrl+z":
		s.suspendView()
		return
	case "ctrl+l":
		s.view.drawn = nil
		return
	}
	switch s.view.Key(k) {
	case viewer.Leave:
		s.closeView()
	case viewer.Copy:
		if item := s.view.Selected(false); item >= 0 {
			s.copyItem(item)
		}
	}
}

// suspendView suspends the program from a view, which is open again when the shell continues it.
func (s *Screen) suspendView() {
	v := s.view
	s.closeView()
	s.suspend()
	v.drawn = nil
	s.openView(v)
}

// maxCopy is the longest text that is copied: terminals ignore longer ones.
const maxCopy = 700_000

// copyItem copies the text of an item to the clipboard.
func (s *Screen) copyItem(item int) {
	text := cell.Strip(s.view.Source().Copy(item))
	if len(text) > maxCopy {
		s.view.Say("too long for the clipboard")
		return
	}
	io.WriteString(s.o.Out, clipboard(text, s.o.Terminal("TMUX") != ""))
	s.view.Say(fmt.Sprintf("copied %s", humanize.Count(strings.Count(text, "\n")+1, "line")))
}

// clipboard is the sequence that sets the clipboard of the terminal. Inside tmux it goes to tmux, and through it to the
// terminal outside.
func clipboard(text string, tmux bool) string {
	set := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if !tmux {
		return set
	}
	return set + "\x1bPtmux;" + strings.ReplaceAll(set, "\x1b", "\x1b\x1b") + "\x1b\\"
}

// viewQuestion shows all of what a question is about.
func (s *Screen) viewQuestion(q *question) {
	v := viewer.New(q.title().String(), viewer.Text(func(width int) []cell.Line { return whole(q.Question, width) }))
	v.Hint, v.Headings = "↑↓ PgUp PgDn · / searches · q closes", true
	s.openView(&overlay{View: v, about: q})
}

// whole is all of what a question is about, also what its title says.
func whole(q *approval.Question, width int) []cell.Line {
	var out []cell.Line
	if q.Command != nil && short(q.Command.Line) {
		out = commandText(*q.Command)
	}
	return append(out, details(q.Request.Confirm, width, true)...)
}

// viewText shows a text.
func (s *Screen) viewText(title, text string) {
	v := viewer.New(title, viewer.Text(func(int) []cell.Line { return indented(text, "") }))
	v.Hint = "↑↓ PgUp PgDn · / searches · q closes"
	s.openView(&overlay{View: v})
}

// viewTranscript shows the conversation so far.
func (s *Screen) viewTranscript(context.Context) {
	source := transcriptView{s}
	if source.Len() == 0 {
		s.note = "nothing was said yet"
		return
	}
	v := viewer.New("transcript", source)
	v.Hint = "/ n N search · { } prompts · Enter unfolds · y copies · q"
	v.End()
	s.openView(&overlay{View: v, refresh: func() { v.Refresh(s.transcript.len()) }})
}
