package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// replay sends the conversation of a recorded session, without entries that were rewound.
func (t *talk) replay(all journal.Sessions) error {
	log, err := all.Entries(t.id)
	if err != nil {
		return err
	}
	defer log.Close()
	r := &replayer{talk: t, tools: map[string]tool.Declaration{}, calls: map[string]*replayedCall{}}
	for _, e := range replayed(log, all.Store()) {
		if e.Data == nil || e.Type == journal.TypeResponses && len(r.waiting) == 0 {
			r.entry(e.Seq, e.Type, nil)
			continue
		}
		if data, _, err := journal.Recover(e, all.Store()); err == nil {
			r.entry(e.Seq, e.Type, data)
		}
	}
	r.flush(true)
	r.send()
	return nil
}

// replayed returns the entries of the first agent that a replay uses, without those that were rewound. If the rest
// can't be read, the session continues without it.
func replayed(log journal.Log, store journal.Blobs) []journal.Entry {
	var out []journal.Entry
	for e, err := range log.Read(1) {
		if err != nil {
			break
		}
		switch e.Type {
		case journal.TypeUndone:
			data, err := journal.Decode(e, store)
			if u, ok := data.(journal.Undone); err == nil && ok && u.To > 0 {
				after, _ := slices.BinarySearchFunc(out, u.To+1,
					func(e journal.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
				out = out[:after]
			}
			continue
		case journal.TypeCompacted: // its contents were sent before
			e.Data = nil
		case journal.TypeOpened, journal.TypeAsked, journal.TypeResponses, journal.TypeMessage,
			journal.TypeStarted, journal.TypeFinished,
			journal.TypeAnswer:
		default:
			continue
		}
		if e.By == "" {
			out = append(out, e)
		}
	}
	return out
}

// replayer turns entries into updates. Calls can end before the answer that has them, and in any order. They are sent
// after it, in its order, each with its result.
type replayer struct {
	talk    *talk
	tools   map[string]tool.Declaration
	calls   map[string]*replayedCall
	waiting []*replayedCall // calls of answers that weren't sent
	lines   []byte          // updates that weren't sent
}

// replayChunk is the number of bytes sent at a time.
const replayChunk = 32 << 10

func (r *replayer) put(u any) {
	r.lines = append(r.lines, r.talk.line(u)...)
	if len(r.lines) >= replayChunk {
		r.send()
	}
}

func (r *replayer) send() {
	r.talk.server.conn.write(r.lines)
	r.lines = r.lines[:0]
}

type replayedCall struct {
	made     tool.Call
	started  *journal.Started
	finished *journal.Finished
	response []tool.Part // what the model read
	kind     tool.Kind
}

func (r *replayer) entry(seq int64, kind journal.Type, data journal.Data) {
	if kind == journal.TypeCompacted {
		r.calls = map[string]*replayedCall{}
	}
	switch d := data.(type) {
	case journal.Opened:
		r.declare(d.Declarations)
	case journal.Asked:
		r.declare(d.Declared)
	case journal.Message:
		r.flush(true)
		if d.Kind == journal.Prompt {
			r.prompt(seq, d.Message)
		}
	case journal.Started:
		r.call(d.ID).started = &d
	case journal.Finished:
		r.call(d.ID).finished = &d
		r.flush(false)
	case journal.Answer:
		r.answer(seq, d.Message)
	case journal.Responses:
		for _, p := range d.Message.Parts {
			if p, ok := p.(model.Response); ok && r.calls[p.ID] != nil {
				r.calls[p.ID].response = p.Content
			}
		}
		r.flush(true)
	}
}

func (r *replayer) declare(tools []journal.Declaration) {
	for _, d := range tools {
		r.tools[d.Name] = d.Tool()
	}
}

func (r *replayer) call(id string) *replayedCall {
	if r.calls[id] == nil {
		r.calls[id] = &replayedCall{}
	}
	return r.calls[id]
}

// prompt sends a prompt of the user.
func (r *replayer) prompt(seq int64, m model.Message) {
	for _, p := range m.Parts {
		r.say("user_message_chunk", seq, p)
	}
}

// answer sends an answer of the model, and its calls.
func (r *replayer) answer(seq int64, m model.Message) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			r.say("agent_message_chunk", seq, p)
		case model.Thought:
			r.say("agent_thought_chunk", seq, p)
		case model.Call:
			c := r.call(p.Call.ID)
			c.made = p.Call
			r.waiting = append(r.waiting, c)
		}
	}
	r.flush(false)
}

