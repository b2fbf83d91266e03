package recording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// Resumed is the state that a session continues with; nil: it is new.
type Resumed struct {
	History  []model.Message
	Prompts  [][]model.Part // of the user
	CutOff   bool           // the last message is an answer that was cut off
	Declared agent.Declared // how its requests begin
	News     []string       // for the model
	Agents   []string       // paths of its subagents so far
	Began    time.Time
	title    string
	model    string
	told     map[int]bool // messages of the history that are not from the user
}

// resume continues a session from its journal: unfinished calls are settled there, once, and the tools get back what
// was read and the to-do list. It runs nothing. lost is the news about calls that weren't recorded; "": all were.
func (r *Recorder) resume(w *journal.Writer, lost string) (*Resumed, error) {
	var out Resumed
	if lost != "" {
		out.News = append(out.News, lost)
	}
	s := r.s
	var ends []record.Entry
	w.View(func(state *journal.State) {
		ends = record.Settle(state, lost != "")
		out.Began, out.title = state.Created, cmp.Or(state.Name, state.Title, s.ID)
		for by := range state.Agents {
			out.Agents = append(out.Agents, by)
		}
		first := state.Agent("")
		r.before, r.model, out.model = first.Turn, first.Model, first.Model
		out.Declared = agent.Declared{System: state.Opened.System, Listing: state.Opened.Listing}
		for _, d := range slices.Concat(state.Opened.Declarations, first.Declared) {
			out.Declared.Tools = append(out.Declared.Tools, d.Tool())
		}
		if stopped := record.Unfinished(state); len(stopped) > 0 {
			out.News = append(out.News, "Subagents that were running when the session ended have stopped, and their "+
				"reports are lost: "+
				strings.Join(stopped, ", ")+".")
		}
		if len(state.Jobs) > 0 {
			var names []string
			for _, j := range state.Jobs {
				names = append(names, fmt.Sprintf("%s (%s)", j.ID, j.Command))
			}
			out.News = append(out.News, "Background commands were stopped when the session ended, and their "+
				"output is lost: "+
				strings.Join(names, ", ")+". Start them again if they are needed.")
		}
		s.Tools.RestoreSeen(record.Seen(state))
		r.RestoreTodos(first.Todos)
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
		out.Rewind(first)
		out.told = map[int]bool{}
		for i, seq := range first.Seqs {
			_, out.told[i] = slices.BinarySearch(first.News, seq)
		}
	})
	return &out, nil
}

// RestoreTodos sets the to-do list to that of the journal; nil: it is empty.
func (r *Recorder) RestoreTodos(raw json.RawMessage) {
	var list todo.List
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		return
	}
	if err := r.s.Tools.SetTodos("", list); err != nil {
		r.s.Env.Warn("%v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.todos[""] = string(raw)
}

// PromptsOf returns the user's prompts; nil if the journal doesn't have them since its last compaction.
func PromptsOf(a *journal.Agent) (prompts [][]model.Part) {
	for _, p := range a.Prompts {
		prompts = append(prompts, p.Message.Parts)
	}
	return prompts
}

// Title returns the title of the session that the next conversation continues; "": it is new.
func (r *Resumed) Title() string {
	if r == nil {
		return ""
	}
	return r.title
}

// Model returns the model that the session used; "": it is new.
func (r *Resumed) Model() string {
	if r == nil {
		return ""
	}
	return r.model
}

// Said is a message of the conversation.
type Said struct {
	model.Message
	News bool // it is not from the user, although its role is
}

// Earlier returns the messages of the session that the next conversation continues.
func (r *Resumed) Earlier() (out []Said) {
	if r == nil {
		return nil
	}
	for i, m := range r.History {
		out = append(out, Said{m, r.told[i]})
	}
	return out
}

// Unanswered reports whether the model has not, or not completely, answered the last message.
func (r *Resumed) Unanswered() bool {
	if r == nil {
		return false
	}
	n := len(r.History) - 1
	return n >= 0 && (r.History[n].Role != model.Assistant || r.CutOff)
}

// Rewind replaces the messages by an earlier state.
func (r *Resumed) Rewind(to *journal.Agent) {
	r.History, r.CutOff, r.Prompts = slices.Clone(to.History), to.CutOff(), PromptsOf(to)
}

// Clear removes the messages, and what the model should know of the session.
func (r *Resumed) Clear() { r.History, r.told, r.News, r.CutOff, r.Prompts = nil, nil, nil, false, nil }
