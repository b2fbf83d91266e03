// Package export writes a session's journal as Markdown, HTML or JSON:
//
//	err := export.HTML(w, file.Read(1), store)
//
// The documents include the texts and pictures from the store. A journal with an invalid line is exported up to there,
// with a note.
package export

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// transcript is a session in reading order.
type transcript struct {
	opened   journal.Opened
	title    string
	created  time.Time
	updated  time.Time
	models   []string
	items    []*item
	turns    []turn
	tools    []toolTime // in the order of their first call
	usage    model.Usage
	modelMS  int64
	finished bool

	calls   map[string]*call
	waiting map[string][]*item // calls of each agent that wait for their answer
}

// item is a message, a call or a note.
type item struct {
	seq  int64
	at   time.Time
	by   string
	kind kind
	text string // of a message or a note
	// media of a prompt
	media    []tool.Media
	thoughts string // before the text of an answer
	turn     *turn  // of an answer
	call     *call
}

type kind int

const (
	prompt kind = iota
	news
	answer
	called
	note
)

// call is a call with its result.
type call struct {
	model.Call
	started  *journal.Started
	finished *journal.Finished
	response *model.Response // what the model received, if there is no outcome
}

// turn is one answer of the model.
type turn struct {
	number int
	by     string
	usage  model.Usage
	ms     int64
	err    string
}

// toolTime is the total time of a tool's calls.
type toolTime struct {
	name  string
	calls int
	ms    int64
}

// read makes a transcript of entries.
func read(entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) (*transcript, error) {
	t := &transcript{calls: map[string]*call{}, waiting: map[string][]*item{}}
	for e, err := range entries {
		var broken *journal.BrokenError
		if errors.As(err, &broken) {
			t.note(journal.Entry{At: t.updated}, "The rest of the journal can't be read: %v.", err)
			break
		}
		if err != nil {
			return nil, err
		}
		if t.created.IsZero() {
			t.created = e.At
		}
		t.updated = e.At
		data, _, err := journal.Recover(e, blobs)
		if err != nil {
			t.note(e, "This entry can't be read: %v.", err)
			continue
		}
		t.add(e, data)
	}
	for by := range t.waiting {
		t.flush(by)
	}
	return t, nil
}

func (t *transcript) add(e journal.Entry, data journal.Data) {
	switch d := data.(type) {
	case journal.Opened:
		t.opened = d
		t.answeredBy(d.Model)
	case journal.Message:
		t.message(e, d)
	case journal.Called:
		c := &call{Call: d.Call}
		t.calls[d.Call.ID] = c
		t.waiting[e.By] = append(t.waiting[e.By], &item{seq: e.Seq, at: e.At, by: e.By, kind: called, call: c})
	case journal.Started:
		if c := t.calls[d.ID]; c != nil {
			c.started = &d
		}
	case journal.Tried: // the outcome has the result
	case journal.Finished:
		t.outcome(d)
	case journal.Asked:
		t.flush(e.By)
	case journal.Answer:
		t.answer(e, d)
	case journal.Responses:
		t.responses(e, d)
	default:
		t.change(e, data)
	}
}

// change records changes of the session itself.
func (t *transcript) change(e journal.Entry, data journal.Data) {
	switch d := data.(type) {
	case journal.Resumed:
		t.note(e, "The session was resumed.")
	case journal.Mode:
		t.note(e, "Approval mode: %s.", d.Mode)
	case journal.Model:
		t.note(e, "Model: %s.", d.Model)
	case journal.Compacted:
		t.note(e, "The history was compacted to %s.", humanize.Count(len(d.Messages), "message"))
	case journal.Changed:
		if c := t.calls[d.ID]; c != nil && c.finished != nil {
			c.finished.Changes = append(c.finished.Changes, d.Changes...)
		}
	case journal.Undone:
		if d.To > 0 {
			t.note(e, "Undone: everything after entry %d.", d.To)
		}
		if len(d.Changes) > 0 && !d.Begun {
			verb := "Undone"
			if d.Redo > 0 {
				verb = "Redone"
			}
			t.note(e, "%s: changes of %d paths.", verb, len(d.Changes))
		}
	case journal.Closed:
		t.finished = true
	}
}

func (t *transcript) note(e journal.Entry, format string, args ...any) {
	t.items = append(t.items, &item{seq: e.Seq, at: e.At, by: e.By, kind: note, text: fmt.Sprintf(format, args...)})
}

