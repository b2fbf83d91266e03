package session

import (
	"context"
	"slices"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// Rewind returns to the conversation before a prompt. If u isn't nil, it restores files first, and returns the paths
// that were skipped. The journal only grows: an entry marks the messages that no longer count.
func (s *Session) Rewind(ctx context.Context, p record.Prompt, u *record.Undo) (left []undo.Left, err error) {
	if u != nil {
		u.Quiet()
		if left, err = u.Apply(ctx); err != nil {
			return nil, err
		}
	}
	if !s.Recorder.Works() {
		return nil, record.Errorf("the session is no longer recorded, so its conversation " +
			"can't be rewound")
	}
	s.Recorder.Write("", journal.Undone{To: p.Seq - 1})
	s.Recorder.Sync()
	log, state, err := record.Of(s.Directory).View(s.ID)
	if err != nil {
		return nil, record.SessionError(err)
	}
	defer log.Close()
	first := state.Agent("")
	switch {
	case s.Conversation != nil:
		s.Conversation.rewind(first)
	case s.Resumed != nil:
		s.Resumed.Rewind(first)
	}
	s.Recorder.RestoreTodos(first.Todos)
	return left, nil
}

// Clear starts a new conversation, without a to-do list.
func (s *Session) Clear() error {
	switch {
	case s.Conversation != nil:
		s.Conversation.Reset(nil)
	case s.Resumed != nil: // and not continued yet
		s.Resumed.Clear()
		s.Recorder.Reset(nil)
	}
	return s.Tools.SetTodos("", nil)
}

// History returns the messages of the conversation, or of the session that the next one continues.
func (s *Session) History() []model.Message {
	if s.Conversation != nil {
		return s.Conversation.History()
	}
	if s.Resumed != nil {
		return slices.Clone(s.Resumed.History)
	}
	return nil
}

// Unanswered reports whether the model has not, or not completely, answered the last message of the conversation: it
// was interrupted.
func (s *Session) Unanswered() bool {
	if s.Conversation != nil {
		return s.Conversation.agent.Unanswered()
	}
	return s.Resumed.Unanswered()
}

// rewind replaces the messages by an earlier state. The system prompt stays; the model gets later changes again.
func (c *Conversation) rewind(to *journal.Agent) {
	c.agent.Replace(to.History, recording.PromptsOf(to))
	c.news.forgotten()
}
