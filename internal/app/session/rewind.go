package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// slashRewind has the user choose a prompt, or uses the Nth from the end, and rewinds to before it.
func slashRewind(_ context.Context, s *Session, words string) (Expansion, error) {
	found, err := s.prompts()
	if err != nil {
		return Expansion{}, err
	}
	if len(found) == 0 {
		return Expansion{Print: "Nothing to rewind: there is no prompt in this conversation."}, nil
	}
	if words != "" {
		n, err := strconv.Atoi(words)
		if err != nil || n < 1 || n > len(found) {
			return Expansion{}, errorf(ErrPrompt, "/rewind: expected the number of a prompt, from 1 (the last) "+
				"to %d, got %q", len(found), words)
		}
		return s.previewRewind(found[n-1])
	}
	c := &Choice{Title: "Rewind to before which prompt?"}
	print := "Prompts, the newest first:\n"
	for i, p := range found {
		c.Options = append(c.Options, Option{Text: clip(tool.Visible(p.text), 120), About: Age(time.Since(p.at)),
			Run: func(context.Context) (Expansion, error) { return s.previewRewind(p) }})
		print += fmt.Sprintf("%3d  %s\n", i+1, clip(tool.Visible(p.text), 70))
	}
	return Expansion{Choice: c, Print: print + "Type /rewind N to return to before one of them."}, nil
}

// maxPreview is how many paths the preview of a rewind names.
const maxPreview = 6

// previewRewind describes a rewind, and has the user choose whether files are restored too.
func (s *Session) previewRewind(p past) (Expansion, error) {
	u, err := s.undoSince(p.seq)
	if err != nil {
		return Expansion{}, err
	}
	c := &Choice{Title: fmt.Sprintf("Rewind to before %q", clip(tool.Visible(p.text), 50))}
	c.Detail = append(c.Detail, fmt.Sprintf("conversation  %s and %s less", humanize.Count(p.prompts, "prompt"),
		humanize.Count(p.messages-p.prompts, "other message")))
	then := func(u *Undo) func(context.Context) (Expansion, error) {
		return func(ctx context.Context) (Expansion, error) { return s.rewind(ctx, p, u) }
	}
	c.Options = []Option{{Text: "conversation only", About: "files stay as they are", Run: then(nil)}}
	if u != nil {
		c.View = u.List(s.Directory.Path)
		for i, step := range u.Todo() {
			if i == maxPreview {
				c.Detail = append(c.Detail, fmt.Sprintf("              and %d more", len(u.Todo())-i))
				break
			}
			label := ""
			if i == 0 {
				label = "files"
			}
			c.Detail = append(c.Detail, fmt.Sprintf("%-13s %s %s", label, step.Verb(),
				shortPath(step.Path, s.Directory.Path)))
		}
		lost := 0
		for _, l := range u.Left {
			if l.Lost {
				lost++
			}
		}
		if n := len(u.Left) - lost; n > 0 {
			c.Detail = append(c.Detail, fmt.Sprintf("left alone    %s that changed since", humanize.Count(n, "path")))
		}
		if lost > 0 {
			c.Detail = append(c.Detail, fmt.Sprintf("lost          %s that can't be restored",
				humanize.Count(lost, "path")))
		}
		if n := len(u.Todo()); n > 0 {
			c.Options = append(c.Options, Option{
				Text: "files and conversation", About: "restores " + humanize.Count(n, "path"), Run: then(u),
			})
		}
	} else {
		c.Detail = append(c.Detail, "files         none were changed")
	}
	c.Options = append(c.Options, Option{Text: "cancel"})
	return Expansion{Choice: c, Print: c.Title + "\n" + strings.Join(c.Detail, "\n")}, nil
}

// undoSince plans to undo all calls after an entry; nil if they changed nothing.
func (s *Session) undoSince(seq int64) (*Undo, error) {
	u, err := s.Undo(Selection{Since: seq})
	if _, nothing := err.(*NothingError); nothing {
		return nil, nil
	}
	return u, err
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
