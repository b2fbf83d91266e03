package playback

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// entry shows what an entry reports, at its time.
func (p *play) entry(e journal.Entry, data journal.Data) error {
	if d, ok := data.(journal.Message); ok && e.By == "" && d.Kind == journal.Prompt {
		return p.prompt(e, d)
	}
	if err := p.until(e.At); err != nil {
		return err
	}
	p.dirty = true
	switch d := data.(type) {
	case journal.Asked:
		if e.By == "" {
			p.declare(d.Declared)
			return p.asked(e)
		}
	case journal.Called:
		p.called(e, d)
	case journal.Started:
		p.started(e, d)
	case journal.Finished:
		p.finished(e, d)
	case journal.Answer:
		if e.By == "" {
			p.answer(d)
		}
	case journal.Responses:
		if e.By == "" {
			p.player.Observe(agent.Responded{Turn: d.Turn, Message: d.Message})
		}
	default:
		p.change(e, data)
	}
	return nil
}

// change shows a change of the session itself.
func (p *play) change(e journal.Entry, data journal.Data) {
	switch d := data.(type) {
	case journal.Resumed:
		set(&p.status.Mode, cell.Clean(d.Mode))
		set(&p.status.Model, d.Model)
		if d.CWD != "" {
			p.status.Directory = filepath.Base(d.CWD)
		}
		p.player.End()
		p.player.Tell("continues the session on " + e.At.UTC().Format("2006-01-02 15:04 UTC"))
	case journal.Mode:
		p.status.Mode = cell.Clean(d.Mode)
	case journal.Model:
		p.status.Model = d.Model
	case journal.Compacted:
		if e.By == "" {
			p.player.Tell("compacted the conversation")
		}
	case journal.Undone:
		p.undone(d)
	case journal.Closed:
		p.player.End()
	}
}

// set changes a value unless the new one is empty.
func set(value *string, to string) {
	if to != "" {
		*value = to
	}
}

func (p *play) undone(d journal.Undone) {
	p.player.End()
	if d.To > 0 {
		p.player.Tell("the conversation went back to an earlier prompt")
	}
	if len(d.Changes) > 0 && !d.Begun {
		verb := "undid"
		if d.Redo > 0 {
			verb = "redid"
		}
		paths := "1 path"
		if n := len(d.Changes); n > 1 {
			paths = fmt.Sprintf("%d paths", n)
		}
		p.player.Tell(verb + " the changes of " + paths)
	}
}

// Timing of a typed prompt.
const (
	typeTime   = time.Second // at most
	typeRune   = 25 * time.Millisecond
	typeFrames = 10
	typeMost   = 2000 // longer prompts are pasted
)

// prompt shows the user typing and sending a prompt. The typing takes place in the pause before it, which is extended
// if it is too short.
func (p *play) prompt(e journal.Entry, d journal.Message) error {
	text := typed(d.Message)
	if text == "" {
		return p.until(e.At)
	}
	runes := []rune(text)
	typing := min(typeTime, typeRune*time.Duration(len(runes)))
	if len(runes) > typeMost {
		typing = 0
	}
	gap := max(0, e.At.Sub(p.clock))
	if before := min(gap, MaxPause) - typing; before > 0 {
		if err := p.stretch(gap, before); err != nil {
			return err
		}
	}
	for i := 1; i <= typeFrames && typing > 0; i++ {
		p.player.Type(string(runes[:len(runes)*i/typeFrames]))
		p.dirty = true
		if err := p.pass(typing/typeFrames, e.At); err != nil {
			return err
		}
	}
	if e.At.After(p.clock) {
		p.clock = e.At
	}
	p.player.Clock(p.clock)
	p.player.Send(text)
	p.dirty = true
	return nil
}

// typed returns the typed text: the first text of a prompt. Others are attached.
func typed(m model.Message) string {
	if m.Role != model.User {
		return ""
	}
	return strings.TrimSpace(journal.Typed(m))
}

