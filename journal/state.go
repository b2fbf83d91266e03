package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// State is the state of a session after some of its entries. It depends only on the entries.
type State struct {
	Opened  Opened
	Created time.Time // of the first entry
	Updated time.Time // of the last
	Seq     int64     // of the last
	Newest  int       // the newest version of an entry
	CWD     string
	Roots   []string
	Version string // of the Adze that wrote last
	Title   string // the start of the first prompt
	Name    string // that the user gave it; "": none
	Closed  bool   // the last entry is session.closed
	Agents  map[string]*Agent
	Jobs    []Job // background commands that were running after the last call
	Lost    Lost  // contents missing for the entries that count: see [Recover]

	past []checkpoint // states before each compaction, for Undone
}

// Agent is the state of one agent of the session.
type Agent struct {
	History  []model.Message
	Seqs     []int64       // of the entry of each message of the history
	News     []int64       // of the entries of messages that are not from the user
	Prompts  []Said        // the user's, including those that the history only quotes since a compaction
	Plan     string        // that the user approved last
	Calls    []Call        // calls that have no response in the history yet, in the order they were requested
	Declared []Declaration // tools that were declared after the session was opened
	Todos    json.RawMessage
	Seen     map[string]Seen // by path
	Mode     string
	Model    string
	Turn     int // of the last request
	Turns    int // answers
	Usage    model.Usage

	cut   int64 // Seq of the last answer that was cut off
	todos []todosAt
}

// Said is a prompt, and its entry or the compaction that kept it.
type Said struct {
	Seq     int64
	Message model.Message
}

// Call is a call without a response.
type Call struct {
	Seq      int64      `json:"seq"`
	Turn     int        `json:"turn,omitempty"`
	Call     model.Call `json:"call"`
	Answered bool       `json:"answered,omitempty"` // the answer that has the call is in the history
	Tried    *Tried     `json:"tried,omitempty"`
	Started  *Started   `json:"started,omitempty"`
	Finished *Finished  `json:"finished,omitempty"`

	started, finished *later // not decoded yet: see decodeLater
	Extra
}

// Snapshot is the state of an agent without its history.
type Snapshot struct {
	CWD      string          `json:"cwd,omitempty"`
	Roots    []string        `json:"roots,omitempty"`
	Title    string          `json:"title,omitempty"`
	Name     string          `json:"name,omitempty"`
	Version  string          `json:"version,omitempty"`
	Calls    []Call          `json:"calls,omitempty"`
	Declared []Declaration   `json:"declared,omitempty"`
	Todos    json.RawMessage `json:"todos,omitempty"`
	Seen     []Seen          `json:"seen,omitempty"`
	Mode     string          `json:"mode,omitempty"`
	Model    string          `json:"model,omitempty"`
	Turn     int             `json:"turn,omitempty"`
	Turns    int             `json:"turns,omitempty"`
	Usage    model.Usage     `json:"usage"`
	Plan     string          `json:"plan,omitempty"`
	Jobs     []Job           `json:"jobs,omitempty"`
	Extra
}

type todosAt struct {
	seq   int64
	todos json.RawMessage
}

// checkpoint is the state before a compaction.
type checkpoint struct {
	seq     int64 // of the compaction
	history []model.Message
	seqs    []int64
	news    []int64
	prompts []Said
	todos   []todosAt
}

// Fold returns the state after the entries.
func Fold(entries iter.Seq2[Entry, error], blobs Blobs) (State, error) {
	var s State
	for e, err := range entries {
		if err != nil {
			return s, err
		}
		if err := s.add(e, blobs); err != nil {
			return s, err
		}
	}
	s.settle(blobs, nil)
	return s, nil
}

// Agent returns the state of an agent; "" is the first one. It is never nil; an agent without entries has an empty
// state.
func (s *State) Agent(by string) *Agent {
	if a := s.Agents[by]; a != nil {
		return a
	}
	return &Agent{}
}

