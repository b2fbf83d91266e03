package tui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/tui/paint"
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
	proposed, file, _ := approval.Proposal(q.r)
	text, err := s.openEditor(proposed, filepath.Base(file))
	switch {
	case err != nil:
		q.problem = err.Error()
	case text != proposed:
		d, ok := approval.Edited(q.r, text)
		if !ok {
			q.problem = "this call can't use the edited text"
			return
		}
		s.reply(q, d)
	}
}

// openEditor lets the user edit a text with their editor.
func (s *Screen) openEditor(text, name string) (string, error) {
	dir, err := os.MkdirTemp("", "adze-edit-")
	if err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	// The setting is a command for the shell, as git takes it: "code --wait".
	cmd := exec.Command("sh", "-c", s.o.Editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.o.In, s.o.Out, s.o.Out
	if err := s.outside(func() { err = cmd.Run() }); err != nil {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("run the editor %s: %w", s.o.Editor, err)
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the edited text: %w", err)
	}
	return string(edited), nil
}

// outside gives the terminal to f, without the live area.
func (s *Screen) outside(f func()) error {
	if err := s.painter.Paint(paint.Frame{Finished: s.finished}); err != nil {
		return err
	}
	s.finished = nil
	s.title = "" // the other program may set it
	return s.term.suspend(f)
}