// say sends a part of a message.
func (r *replayer) say(kind string, seq int64, part model.Part) {
	c := chunk{Kind: kind, ID: fmt.Sprintf("%s/entry/%d", r.talk.id, seq)}
	switch p := part.(type) {
	case model.Text:
		c.Content = textContent(string(p))
	case model.Thought:
		c.Content = textContent(string(p))
	case model.Media:
		if !strings.HasPrefix(p.MIMEType, "image/") {
			return
		}
		c.Content = content{Type: "image", MIMEType: p.MIMEType, Data: base64.StdEncoding.EncodeToString(p.Data)}
	default:
		return
	}
	r.put(c)
}

// flush sends the finished calls, up to the first unfinished one; with all, that one too.
func (r *replayer) flush(all bool) {
	for len(r.waiting) > 0 && (all || r.waiting[0].finished != nil) {
		c := r.waiting[0]
		r.waiting = r.waiting[1:]
		delete(r.calls, c.made.ID)
		u := r.describe(c)
		end := r.end(c)
		u.Status, u.Content, u.Output = end.Status, end.Content, end.Output
		r.talk.calls.add(u.ID)
		r.put(callUpdate{"tool_call", u})
		if c.finished != nil && c.finished.Todos != nil && c.finished.Outcome.Error == nil {
			r.put(planOf(c.todos()))
		}
	}
}

// describe returns a call as the journal has it. For one that didn't run, it has only what the model sent: the rest is
// prepared again.
func (r *replayer) describe(c *replayedCall) toolCall {
	request := tool.Request{Call: c.made, Declaration: r.tools[c.made.Name]}
	known, err := r.talk.session.Executor.Registry.Lookup(c.made.Name)
	switch {
	case c.started != nil:
		request.Access, request.Description = c.started.Access, c.started.About
		if d, ok := r.tools[c.started.Name]; ok {
			request.Declaration = d
		}
	case err == nil:
		request.Declaration = known.Declaration()
		request = r.talk.prepared(request)
		request.Confirm = nil // of the files as they are now
	}
	if c.finished != nil {
		if d, ok := c.finished.Outcome.Result.Display.(tool.FileDiff); ok {
			request.Confirm = d
		}
	}
	c.kind = request.Declaration.Kind
	return describe(request)
}

// todos returns the to-do list that a call wrote; nil: none, or one of another version.
func (c *replayedCall) todos() (list todo.List) {
	_ = json.Unmarshal(c.finished.Todos, &list)
	return list
}

// end returns the result of a call.
func (r *replayer) end(c *replayedCall) toolCall {
	if c.finished == nil { // it was denied, its arguments are invalid, or the session ended before it
		out := tool.Outcome{Status: tool.StatusError, Error: &tool.Failure{}, Result: tool.Result{Content: c.response}}
		return r.talk.ended(c.made.ID, out, c.kind, false)
	}
	o := c.finished.Outcome
	out := tool.Outcome{
		Status: o.Status, Result: o.Result, Changes: r.talk.session.Effects.ChangesOf(c.finished.Changes),
	}
	if o.Error != nil {
		out.Error = &tool.Failure{Type: o.Error.Type, Message: o.Error.Message, Model: o.Error.Model}
	} else if c.finished.Todos != nil {
		out.Result.Display = c.todos()
	}
	if read, ok := o.Result.Display.(tool.Opaque); ok {
		var d agent.TaskDisplay
		if json.Unmarshal(read.JSON, &d) == nil && d.Type == "task_execution" {
			out.Result.Display = d
		}
	}
	return r.talk.ended(c.made.ID, out, c.kind, true)
}