// add adds one entry.
func (s *State) add(e Entry, blobs Blobs) error {
	if data, ok := decodeLater(e); ok {
		s.applyLater(&later{Entry: e}, data)
		return nil
	}
	data, lost, err := Recover(e, blobs)
	if err != nil {
		return err
	}
	s.Lost = s.Lost.plus(lost)
	s.apply(e, data)
	return nil
}

// decodeLater decodes the start or the outcome of a call without the parts that aren't needed once there are responses.
// It returns false if the entry has another type or format. See settle.
func decodeLater(e Entry) (Data, bool) {
	if e.Type != TypeFinished && e.Type != TypeStarted {
		return nil, false
	}
	if e.Type == TypeStarted {
		id, _ := text(memberOf(e.Data, "id"))
		return Started{ID: id}, id != "" && members(e.Data, nil)
	}
	d := decoder{b: e.Data, partial: true}
	data, err := d.entry(e.Type)
	f, ok := data.(Finished)
	return data, err == nil && ok && f.ID != "" && !bytes.Contains(f.Todos, []byte(`"blob"`))
}

// later is an entry that isn't decoded yet.
type later struct {
	Entry        // without Data if it is from a file
	offset int64 // of its line
}

// applyLater adds an entry that decodeLater has decoded, and keeps it.
func (s *State) applyLater(l *later, data Data) {
	s.apply(l.Entry, data)
	a := s.Agents[l.By]
	switch d := data.(type) {
	case Started:
		if c := a.find(d.ID); c != nil {
			c.started = l
		}
	case Finished:
		if c := a.find(d.ID); c != nil {
			c.finished = l
		}
	}
}

// settle decodes the parts that decodeLater skipped, for the calls without a response. An invalid outcome is unknown.
func (s *State) settle(blobs Blobs, line func(offset int64) Entry) {
	load := func(l *later) Data {
		if l.Data == nil && line != nil {
			l.Entry = line(l.offset)
		}
		data, lost, _ := Recover(l.Entry, blobs)
		s.Lost = s.Lost.plus(lost)
		return data
	}
	for _, a := range s.Agents {
		for i := range a.Calls {
			c := &a.Calls[i]
			if c.started != nil {
				if started, ok := load(c.started).(Started); ok {
					c.Started = &started
				}
			}
			if c.finished != nil {
				c.Finished = nil
				if finished, ok := load(c.finished).(Finished); ok {
					c.Finished = &finished
				}
			}
			c.started, c.finished = nil, nil
		}
	}
}

// apply adds an entry whose data is decoded; nil for an unknown type.
func (s *State) apply(e Entry, data Data) {
	if s.Created.IsZero() {
		s.Created = e.At
	}
	s.Seq, s.Updated, s.Newest = e.Seq, e.At, max(s.Newest, e.V)
	s.Closed = e.Type == TypeClosed
	if s.Agents == nil {
		s.Agents = map[string]*Agent{}
	}
	a := s.Agents[e.By]
	if a == nil {
		a = &Agent{}
		s.Agents[e.By] = a
	}
	switch d := data.(type) {
	case Opened:
		s.Opened, s.CWD, s.Roots, s.Version = d, d.CWD, d.Roots, d.Version
		a.Mode, a.Model = d.Mode, d.Model
	case Resumed:
		s.resume(a, d)
	case Message:
		if s.Title == "" && e.By == "" && d.Kind == Prompt {
			s.Title = Title(Typed(d.Message))
		}
		if d.Kind == News {
			a.News = append(a.News, e.Seq)
		} else if d.Message.Role == model.User {
			a.Prompts = append(a.Prompts, Said{e.Seq, d.Message})
		}
		a.say(e.Seq, d.Message)
	case Compacted:
		s.compact(a, e, d)
	case Undone:
		if d.To > 0 {
			s.undo(a, d.To)
		}
	case Named:
		s.Name = d.Name
	case Closed:
	case Finished:
		s.Jobs = d.Jobs
		a.finish(e.Seq, d)
	default:
		a.apply(e.Seq, d)
	}
}

