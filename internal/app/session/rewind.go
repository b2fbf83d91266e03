package session

import (
	"context"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// Prompt is a prompt that the conversation can return to.
type Prompt struct {
	Seq  int64 // of its entry
	Text string
	At   time.Time
	// What is removed with it: prompts, including this one, and messages.
	Prompts, Messages int
}

// Prompts returns the user's prompts in the conversation, the newest first.
func (s *Session) Prompts() ([]Prompt, error) {
	if !s.Sync() {
		return nil, record.Errorf("this session isn't recorded, so it can't be rewound")
	}
	all := record.Of(s.Directory)
	log, err := all.Entries(s.ID)
	if err != nil {
		return nil, nil // there are no messages yet
	}
	defer log.Close()
	var found []Prompt
	var said []int64 // entries of messages
	for e, err := range log.Read(1) {
		if err != nil {
			return nil, err
		}
		if e.By != "" {
			continue
		}
		switch e.Type {
		case journal.TypeAnswer, journal.TypeResponses:
			said = append(said, e.Seq)
			continue
		case journal.TypeMessage, journal.TypeUndone, journal.TypeCompacted:
		default:
			continue
		}
		data, err := journal.Decode(e, all.Store())
		if err != nil {
			return nil, err
		}
		switch d := data.(type) {
		case journal.Message:
			said = append(said, e.Seq)
			if d.Kind == journal.Prompt && d.Message.Role == model.User {
				found = append(found, Prompt{Seq: e.Seq, Text: typedText(d.Message), At: e.At})
			}
		case journal.Undone:
			if d.To > 0 {
				found = slices.DeleteFunc(found, func(p Prompt) bool { return p.Seq > d.To })
				said = slices.DeleteFunc(said, func(seq int64) bool { return seq > d.To })
			}
		case journal.Compacted:
			if len(d.Messages) == 0 { // a new conversation
				found, said = nil, nil
			}
		}
	}
	slices.Reverse(found)
	for i := range found {
		n, _ := slices.BinarySearch(said, found[i].Seq)
		found[i].Prompts, found[i].Messages = i+1, len(said)-n
	}
	return found, nil
}

// typedText returns the typed text: attachments follow it.
func typedText(m model.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(model.Text); ok {
			return string(t)
		}
	}
	return ""
}

// Rewind returns to the conversation before a prompt. If u isn't nil, it restores files first, and returns the paths
// that were skipped. The journal only grows: an entry marks the messages that no longer count.
func (s *Session) Rewind(ctx context.Context, p Prompt, u *record.Undo) (left []undo.Left, err error) {
	if u != nil {
		u.Quiet()
		if left, err = u.Apply(ctx); err != nil {
			return nil, err
		}
	}
	if !s.recorder.works() {
		return nil, record.Errorf("the session is no longer recorded, so its conversation " +
			"can't be rewound")
	}
	s.recorder.write("", journal.Undone{To: p.Seq - 1})
	s.recorder.sync()
	log, state, err := record.Of(s.Directory).View(s.ID)
	if err != nil {
		return nil, record.SessionError(err)
	}
	defer log.Close()
	first := state.Agent("")
	switch {
	case s.Conversation != nil:
		s.Conversation.rewind(first)
	case s.resumed != nil:
		s.resumed.history, s.resumed.cutOff = slices.Clone(first.History), first.CutOff()
		s.resumed.prompts = promptsOf(first)
	}
	s.restoreTodos(first.Todos)
	return left, nil
}

// Clear starts a new conversation, without a to-do list.
func (s *Session) Clear() error {
	switch {
	case s.Conversation != nil:
		s.Conversation.Reset(nil)
	case s.resumed != nil: // and not continued yet
		s.resumed.history, s.resumed.told, s.resumed.news, s.resumed.cutOff = nil, nil, nil, false
		s.resumed.prompts = nil
		s.recorder.reset(nil)
	}
	return s.Tools.SetTodos("", nil)
}

// History returns the messages of the conversation, or of the session that the next one continues.
func (s *Session) History() []model.Message {
	if s.Conversation != nil {
		return s.Conversation.History()
	}
	return s.resumed.with(nil)
}

// rewind replaces the messages by an earlier state. The system prompt stays; the model gets later changes again.
func (c *Conversation) rewind(to *journal.Agent) {
	c.agent.Replace(to.History, promptsOf(to))
	c.news.forgotten()
}

// Sync returns when everything that was recorded is on disk; false: the session isn't recorded.
func (s *Session) Sync() bool {
	if s.recorder == nil {
		return false
	}
	s.recorder.sync()
	return true
}

// works reports whether entries are written.
func (r *recorder) works() bool {
	r.lock()
	defer r.mu.Unlock()
	return !r.failed && r.w != nil
}