// asked shows a request to the model, and its answer as it streamed. The journal has the text after its calls, so it is
// searched for.
func (p *play) asked(e journal.Entry) error {
	p.said = false
	p.player.Observe(agent.Began{})
	var until time.Time
	found, ok := p.feed.find(func(next journal.Entry) verdict {
		switch {
		case next.By != "":
		case next.Type == journal.TypeCalled && until.IsZero():
			until = next.At
		case next.Type == journal.TypeAnswer:
			return match
		case next.Type == journal.TypeAsked || next.Type == journal.TypeMessage:
			return enough
		}
		return further
	})
	if !ok {
		return nil
	}
	data, _, err := journal.Recover(found, p.blobs)
	answer, ok := data.(journal.Answer)
	if err != nil || !ok {
		return nil // the error is reported when the entry is played
	}
	p.said = true
	if until.IsZero() {
		until = found.At
	}
	return p.speak(answer.Message, until)
}

// speak streams an answer until a time: first a pause, then thoughts and text.
func (p *play) speak(m model.Message, until time.Time) error {
	thought, text := parts(m)
	gap := max(0, until.Sub(p.clock))
	shown := min(gap, MaxPause)
	if thought == "" && text == "" {
		return p.stretch(gap, shown)
	}
	if err := p.stretch(gap*3/10, shown*3/10); err != nil {
		return err
	}
	if thought != "" {
		p.player.Observe(agent.Said{Event: model.Thought(thought)})
		p.dirty = true
		if err := p.stretch(gap*2/10, shown*2/10); err != nil {
			return err
		}
		gap, shown = gap*5/7, shown*5/7
	}
	n := max(1, min(int(shown*7/10/frameTime), len(strings.Fields(text))))
	for i := range n {
		piece := text[word(text, len(text)*i/n):word(text, len(text)*(i+1)/n)]
		p.player.Observe(agent.Said{Event: model.Text(piece)})
		p.dirty = true
		if err := p.stretch(gap*7/10/time.Duration(n), shown*7/10/time.Duration(n)); err != nil {
			return err
		}
	}
	return nil
}

