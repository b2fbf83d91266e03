package tui

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

// editPrompt opens the prompt in the user's editor.
func (s *Screen) editPrompt() {
	text, err := s.openEditor(s.editor.Text(), "prompt.md")
	if err != nil {
		s.fail(err)
		return
	}
	s.editor.Set(strings.TrimRight(text, "\n"))
}

// editProposal opens what a call proposes in the user's editor. What they save is what runs.
func (s *Screen) editProposal(q *question) {
	text, err := s.openEditor(q.Proposal, filepath.Base(q.File))
	switch {
	case err != nil:
		q.problem = err.Error()
	case text != q.Proposal:
		s.decide(q, approval.Answer{Act: approval.Edit, Text: text})
	}
}

// openEditor lets the user edit a text with their editor.
func (s *Screen) openEditor(text, name string) (string, error) {
	return approval.EditText(context.Background(), s.o.Editor, name, text, func(cmd *exec.Cmd) error {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.o.In, s.o.Out, s.o.Out
		var failed error
		err := s.outside(func() { failed = cmd.Run() })
		return errors.Join(err, failed)
	})
}

// outside gives the terminal to f, without the live area.
func (s *Screen) outside(f func()) error {
	if err := s.painter.Paint(paint.Frame{Finished: s.finished}); err != nil {
		return err
	}
	s.finished = nil
	s.title = "" // the other program may set it
	defer s.questions.hide()
	return s.term.suspend(f)
}
