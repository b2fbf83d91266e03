package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// resumed is the state that a session continues with.
type resumed struct {
	history  []model.Message
	prompts  [][]model.Part // of the user
	cutOff   bool           // the last message is an answer that was cut off
	declared agent.Declared
	news     []string // for the model
	names    []string // of subagents
	title    string
	told     map[int]bool // messages of the history that are not from the user
}

// resume continues a session from its journal: unfinished calls are settled there, once, and the tools get back what
// was read and the to-do list. It runs nothing. lost is the news about calls that weren't recorded; "": all were.
func (s *Session) resume(w *journal.Writer, lost string) (*resumed, error) {
	var out resumed
	if lost != "" {
		out.news = append(out.news, lost)
	}
	var ends []record.Entry
	w.View(func(state *journal.State) {
		ends = record.Settle(state, lost != "")
		s.Definitions.resume(state.Created)
		out.title = cmp.Or(state.Name, state.Title)
		for by := range state.Agents {
			out.names = append(out.names, by)
		}
		first := state.Agent("")
		out.declared = agent.Declared{System: state.Opened.System, Listing: state.Opened.Listing}
		for _, d := range slices.Concat(state.Opened.Declarations, first.Declared) {
			out.declared.Tools = append(out.declared.Tools, d.Tool())
		}
		if stopped := record.Unfinished(state); len(stopped) > 0 {
			out.news = append(out.news, "Subagents that were running when the session ended have stopped, and their "+
				"reports are lost: "+
				strings.Join(stopped, ", ")+".")
		}
		if len(state.Jobs) > 0 {
			var names []string
			for _, j := range state.Jobs {
				names = append(names, fmt.Sprintf("%s (%s)", j.ID, j.Command))
			}
			out.news = append(out.news, "Background commands were stopped when the session ended, and their "+
				"output is lost: "+
				strings.Join(names, ", ")+". Start them again if they are needed.")
		}
		s.Tools.RestoreSeen(record.Seen(state))
		s.restoreTodos(first.Todos)
		s.Tools.SetPlan(first.Plan)
	})
	here := journal.Resumed{
		CWD: s.Directory.Path, Roots: s.Tools.Roots(), Version: s.Env.Version, Mode: s.Policy.Mode().String(),
	}
	if _, err := w.Write("", here); err != nil {
		return nil, err
	}
	for _, e := range ends {
		if _, err := w.Write(e.By, e.Data); err != nil {
			return nil, err
		}
	}
	w.View(func(state *journal.State) {
		first := state.Agent("")
		out.history, out.cutOff, out.prompts = slices.Clone(first.History), first.CutOff(), promptsOf(first)
		out.told = map[int]bool{}
		for i, seq := range first.Seqs {
			_, out.told[i] = slices.BinarySearch(first.News, seq)
		}
	})
	return &out, nil
}

// restoreTodos sets the to-do list to that of the journal; nil: it is empty.
func (s *Session) restoreTodos(raw json.RawMessage) {
	var list todo.List
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		return
	}
	if err := s.Tools.SetTodos("", list); err != nil {
		s.Env.Warn("%v", err)
	}
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	s.recorder.todos[""] = string(raw)
}

// promptsOf returns the user's prompts; nil if the journal doesn't have them since its last compaction.
func promptsOf(a *journal.Agent) (prompts [][]model.Part) {
	for _, p := range a.Prompts {
		prompts = append(prompts, p.Message.Parts)
	}
	return prompts
}

// sinceBegin returns the message about parts of a resumed session's system prompt that no longer apply; "" if none.
func sinceBegin(before, now string) string {
	if before == now {
		return ""
	}
	return "This session was resumed. This is how the instructions at its start differ from the current ones:\n" +
		edit.Compare(before, now).Unified("at the start", "now")
}

// Continues returns the title of the session that the next conversation continues; "": it is new.
func (s *Session) Continues() string {
	if s.resumed == nil {
		return ""
	}
	return cmp.Or(s.resumed.title, s.ID)
}

// LastModel returns the model that the session used before it was resumed; "": it is new.
func (s *Session) LastModel() string {
	if s.resumed == nil || s.recorder == nil {
		return ""
	}
	return s.recorder.model
}

// Said is a message of the conversation.
type Said struct {
	model.Message
	News bool // it is not from the user, although its role is
}

// Earlier returns the messages of the session that the next conversation continues.
func (s *Session) Earlier() []Said {
	if s.resumed == nil {
		return nil
	}
	var out []Said
	for i, m := range s.resumed.history {
		out = append(out, Said{m, s.resumed.told[i]})
	}
	return out
}

// Unanswered reports whether the model has not, or not completely, answered the last message of the conversation: it
// was interrupted.
func (s *Session) Unanswered() bool {
	switch {
	case s.Conversation != nil:
		return s.Conversation.agent.Unanswered()
	case s.resumed != nil:
		n := len(s.resumed.history) - 1
		return n >= 0 && (s.resumed.history[n].Role != model.Assistant || s.resumed.cutOff)
	}
	return false
}

// takeResumed returns the state that the conversation continues with, once.
func (s *Session) takeResumed() *resumed {
	r := s.resumed
	s.resumed = nil
	return r
}

// begin returns the system prompt to start with: that of the original session, if it is resumed. Changes since then are
// news.
func (r *resumed) begin(system string, news *changes) string {
	if r == nil {
		return system
	}
	news.waiting = append(news.waiting, r.news...)
	if r.declared.System == "" {
		return system
	}
	news.since = sinceBegin(r.declared.System, system)
	news.differs()
	return r.declared.System
}

func (r *resumed) with(more []model.Message) []model.Message {
	if r == nil {
		return more
	}
	return slices.Concat(r.history, more)
}

// said returns the user's prompts so far.
func (r *resumed) said() [][]model.Part {
	if r == nil {
		return nil
	}
	return r.prompts
}

// unfinished reports whether the last message is an answer that was cut off, and nothing follows it.
func (r *resumed) unfinished(more []model.Message) bool {
	return r != nil && r.cutOff && len(more) == 0
}

// agents returns the paths of the session's subagents so far.
func (r *resumed) agents() []string {
	if r == nil {
		return nil
	}
	return r.names
}

func (r *resumed) declares() *agent.Declared {
	if r == nil || r.declared.System == "" {
		return nil
	}
	return &r.declared
}
