package recording

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Recorder writes the events of a session to its journal: the events of agents, and every run of a call before it
// starts and after it ended. A nil Recorder records nothing.
//
// The journal is created with the first entry, so that a run without a prompt leaves nothing. If it can't be written,
// the user gets one notice and the work continues without it.
type Recorder struct {
	Create func() (*journal.Writer, error) // makes a new journal

	s       Session
	discard func() error // deletes a reserved journal

	syncing  sync.WaitGroup
	mu       sync.Mutex
	creating chan struct{}   // closed when the journal has its first entries; nil: nothing is being created
	w        *journal.Writer // nil: no journal yet
	reserved *journal.Writer // a journal that was created before its first entry, for its ID
	failed   bool
	waiting  []record.Entry // entries before the first
	declared agent.Declared // how requests of the first agent begin
	added    []journal.Declaration
	turns    map[string]int // turn of the running request, by agent
	before   int            // turns of the session before it was resumed
	model    string
	talks    bool // there is a conversation: agents report calls and responses
	todos    map[string]string
	plan     string
	tried    map[undo.Ref]bool // calls that were tried, and neither kept nor run
	lost     []string          // calls that ran after recording failed
	early    []string          // calls that ended before the journal was created
	lose     func([]string)    // notes them outside of the journal; nil: nowhere
}

// lock locks the recorder once nothing is being created.
func (r *Recorder) lock() {
	for r.mu.Lock(); r.creating != nil; r.mu.Lock() {
		creating := r.creating
		r.mu.Unlock()
		<-creating
	}
}

// lockOpen locks the recorder so that begin and append can be called. In a conversation it doesn't wait for a new
// journal: entries are held, and only a call that changes something waits, in sync.
func (r *Recorder) lockOpen() {
	if r.mu.Lock(); !r.talks {
		r.mu.Unlock()
		r.lock()
	}
}

// Write appends an entry. Entries before the first are held until it is written.
func (r *Recorder) Write(by string, data journal.Data) {
	r.lock()
	defer r.mu.Unlock()
	r.append(by, data)
}

func (r *Recorder) append(by string, data journal.Data) {
	switch {
	case r.failed:
	case r.w == nil:
		r.waiting = append(r.waiting, record.Entry{By: by, Data: data})
	default:
		if _, err := r.w.Write(by, data); err != nil {
			r.fail(err)
		}
	}
}

// begin creates the journal, unless it exists.
func (r *Recorder) begin() {
	if r.w != nil || r.failed {
		return
	}
	r.begun(r.start(r.first()))
}

// beginAside does the same, but a new journal is created in the background: the first request doesn't wait for it.
// Entries are held until then, and whatever else needs the journal waits.
func (r *Recorder) beginAside() {
	if r.w != nil || r.failed || r.reserved != nil {
		r.begin()
		return
	}
	first, created := r.first(), make(chan struct{})
	r.creating = created
	go func() {
		w, err := r.start(first)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.begun(w, err)
		r.creating = nil
		close(created)
	}()
}

// start returns a journal with the first entry.
func (r *Recorder) start(first journal.Opened) (w *journal.Writer, err error) {
	if w = r.reserved; w == nil {
		w, err = r.Create()
	}
	if err == nil {
		_, err = w.Write("", first)
	}
	return w, err
}

// first returns the first entry.
func (r *Recorder) first() journal.Opened {
	first := journal.Opened{
		ID: r.s.ID, CWD: r.s.Directory.Path, Roots: r.s.Tools.Roots(), Version: r.s.Env.Version,
		Mode: r.s.Policy.Mode().String(),
	}
	first.Model, first.System, first.Listing = r.model, r.declared.System, r.declared.Listing
	first.Declarations = journal.Declare(r.declared.Tools)
	return first
}

// begun continues with a journal that has the first entry.
func (r *Recorder) begun(w *journal.Writer, err error) {
	r.reserved = nil
	if err != nil {
		if w != nil {
			_ = w.Close() // or the session stays locked
		}
		r.lost, r.early = append(r.lost, r.early...), nil
		r.fail(err)
		return
	}
	r.w = w
	for _, e := range r.waiting {
		r.append(e.By, e.Data)
	}
	r.waiting, r.early = nil, nil
}

// fail reports that the journal can't be written. Nothing more is written.
func (r *Recorder) fail(err error) {
	if !r.failed {
		r.failed, r.waiting = true, nil
		if r.lose != nil {
			r.lose(nil)
		}
		r.s.Env.Notice(notRecorded(err))
	}
}

// Sync returns when all entries survive a power failure; false: nothing is recorded. Concurrent callers share the work.
func (r *Recorder) Sync() bool {
	if r == nil {
		return false
	}
	r.lock()
	w := r.w
	failed := r.failed
	r.mu.Unlock()
	if w == nil || failed {
		return true
	}
	if err := w.Sync(); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fail(err)
	}
	return true
}