// boundary returns the start of the character at an offset.
func boundary(text string, at int) int {
	for at < len(text) && at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// word returns the start of the word at an offset. In a very long word it is the start of the character.
func word(text string, at int) int {
	if at == len(text) {
		return at
	}
	if n := strings.LastIndexAny(text[max(0, at-40):at], " \n"); n >= 0 {
		return max(0, at-40) + n + 1
	}
	return boundary(text, at)
}

// parts returns the thoughts and the text of an answer.
func parts(m model.Message) (thought, text string) {
	for _, part := range m.Parts {
		if t, ok := part.(model.Thought); ok {
			thought += string(t)
		}
	}
	return thought, m.Text()
}

// answer shows the end of an answer.
func (p *play) answer(d journal.Answer) {
	if !p.said {
		thought, text := parts(d.Message)
		if thought != "" {
			p.player.Observe(agent.Said{Event: model.Thought(thought)})
		}
		p.player.Observe(agent.Said{Event: model.Text(text)})
	}
	p.said = false
	p.player.Observe(agent.Answered{Turn: d.Turn, Usage: d.Usage})
	if d.Error != "" {
		p.player.Fail(errors.New(d.Error))
	}
	if len(d.Message.Calls()) == 0 {
		p.player.End()
	}
}

// called shows that the model called a tool, and the question about it, if the user answered one.
func (p *play) called(e journal.Entry, d journal.Called) {
	call := d.Call.Call
	call.By = e.By
	if e.By == "" {
		p.player.Observe(agent.Called{Call: call})
	}
	r := tool.Request{Call: call, Declaration: p.declaration(call.Name)}
	r.Description = FirstText(call.Args)
	p.remember(r)
	started, ok := p.feed.find(func(next journal.Entry) verdict {
		if next.By != e.By {
			return further
		}
		switch next.Type {
		case journal.TypeStarted, journal.TypeFinished:
			if idOf(next) != call.ID {
				return further
			}
			if next.Type == journal.TypeStarted {
				return match
			}
			return enough
		case journal.TypeResponses, journal.TypeMessage:
			return enough
		}
		return further
	})
	if !ok {
		return
	}
	data, _, err := journal.Recover(started, p.blobs)
	if s, ok := data.(journal.Started); err == nil && ok && approved(s.Decision) {
		set(&r.Description, s.About)
		if r.Confirm = p.confirmed(e.By, s); r.Declaration.Origin == "" {
			r.Rework = func(...*string) json.RawMessage { return nil } // the prompt shows the option, but it isn't used
		}
		p.player.Ask(r)
	}
}

// maxCalls is how many calls can be unfinished.
const maxCalls = 1000

// remember stores a call until it is finished. If there are too many, it stores none.
func (p *play) remember(r tool.Request) {
	if len(p.calls) >= maxCalls {
		clear(p.calls)
		p.player.End()
	}
	r.Call.Args = nil
	p.calls[key(r.Call.By, r.Call.ID)] = r
}

// approved reports whether the user was asked: other causes have a name.
func approved(d journal.Decision) bool {
	return d.Verdict == tool.Allow.String() && (d.Cause.Kind == "" || d.Cause.Kind == tool.ByUser)
}

// confirmed returns the content of a prompt: the command, or the display of the call's result.
func (p *play) confirmed(by string, s journal.Started) tool.Display {
	if p.declaration(s.Name).Kind == tool.Execute {
		var args struct{ Command, Description string }
		if json.Unmarshal(s.Args, &args) == nil && args.Command != "" {
			return tool.Command{Line: args.Command, Purpose: args.Description}
		}
	}
	finished, ok := p.feed.find(func(next journal.Entry) verdict {
		switch {
		case next.By == by && next.Type == journal.TypeFinished && idOf(next) == s.ID:
			return match
		case next.By == by && next.Type == journal.TypeResponses:
			return enough
		}
		return further
	})
	if !ok {
		return nil
	}
	data, _, err := journal.Recover(finished, p.blobs)
	d, ok := data.(journal.Finished)
	if err != nil || !ok {
		return nil
	}
	switch shown := d.Outcome.Result.Display.(type) {
	case tool.FileDiff:
		return shown
	case tool.Plan:
		return shown
	}
	return nil
}

// idOf returns the ID of the call that an entry is about.
func idOf(e journal.Entry) string {
	var data struct{ ID string }
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.ID
}

func key(by, id string) string { return by + "\x00" + id }

// declaration returns the declaration of a tool, as far as known.
func (p *play) declaration(name string) tool.Declaration {
	if d, ok := p.tools[name]; ok {
		return d
	}
	return tool.Declaration{Name: name}
}

// started shows that a call runs.
func (p *play) started(e journal.Entry, d journal.Started) {
	r, ok := p.calls[key(e.By, d.ID)]
	if !ok {
		r.Call = tool.Call{ID: d.ID, Name: d.Name, By: e.By}
		r.Description = FirstText(d.Args)
	}
	r.Declaration = p.declaration(d.Name)
	set(&r.Description, d.About)
	p.remember(r)
	p.player.Answer(r.Call)
	p.player.Observe(agent.Step{Event: tool.Event{Stage: tool.Running, Request: r}})
}

// finished shows the outcome of a call.
func (p *play) finished(e journal.Entry, d journal.Finished) {
	r, ok := p.calls[key(e.By, d.ID)]
	if !ok {
		r = tool.Request{
			Call: tool.Call{ID: d.ID, Name: d.Outcome.Name, By: e.By}, Declaration: p.declaration(d.Outcome.Name),
		}
	}
	delete(p.calls, key(e.By, d.ID))
	o := tool.Outcome{
		Call: r.Call, Name: d.Outcome.Name, Status: d.Outcome.Status, Result: d.Outcome.Result,
		Duration: time.Duration(d.Outcome.MS) * time.Millisecond,
	}
	if f := d.Outcome.Error; f != nil {
		o.Error = &tool.Failure{Type: f.Type, Message: f.Message, Model: f.Model}
	}
	var todos todo.List
	if len(d.Todos) > 0 && json.Unmarshal(d.Todos, &todos) == nil {
		o.Result.Display = todos
	}
	p.player.Answer(r.Call)
	p.player.Observe(agent.Step{Event: tool.Event{Stage: tool.Done, Request: r, Outcome: &o}})
}

// maxAbout is the maximum length of an argument that is used as a description.
const maxAbout = 200

// FirstText returns the start of the first text among the arguments of a call.
func FirstText(args json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(args)))
	for depth, isKey := 0, true; ; {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		switch t := t.(type) {
		case json.Delim:
			if depth++; t == '}' || t == ']' {
				depth -= 2
			}
			isKey = true
			continue
		case string:
			if !isKey && depth == 1 {
				return t[:boundary(t, min(len(t), maxAbout))]
			}
		}
		isKey = !isKey
	}
}
