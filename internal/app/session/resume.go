package session

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

const (
	unknownText = "%s: interrupted: the session ended or could no longer be recorded while this call was running, so " +
		"its effect is unknown. It may have " +
		"happened in full, in part or not at all. Check the current state before you decide whether to repeat it."
	neverText = "%s: not executed: the session ended before this call started. Repeat it if it is still needed."
	triedText = "%s: not executed: the session ended while this call was tried, before anything of it was kept. " +
		"Nothing was changed. " +
		"Repeat it if it is still needed."
	interruptText = "the session ended before the answer did"
)

// resumed is the state that a session continues with.
type resumed struct {
	history  []model.Message
	cutOff   bool // the last message is an answer that was cut off
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
	var ends []waitingEntry
	w.View(func(state *journal.State) {
		ends = settle(state, lost != "")
		out.title = state.Title
		for by := range state.Agents {
			out.names = append(out.names, by)
		}
		first := state.Agent("")
		out.declared = agent.Declared{System: state.Opened.System, Listing: state.Opened.Listing}
		for _, d := range slices.Concat(state.Opened.Declarations, first.Declared) {
			out.declared.Tools = append(out.declared.Tools, d.Tool())
		}
		if stopped := unfinished(state); len(stopped) > 0 {
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
		s.Tools.RestoreSeen(records(state))
		s.restoreTodos(first.Todos)
	})
	here := journal.Resumed{
		CWD: s.Directory.Path, Roots: s.Tools.Roots(), Version: s.Env.Version, Mode: s.Policy.Mode().String(),
	}
	if _, err := w.Write("", here); err != nil {
		return nil, err
	}
	for _, e := range ends {
		if _, err := w.Write(e.by, e.data); err != nil {
			return nil, err
		}
	}
	w.View(func(state *journal.State) {
		first := state.Agent("")
		out.history, out.cutOff = slices.Clone(first.History), first.CutOff()
		out.told = map[int]bool{}
		for i, seq := range first.Seqs {
			_, out.told[i] = slices.BinarySearch(first.News, seq)
		}
	})
	return &out, nil
}

// lostName is a file beside a journal that can't be written anymore, usually because the disk is full: a line for each
// call that ran after that. An empty file needs no space.
const lostName = "lost"

// maxLost is how many lost calls are named.
const maxLost = 20

// lostCalls returns the news about calls of a session that weren't recorded; "": all were.
func lostCalls(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	news := "The end of this session wasn't recorded, because its journal couldn't be written. Calls may have run " +
		"after the last " +
		"one that you see, and their results are lost. Check the current state before you continue."
	if len(text) > 0 {
		calls := strings.Split(string(text), "\n")
		if more := len(calls) - maxLost; more > 0 {
			calls = append(calls[:maxLost], fmt.Sprintf("%d more", more))
		}
		news += " These calls ran: " + strings.Join(calls, "; ") + "."
	}
	return news
}

// settle returns the entries that settle unfinished work of every agent: an answer with the calls whose answer never
// ended, and a response for each call without one. lost: calls may have run that weren't recorded.
func settle(state *journal.State, lost bool) []waitingEntry {
	var out []waitingEntry
	for _, by := range slices.Sorted(maps.Keys(state.Agents)) {
		a := state.Agents[by]
		var lone []model.Part
		answered, rest := model.Message{Role: model.Tool}, model.Message{Role: model.Tool}
		for _, c := range a.Calls {
			if c.Answered {
				answered.Parts = append(answered.Parts, settled(c, lost))
				continue
			}
			lone = append(lone, c.Call)
			rest.Parts = append(rest.Parts, settled(c, lost))
		}
		if len(answered.Parts) > 0 {
			out = append(out, waitingEntry{by, journal.Responses{Turn: a.Turn, Message: answered}})
		}
		if len(lone) > 0 {
			answer := agent.Sendable(model.Message{Role: model.Assistant, Parts: lone})
			out = append(out, waitingEntry{by, journal.Answer{Turn: a.Turn, Error: interruptText, Message: answer}},
				waitingEntry{by, journal.Responses{Turn: a.Turn, Message: rest}})
		}
		if by != "" && running(a) {
			last := model.Message{Role: model.Assistant, Parts: []model.Part{model.Text("(" + interruptText + ")")}}
			out = append(out, waitingEntry{by, journal.Answer{Turn: a.Turn, Error: interruptText, Message: last}})
		}
	}
	return out
}

// settled returns the response to a call without one: its result, that its effect is unknown, or that it didn't run.
func settled(c journal.Call, lost bool) model.Response {
	text := neverText
	switch {
	case c.Finished != nil:
		o := c.Finished.Outcome
		return response(c.Call.Call, tool.Outcome{Status: o.Status, Result: o.Result})
	case c.Started != nil || lost:
		text = unknownText
	case c.Tried != nil:
		text = triedText
	}
	return model.Response{
		ID: c.Call.ID, Name: c.Call.Name, IsError: true,
		Content: []tool.Part{tool.Text(fmt.Sprintf(text, c.Call.Name))},
	}
}

// unfinished returns the subagents that were running.
func unfinished(state *journal.State) []string {
	var names []string
	for _, by := range slices.Sorted(maps.Keys(state.Agents)) {
		if by != "" && running(state.Agents[by]) {
			names = append(names, by)
		}
	}
	return names
}

// running reports whether an agent has not given its final answer.
func running(a *journal.Agent) bool {
	if n := len(a.History) - 1; n >= 0 && len(a.Calls) == 0 {
		last := a.History[n]
		return last.Role != model.Assistant || len(last.Calls()) > 0
	}
	return true
}

// records returns what all agents of the session have read. If several read a file, the first agent's record counts.
func records(state *journal.State) []builtin.FileRecord {
	seen := map[string]journal.Seen{}
	for _, by := range slices.Backward(slices.Sorted(maps.Keys(state.Agents))) {
		maps.Copy(seen, state.Agents[by].Seen)
	}
	var out []builtin.FileRecord
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		s := seen[path]
		f := builtin.FileRecord{Path: path, Lines: s.Lines, Whole: s.Whole, Opaque: s.Opaque}
		if n, err := hex.Decode(f.Hash[:], []byte(s.Hash[:min(len(s.Hash), 2*len(f.Hash))])); err != nil ||
			n != len(f.Hash) {
			continue // it is no longer known
		}
		for _, lines := range s.Read {
			f.Read = append(f.Read, workspace.Range{First: lines[0], Last: lines[1]})
		}
		out = append(out, f)
	}
	return out
}

// restoreTodos sets the to-do list to that of the journal; nil: it is empty.
func (s *Session) restoreTodos(raw json.RawMessage) {
	var list builtin.TodoList
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