func (s *State) resume(a *Agent, d Resumed) {
	s.Jobs = nil
	if d.CWD != "" {
		s.CWD = d.CWD
	}
	if d.Roots != nil {
		s.Roots = d.Roots
	}
	if d.Version != "" {
		s.Version = d.Version
	}
	if d.Mode != "" {
		a.Mode = d.Mode
	}
	if d.Model != "" {
		a.Model = d.Model
	}
}

// apply adds an entry about calls and turns.
func (a *Agent) apply(seq int64, data Data) {
	switch d := data.(type) {
	case Called:
		a.call(seq, d.Turn, d.Call)
	case Tried:
		if c := a.find(d.ID); c != nil {
			c.Tried = &d
		}
	case Started:
		if c := a.find(d.ID); c != nil {
			c.Started = &d
		}
	case Asked:
		a.Turn = d.Turn
		if d.Model != "" {
			a.Model = d.Model
		}
		a.Declared = append(a.Declared, d.Declared...)
	case Answer:
		a.Turn = max(a.Turn, d.Turn)
		a.Turns = max(a.Turns+1, d.Turns)
		a.Usage = a.Usage.Plus(d.Usage)
		if d.Message.Role == lostRole {
			d.Message = a.lostAnswer()
		}
		if len(d.Message.Parts) == 0 {
			return
		}
		a.say(seq, d.Message)
		if d.Error != "" {
			a.cut = seq
		}
		for _, c := range d.Message.Calls() {
			a.call(seq, d.Turn, model.Call{Call: c}).Answered = true
		}
	case Responses:
		if d.Message.Role == lostRole {
			d.Message = a.lostResponses()
		}
		a.say(seq, d.Message)
		a.respond(d.Message)
	case Mode:
		a.Mode = d.Mode
	case Model:
		a.Model = d.Model
	}
}

// CutOff reports whether the last message of the history is an answer that was cut off.
func (a *Agent) CutOff() bool {
	n := len(a.Seqs)
	return n > 0 && a.cut > 0 && a.Seqs[n-1] == a.cut
}

func (a *Agent) say(seq int64, m model.Message) {
	a.History, a.Seqs = append(a.History, m), append(a.Seqs, seq)
}

// find returns a call without a response. There are only few.
func (a *Agent) find(id string) *Call {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		if a.Calls[i].Call.ID == id {
			return &a.Calls[i]
		}
	}
	return nil
}

func (a *Agent) call(seq int64, turn int, c model.Call) *Call {
	if known := a.find(c.ID); known != nil {
		return known
	}
	a.Calls = append(a.Calls, Call{Seq: seq, Turn: turn, Call: c})
	return &a.Calls[len(a.Calls)-1]
}

func (a *Agent) finish(seq int64, d Finished) {
	if c := a.find(d.ID); c != nil {
		c.Finished = &d
	}
	for _, f := range d.Seen {
		if a.Seen == nil {
			a.Seen = map[string]Seen{}
		}
		a.Seen[f.Path] = f
	}
	a.Plan = cmp.Or(d.Plan, a.Plan)
	if d.Todos != nil {
		a.Todos = d.Todos
		a.todos = append(a.todos, todosAt{seq, d.Todos})
	}
}

// respond removes the calls that have a response now.
func (a *Agent) respond(m model.Message) {
	for _, p := range m.Parts {
		if r, ok := p.(model.Response); ok {
			a.Calls = slices.DeleteFunc(a.Calls, func(c Call) bool { return c.Call.ID == r.ID })
		}
	}
	if len(a.Calls) == 0 {
		a.Calls = nil
	}
}