// Close ends the journal.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.syncing.Wait()
	r.lock()
	defer r.mu.Unlock()
	if r.reserved != nil { // nothing was recorded
		if err := r.discard(); err != nil {
			r.fail(err)
		}
	}
	if len(r.lost) > 0 && r.lose != nil {
		r.lose(r.lost)
	}
	if r.w == nil {
		return
	}
	if err := r.w.Close(); err != nil {
		r.fail(err)
	}
}

// Event records an event of an agent; "": the first one.
func (r *Recorder) Event(by string, e agent.Event) {
	if r == nil {
		return
	}
	if _, ok := e.(agent.Declared); ok {
		r.lock()
	} else {
		r.mu.Lock()
	}
	changed := r.note(by, e)
	r.mu.Unlock()
	if changed {
		// The next request doesn't wait for it. The next call that changes something does.
		r.syncing.Go(func() { r.Sync() })
	}
}

// note records an event, and reports whether it must survive a power failure.
func (r *Recorder) note(by string, e agent.Event) bool {
	switch e := e.(type) {
	case agent.Told:
		kind := journal.Prompt
		if e.News {
			kind = journal.News
		}
		r.append(by, journal.Message{Kind: kind, Message: e.Message})
	case agent.Declared:
		if by == "" {
			r.declare(e)
		}
	case agent.Began:
		r.asked(by, e.Turn)
	case agent.Called:
		r.append(by, journal.Called{Turn: r.turns[by], Call: model.Call{Call: e.Call}})
	case agent.Answered:
		answer := journal.Answer{
			Turn: r.turns[by], Usage: e.Usage, Reason: e.Reason, MS: e.Took.Milliseconds(),
			Message: e.Sent, Model: e.Model,
		}
		if e.Err != nil {
			answer.Error = e.Err.Error()
		}
		r.append(by, answer)
	case agent.Compacted:
		if e.Messages != nil {
			r.append(by, compacted(e))
		}
	case agent.Responded:
		r.append(by, journal.Responses{Turn: r.turns[by], Message: e.Message})
		return true
	}
	return false
}

// compacted returns the entry of a compaction.
func compacted(e agent.Compacted) journal.Compacted {
	out := journal.Compacted{Messages: e.Messages}
	for _, p := range e.Prompts {
		out.Prompts = append(out.Prompts, model.Message{Role: model.User, Parts: p})
	}
	return out
}

// declare records how requests begin: in the first entry, or additions with the next request.
func (r *Recorder) declare(d agent.Declared) {
	if r.w != nil {
		r.added = journal.Declare(d.Tools[min(len(r.declared.Tools), len(d.Tools)):])
	}
	r.declared = d
	r.beginAside()
}

func (r *Recorder) asked(by string, turn int) {
	if by == "" {
		turn += r.before
	}
	r.turns[by] = turn
	asked := journal.Asked{Turn: turn}
	if by == "" {
		asked.Declared, r.added = r.added, nil
	}
	r.append(by, asked)
}

// Finished records the end of a call.
func (r *Recorder) Finished(q tool.Request, o tool.Outcome, found undo.Found) {
	if r == nil {
		return
	}
	by := q.Call.By
	finished := journal.Finished{ID: q.Call.ID, Outcome: journal.Ended(o), Seen: r.seen(q.Access),
		Changes: undo.Journaled(found.Changes),
		Unsaved: undo.JournaledLost(found.Lost), Running: found.Running}
	r.lockOpen()
	defer r.mu.Unlock()
	finished.Todos, finished.Jobs = r.changedTodos(by), r.jobs()
	if plan := r.s.Tools.Plan(); plan != r.plan {
		finished.Plan, r.plan = plan, plan
	}
	r.append(by, finished)
	switch {
	case r.failed:
		r.lost = append(r.lost, q.Description)
	case r.w == nil:
		r.early = append(r.early, q.Description)
	}
	if !r.talks { // the model of a client made the call and has the result
		call := agent.Sendable(model.Message{Role: model.Assistant, Parts: []model.Part{model.Call{Call: q.Call}}})
		r.append(by, journal.Answer{Message: call})
		r.append(by, journal.Responses{Message: model.Message{
			Role: model.Tool, Parts: []model.Part{record.Response(q.Call, o)},
		}})
	}
}

// jobs returns the background commands that are running.
func (r *Recorder) jobs() []journal.Job {
	var out []journal.Job
	for _, j := range r.s.Tools.Jobs() {
		if j.Running {
			out = append(out, journal.Job{ID: j.ID, Command: j.Command})
		}
	}
	return out
}

