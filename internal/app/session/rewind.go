package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// past is a prompt that the conversation can return to.
type past struct {
	seq  int64 // of its entry
	text string
	at   time.Time
	// What is removed with it: prompts, including this one, and messages.
	prompts, messages int
}

// prompts returns the user's prompts in the conversation, the newest first.
func (s *Session) prompts() ([]past, error) {
	if s.recorder == nil {
		return nil, errorf(ErrSession, "this session isn't recorded, so it can't be rewound")
	}
	s.recorder.sync()
	all := s.Directory.Sessions()
	log, err := all.Entries(s.ID)
	if err != nil {
		return nil, nil // there are no messages yet
	}
	defer log.Close()
	var found []past
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
				found = append(found, past{seq: e.Seq, text: typedText(d.Message), at: e.At})
			}
		case journal.Undone:
			if d.To > 0 {
				found = slices.DeleteFunc(found, func(p past) bool { return p.seq > d.To })
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
		n, _ := slices.BinarySearch(said, found[i].seq)
		found[i].prompts, found[i].messages = i+1, len(said)-n
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

// rewind returns to the conversation before a prompt, and restores files first if u isn't nil. The journal only grows:
// an entry marks the messages that no longer count.
func (s *Session) rewind(ctx context.Context, p past, u *Undo) (Expansion, error) {
	var left []undo.Left
	restored := 0
	if u != nil {
		u.tell = func(string) error { return nil } // the model no longer knows of the changes
		var err error
		if left, err = u.Apply(ctx); err != nil {
			return Expansion{}, err
		}
		restored = len(u.Todo()) - len(left) + len(u.Left)
	}
	if !s.recorder.works() {
		return Expansion{}, errorf(ErrSession, "the session is no longer recorded, so its conversation "+
			"can't be rewound")
	}
	s.recorder.write("", journal.Undone{To: p.seq - 1})
	s.recorder.sync()
	log, state, err := s.Directory.Sessions().View(s.ID)
	if err != nil {
		return Expansion{}, SessionError(err)
	}
	defer log.Close()
	first := state.Agent("")
	switch {
	case s.talk != nil:
		s.talk.rewind(first.History)
	case s.resumed != nil:
		s.resumed.history, s.resumed.cutOff = slices.Clone(first.History), first.CutOff()
	}
	s.rewindTodos(first.Todos)
	text := fmt.Sprintf("Rewound to before %q.", clip(tool.Visible(p.text), 50))
	if u != nil {
		text += fmt.Sprintf(" %s restored.", humanize.Count(restored, "path"))
	}
	for _, l := range left {
		text += "\n" + strings.TrimRight(LeftLine(l, s.Directory.Path), "\n")
	}
	return Expansion{Print: text, Edit: p.text}, nil
}

// rewindTodos restores the to-do list of that time.
func (s *Session) rewindTodos(raw json.RawMessage) {
	var list builtin.TodoList
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		return
	}
	if err := s.tools.SetTodos("", list); err != nil {
		s.env.warn("%v", err)
	}
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	if s.recorder.todos == nil {
		s.recorder.todos = map[string]string{}
	}
	s.recorder.todos[""] = string(raw)
}

// rewind replaces the messages by an earlier state. The system prompt stays; the model gets later changes again.
func (c *Conversation) rewind(history []model.Message) {
	c.agent.Replace(history)
	c.news.forgotten()
}

// works reports whether entries are written.
func (r *recorder) works() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failed && r.w != nil
}