// compact replaces the history. If it is the first agent's, the others are removed: a session continues from here
// without reading earlier entries.
func (s *State) compact(a *Agent, e Entry, d Compacted) {
	if e.By == "" {
		s.past = append(s.past, checkpoint{e.Seq, a.History, a.Seqs, a.News, a.Prompts, a.todos})
		s.Agents = map[string]*Agent{"": a}
	}
	a.History, a.Seqs, a.News, a.Prompts = nil, nil, nil, nil
	for _, m := range d.Prompts {
		a.Prompts = append(a.Prompts, Said{e.Seq, m})
	}
	for _, m := range d.Messages {
		a.say(e.Seq, m)
	}
	if d.Snapshot == nil {
		return
	}
	n := *d.Snapshot
	if e.By == "" {
		s.Title, s.Name, s.CWD, s.Roots, s.Version, s.Jobs = n.Title, n.Name, n.CWD, n.Roots, n.Version, n.Jobs
	}
	a.Calls, a.Declared, a.Todos, a.Mode, a.Model = n.Calls, n.Declared, n.Todos, n.Mode, n.Model
	a.Turn, a.Turns, a.Usage, a.Plan = n.Turn, n.Turns, n.Usage, n.Plan
	a.Seen, a.todos = nil, nil
	for _, f := range n.Seen {
		if a.Seen == nil {
			a.Seen = map[string]Seen{}
		}
		a.Seen[f.Path] = f
	}
	if n.Todos != nil {
		a.todos = []todosAt{{e.Seq, n.Todos}}
	}
}

// undo returns to the conversation after the entry of that seq. Usage since then stays counted, and files that were
// read stay known: they are compared with the disk.
func (s *State) undo(a *Agent, to int64) {
	for n := len(s.past); n > 0 && s.past[n-1].seq > to && a == s.Agents[""]; n-- {
		c := s.past[n-1]
		a.History, a.Seqs, a.News, a.todos = c.history, c.seqs, c.news, c.todos
		a.Prompts = c.prompts
		s.past = s.past[:n-1]
	}
	n, _ := slices.BinarySearch(a.Seqs, to+1)
	a.History, a.Seqs = a.History[:n:n], a.Seqs[:n:n]
	a.News = slices.DeleteFunc(slices.Clone(a.News), func(seq int64) bool { return seq > to })
	a.Prompts = slices.DeleteFunc(slices.Clone(a.Prompts), func(s Said) bool { return s.Seq > to })
	a.Calls = slices.DeleteFunc(a.Calls, func(c Call) bool { return c.Seq > to })
	if n > 0 && a.answeredLater(a.History[n-1]) {
		a.History, a.Seqs = a.History[:n-1:n-1], a.Seqs[:n-1:n-1]
	}
	a.Todos = nil
	a.todos = slices.DeleteFunc(slices.Clone(a.todos), func(t todosAt) bool { return t.seq > to })
	if n := len(a.todos); n > 0 {
		a.Todos = a.todos[n-1].todos
	}
	if s.Title != "" && len(s.past) == 0 && a == s.Agents[""] && len(a.History) == 0 {
		s.Title = "" // the next prompt is the first
	}
}

// answeredLater reports whether a message has calls that no longer have a response, so that it can't be the last one.
func (a *Agent) answeredLater(m model.Message) bool {
	return slices.ContainsFunc(m.Calls(), func(c tool.Call) bool { return a.find(c.ID) == nil })
}

// Snapshot returns the state of an agent without its history.
func (s *State) Snapshot(by string) Snapshot {
	a := s.Agent(by)
	n := Snapshot{
		CWD: s.CWD, Roots: s.Roots, Title: s.Title, Version: s.Version, Calls: a.Calls, Declared: a.Declared,
		Todos: a.Todos, Name: s.Name,
		Mode: a.Mode, Model: a.Model, Turn: a.Turn, Turns: a.Turns, Usage: a.Usage, Jobs: s.Jobs, Plan: a.Plan,
	}
	for _, path := range slices.Sorted(maps.Keys(a.Seen)) {
		n.Seen = append(n.Seen, a.Seen[path])
	}
	return n
}

// Typed returns the typed text of a prompt: its first. Attached files and images follow.
func Typed(m model.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(model.Text); ok {
			return string(t)
		}
	}
	return ""
}

const maxTitle = 80 // characters

// Title returns the title of a session with that first prompt: its first line that has text, shortened.
func Title(prompt string) string {
	line := ""
	for l := range strings.Lines(prompt) {
		if line = strings.Join(strings.Fields(l), " "); line != "" {
			break
		}
	}
	return humanize.Line(line, maxTitle)
}