func (t *transcript) message(e journal.Entry, d journal.Message) {
	i := &item{seq: e.Seq, at: e.At, by: e.By, kind: prompt, text: d.Message.Text()}
	if d.Kind != journal.Prompt {
		i.kind = news
	}
	for _, p := range d.Message.Parts {
		if m, ok := p.(model.Media); ok {
			i.media = append(i.media, m.Media)
		}
	}
	if t.title == "" && e.By == "" && i.kind == prompt {
		t.title = journal.Title(i.text)
	}
	t.items = append(t.items, i)
}

func (t *transcript) outcome(d journal.Finished) {
	c := t.calls[d.ID]
	if c == nil {
		c = &call{Call: model.Call{Call: tool.Call{ID: d.ID, Name: d.Outcome.Name}}}
		t.calls[d.ID] = c
		t.items = append(t.items, &item{kind: called, call: c})
	}
	c.finished = &d
	name := d.Outcome.Name
	if name == "" {
		name = c.Name
	}
	for i := range t.tools {
		if t.tools[i].name == name {
			t.tools[i].calls++
			t.tools[i].ms += d.Outcome.MS
			return
		}
	}
	t.tools = append(t.tools, toolTime{name, 1, d.Outcome.MS})
}

func (t *transcript) answer(e journal.Entry, d journal.Answer) {
	n := turn{number: d.Turn, by: e.By, usage: d.Usage, ms: d.MS, err: d.Error}
	t.usage = t.usage.Plus(d.Usage)
	t.modelMS += d.MS
	t.answeredBy(d.Model)
	i := &item{seq: e.Seq, at: e.At, by: e.By, kind: answer, text: d.Message.Text(), turn: &n}
	for _, p := range d.Message.Parts {
		if thought, ok := p.(model.Thought); ok {
			i.thoughts += string(thought)
		}
	}
	t.turns = append(t.turns, n)
	t.items = append(t.items, i)
	known := map[string]bool{}
	for _, w := range t.waiting[e.By] {
		known[w.call.ID] = true
	}
	for _, c := range d.Message.Calls() {
		if !known[c.ID] && t.calls[c.ID] == nil {
			t.calls[c.ID] = &call{Call: model.Call{Call: c}}
			t.waiting[e.By] = append(t.waiting[e.By], &item{
				seq: e.Seq, at: e.At, by: e.By, kind: called, call: t.calls[c.ID],
			})
		}
	}
	t.flush(e.By)
}

// flush adds the calls of an agent after its answer, or alone without an answer.
func (t *transcript) flush(by string) {
	t.items = append(t.items, t.waiting[by]...)
	delete(t.waiting, by)
}

func (t *transcript) responses(e journal.Entry, d journal.Responses) {
	t.flush(e.By)
	for _, p := range d.Message.Parts {
		if r, ok := p.(model.Response); ok && t.calls[r.ID] != nil {
			t.calls[r.ID].response = &r
		}
	}
}

func (t *transcript) answeredBy(name string) {
	if name != "" && !slices.Contains(t.models, name) {
		t.models = append(t.models, name)
	}
}

// status returns how a call ended: "unknown" if it started and no outcome is known.
func (c *call) status() tool.Status {
	switch {
	case c.finished != nil:
		return c.finished.Outcome.Status
	case c.started != nil:
		return "unknown"
	}
	return "not run"
}

// result returns what the model received.
func (c *call) result() tool.Result {
	switch {
	case c.finished != nil:
		return c.finished.Outcome.Result
	case c.response != nil:
		return tool.Result{Content: c.response.Content}
	}
	return tool.Result{}
}

// args returns the arguments as they ran, or as the model sent them.
func (c *call) args() string {
	if c.started != nil && len(c.started.Args) > 0 {
		return string(c.started.Args)
	}
	return string(c.Args)
}

// name of the tool.
func (c *call) name() string {
	if c.finished != nil && c.finished.Outcome.Name != "" {
		return c.finished.Outcome.Name
	}
	return c.Name
}

// author returns the agent of an item, for users.
func author(by string) string {
	if by == "" {
		return ""
	}
	return "subagent " + by
}

// changes returns the files that the call changed, without directories.
func (c *call) changes() (out tool.Changes) {
	if c.finished == nil {
		return out
	}
	seen := map[string]bool{}
	for _, one := range c.finished.Changes {
		kind := tool.Modified
		switch {
		case one.Before == "dir" || one.After == "dir" || seen[one.Path]: // by a background command, repeatedly
			continue
		case one.Before == "":
			kind = tool.Created
		case one.After == "":
			kind = tool.Deleted
		case one.Before == one.After:
			kind = tool.ModeChanged
		}
		seen[one.Path] = true
		out.List = append(out.List, tool.Change{Path: one.Path, Kind: kind})
	}
	return out
}