// Tries records that a call is going to be tried. It has no lasting effects, so nothing has to be on disk.
func (r *Recorder) Tries(q tool.Request, d tool.Decision) {
	r.lockOpen()
	defer r.mu.Unlock()
	if !r.talks {
		r.begin()
	}
	r.tried[refOf(q.Call)] = true
	r.append(q.Call.By, journal.Tried{
		ID: q.Call.ID, Name: q.Declaration.Name, Args: q.Call.Args, Access: q.Access, Decision: journal.Decided(d),
	})
}

func refOf(c tool.Call) undo.Ref { return undo.Ref{By: c.By, ID: c.ID} }

// WasTried reports whether a call was tried, once.
func (r *Recorder) WasTried(c tool.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tried := r.tried[refOf(c)]
	delete(r.tried, refOf(c))
	return tried
}

// Started records that a call runs. A call that changes something only runs after its entry is on disk; one that only
// reads waits for nothing.
func (r *Recorder) Started(q tool.Request, d tool.Decision) {
	if r == nil {
		return
	}
	r.noteStart(q, d)
	if slices.ContainsFunc(q.Access, tool.Access.Changes) {
		r.Sync()
	}
}

func (r *Recorder) noteStart(q tool.Request, d tool.Decision) {
	r.lockOpen()
	defer r.mu.Unlock()
	by := q.Call.By
	if !r.talks {
		r.begin()
		r.append(by, journal.Called{Call: model.Call{Call: q.Call}})
	}
	r.append(by, journal.Started{
		ID: q.Call.ID, Name: q.Declaration.Name, Args: q.Call.Args, Access: q.Access, Decision: journal.Decided(d),
		About: q.Description,
	})
}

// seen returns the new records of files that a call accessed.
func (r *Recorder) seen(access []tool.Access) []journal.Seen {
	records := r.s.Tools.TakeSeen(func(path string) bool {
		return slices.ContainsFunc(access, func(a tool.Access) bool { return reaches(a, path) })
	})
	var out []journal.Seen
	for _, f := range records {
		out = append(out, journal.Seen{
			Path: f.Path, Hash: f.Hash, Lines: f.Lines, Whole: f.Whole, Opaque: f.Opaque, Read: f.Read,
		})
	}
	return out
}

// reaches reports whether an access covers a path.
func reaches(a tool.Access, path string) bool {
	switch {
	case a.Verb == tool.Execs || a == tool.Anything || a.Target == "*":
		return true
	case a.Verb != tool.Reads && a.Verb != tool.Writes:
		return false
	case strings.HasSuffix(a.Target, "/"):
		return strings.HasPrefix(path, a.Target)
	}
	return a.Target == path
}

// changedTodos returns the to-do list of an agent, if it changed since it was last recorded.
func (r *Recorder) changedTodos(by string) []byte {
	list := r.s.Tools.Todos(by)
	raw, err := list.MarshalJSON()
	if err != nil || r.todos[by] == string(raw) || len(list) == 0 && r.todos[by] == "" {
		return nil
	}
	r.todos[by] = string(raw)
	return raw
}

// notRecorded returns the notice about a journal that can't be written.
func notRecorded(err error) string {
	return fmt.Sprintf("warning: the session is no longer recorded and can't be resumed from here: %v", err)
}

// Mode records a change of the approval mode.
func (r *Recorder) Mode(mode string) {
	if r != nil {
		r.Write("", journal.Mode{Mode: mode})
	}
}

// Converse records that the conversation starts, with earlier messages.
func (r *Recorder) Converse(name string, said []model.Message) {
	if r == nil {
		return
	}
	r.SetModel(name)
	r.lock()
	defer r.mu.Unlock()
	r.talks = true
	for _, m := range said {
		r.append("", journal.Message{Message: m})
	}
}

// SetModel records that the conversation continues with another model.
func (r *Recorder) SetModel(name string) {
	if r == nil {
		return
	}
	r.lock()
	defer r.mu.Unlock()
	if r.model != "" && r.model != name {
		r.append("", journal.Model{Model: name})
	}
	r.model = name
}

// Reset records that another history replaces the conversation.
func (r *Recorder) Reset(history []model.Message) {
	if r != nil {
		r.Write("", journal.Compacted{Messages: history})
	}
}

// Give records the changes of background commands.
func (r *Recorder) Give(f undo.Found) {
	if r == nil {
		return
	}
	for call, job := range f.Jobs {
		r.Write(call.By, journal.Changed{
			ID: call.ID, Changes: undo.Journaled(job.Changes), Unsaved: undo.JournaledLost(job.Lost), Ended: job.Ended,
		})
	}
}

// Works reports whether entries are written.
func (r *Recorder) Works() bool {
	r.lock()
	defer r.mu.Unlock()
	return !r.failed && r.w != nil
}

// Recorded reports whether the session can be resumed.
func (r *Recorder) Recorded() bool {
	if r == nil {
		return false
	}
	r.lock()
	defer r.mu.Unlock()
	return r.w != nil
}
