package responsestest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// object is a JSON object whose keys keep their order, as the real server's do.
type object = scripted.Object

// field is a member of an object.
type field = scripted.Field

// reply converts the answer for the server.
func (a Answer) reply() modeltest.Reply {
	return modeltest.Reply{
		When: a.When, Expect: a.Expect, Absent: a.Absent, Status: a.Status, Header: a.Header,
		Pause: time.Duration(a.Faults.Pause), Chunk: a.Faults.Chunk, Cut: a.Faults.Cut, End: a.Faults.End,
		Body: a.body,
	}
}

// body returns a stream or one object, depending on the request.
func (a Answer) body(n int, request string) (kind string, frames []string) {
	const one, stream = "application/json", "text/event-stream; charset=utf-8"
	var r struct {
		Model  string
		Stream bool
	}
	_ = json.Unmarshal([]byte(request), &r) // it was checked before
	if a.Status != 0 || a.Raw != "" {
		return scripted.Raw(a.Raw, a.Status, one, stream)
	}
	p := &player{answer: a, n: n, model: r.Model}
	p.play()
	if r.Stream {
		return stream, scripted.Dress(p.events, a.Faults.CRLF, a.Faults.Comments)
	}
	return one, []string{scripted.JSON(p.response(a.outcome()))}
}

// player writes the events of one response.
type player struct {
	answer Answer
	n      int // counts requests
	model  string
	events []string
	output []object // the items that are done
}

// play writes the events of the answer.
func (p *player) play() {
	a := p.answer
	p.event("response.created", field{"response", p.response("in_progress")})
	p.event("response.in_progress", field{"response", p.response("in_progress")})
	if a.Thought != "" || a.Encrypted != "" {
		p.reasoning()
	}
	if a.Text != "" || a.Refusal != "" {
		p.message()
	}
	for _, c := range a.Calls {
		p.call(c)
	}
	p.event("response."+a.outcome(), field{"response", p.response(a.outcome())})
}

// event adds one event, with its number.
func (p *player) event(name string, fields ...field) {
	data := append(object{{"type", name}}, fields...)
	p.events = append(p.events, scripted.Event(name, append(data, field{"sequence_number", len(p.events)})))
}

// outcome returns the final status of the response.
func (a Answer) outcome() string {
	switch {
	case a.Error != "":
		return "failed"
	case a.Incomplete != "":
		return "incomplete"
	}
	return "completed"
}

// response returns the response at a point of the stream.
func (p *player) response(status string) object {
	var failure, incomplete, usage any
	output := []object{}
	if status != "in_progress" {
		output, usage = append(output, p.output...), p.answer.Usage.json()
	}
	switch status {
	case "failed":
		failure = object{{"code", p.answer.Error}, {"message", "The model failed: " + p.answer.Error + "."}}
	case "incomplete":
		incomplete = object{{"reason", p.answer.Incomplete}}
	}
	return object{
		{"id", fmt.Sprintf("resp_%d", p.n)}, {"object", "response"}, {"created_at", 1}, {"status", status},
		{"background", false},
		{"error", failure}, {"incomplete_details", incomplete}, {"instructions", nil}, {"model", p.model},
		{"output", output},
		{"parallel_tool_calls", true}, {"previous_response_id", nil}, {"store", false}, {"usage", usage},
		{"metadata", object{}},
	}
}

func (u Usage) json() object {
	return object{
		{"input_tokens", u.Input}, {"input_tokens_details", object{{"cached_tokens", u.Cached}}},
		{"output_tokens", u.Output}, {"output_tokens_details", object{{"reasoning_tokens", u.Reasoning}}},
		{"total_tokens", u.Input + u.Output},
	}
}

// id returns the id of the item that is written.
func (p *player) id(prefix string) string { return fmt.Sprintf("%s_%d_%d", prefix, p.n, len(p.output)) }

func (p *player) index() field { return field{"output_index", len(p.output)} }

func (p *player) added(item object) {
	p.event("response.output_item.added", field{"item", item}, p.index())
}

func (p *player) done(item object) {
	p.event("response.output_item.done", field{"item", item}, p.index())
	p.output = append(p.output, item)
}

// reasoning writes an item of reasoning.
func (p *player) reasoning() {
	id := p.id("rs")
	item := func(summary ...object) object {
		if summary == nil {
			summary = []object{}
		}
		return object{{"id", id}, {"type", "reasoning"}, {"encrypted_content", p.answer.Encrypted},
			{"summary", summary}}
	}
	part := func(text string) object { return object{{"type", "summary_text"}, {"text", text}} }
	p.added(item())
	if p.answer.Thought == "" {
		p.done(item())
		return
	}
	at := []field{{"item_id", id}, p.index(), {"summary_index", 0}}
	p.event("response.reasoning_summary_part.added", append(at, field{"part", part("")})...)
	for _, s := range scripted.Runes(p.answer.Thought, p.answer.Faults.Split) {
		p.event("response.reasoning_summary_text.delta", append(at, field{"delta", s})...)
	}
	p.event("response.reasoning_summary_text.done", append(at, field{"text", p.answer.Thought})...)
	p.event("response.reasoning_summary_part.done", append(at, field{"part", part(p.answer.Thought)})...)
	p.done(item(part(p.answer.Thought)))
}

// message writes a message: a text or a refusal.
func (p *player) message() {
	id := p.id("msg")
	item := func(status string, content ...object) object {
		if content == nil {
			content = []object{}
		}
		o := object{{"id", id}, {"type", "message"}, {"status", status}, {"content", content}}
		if p.answer.Phase != "" {
			o = append(o, field{"phase", p.answer.Phase})
		}
		return append(o, field{"role", "assistant"})
	}
	kind, key, text := "output_text", "text", p.answer.Text
	part := func(text string) object {
		return object{{"type", "output_text"}, {"annotations", []any{}}, {"logprobs", []any{}}, {"text", text}}
	}
	if text == "" {
		kind, key, text = "refusal", "refusal", p.answer.Refusal
		part = func(text string) object { return object{{"type", "refusal"}, {"refusal", text}} }
	}
	p.added(item("in_progress"))
	at := []field{{"content_index", 0}, {"item_id", id}, p.index()}
	p.event("response.content_part.added", append(at, field{"part", part("")})...)
	for _, s := range scripted.Runes(text, p.answer.Faults.Split) {
		p.event("response."+kind+".delta", append(at, field{"delta", s})...)
	}
	p.event("response."+kind+".done", append(at, field{key, text})...)
	p.event("response.content_part.done", append(at, field{"part", part(text)})...)
	p.done(item("completed", part(text)))
}

// call writes a call of a function or of a custom tool.
func (p *player) call(c Call) {
	kind, key, events, prefix := "function_call", "arguments", "response.function_call_arguments", "fc"
	if c.Custom {
		kind, key, events, prefix = "custom_tool_call", "input", "response.custom_tool_call_input", "ctc"
	}
	id, args := p.id(prefix), scripted.Arguments(c.Args)
	item := func(status, args string) object {
		o := object{{"id", id}, {"type", kind}, {"status", status}, {key, args}, {"call_id", c.ID}, {"name", c.Name}}
		if c.Namespace != "" {
			o = append(o, field{"namespace", c.Namespace})
		}
		return o
	}
	p.added(item("in_progress", ""))
	at := []field{{"item_id", id}, p.index()}
	for _, s := range scripted.Runes(args, p.answer.Faults.Split) {
		p.event(events+".delta", append(at, field{"delta", s})...)
	}
	p.event(events+".done", append(at, field{key, args})...)
	p.done(item("completed", args))
}
