package anthropictest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// object is a JSON object whose keys keep their order, as the real server's do.
type object = scripted.Object

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
	m := message{id: fmt.Sprintf("msg_%d", n), model: r.Model}
	if r.Stream {
		return stream, scripted.Dress(a.events(m), a.Faults.CRLF, a.Faults.Comments)
	}
	return one, []string{scripted.JSON(m.json(a.content(), a.stop(), a.Usage.json(a.Usage.Output)))}
}

// message is the metadata of a message.
type message struct{ id, model string }

func (m message) json(content []any, stop any, usage object) object {
	return object{
		{"model", m.model}, {"id", m.id}, {"type", "message"}, {"role", "assistant"}, {"content", content},
		{"stop_reason", stop}, {"stop_sequence", nil}, {"stop_details", nil}, {"usage", usage},
	}
}

func (u Usage) json(output int) object {
	return object{
		{"input_tokens", u.Input}, {"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead},
		{"output_tokens", output},
	}
}

func (a Answer) stop() string {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// content returns the blocks of a message that is not streamed.
func (a Answer) content() []any {
	out := []any{}
	for _, b := range a.blocks() {
		out = append(out, b.whole)
	}
	return out
}

// block is one block of a message: whole, and as the events of a stream.
type block struct {
	whole, start object
	deltas       []object
}

// blocks returns those of the answer, in order.
func (a Answer) blocks() []block {
	var out []block
	pieces := func(text, kind, key string) (deltas []object) {
		for _, p := range scripted.Runes(text, a.Faults.Split) {
			deltas = append(deltas, object{{"type", kind}, {key, p}})
		}
		return deltas
	}
	if a.Thought != "" || a.Signature != "" {
		out = append(out, block{
			whole: object{{"type", "thinking"}, {"thinking", a.Thought}, {"signature", a.Signature}},
			start: object{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}},
			deltas: append(pieces(a.Thought, "thinking_delta", "thinking"),
				object{{"type", "signature_delta"}, {"signature", a.Signature}}),
		})
	}
	if a.Redacted != "" {
		b := object{{"type", "redacted_thinking"}, {"data", a.Redacted}}
		out = append(out, block{whole: b, start: b})
	}
	if a.Text != "" {
		out = append(out, block{
			whole:  object{{"type", "text"}, {"text", a.Text}},
			start:  object{{"type", "text"}, {"text", ""}},
			deltas: pieces(a.Text, "text_delta", "text"),
		})
	}
	for _, c := range a.Calls {
		args := scripted.Arguments(c.Args)
		use := func(input any) object {
			return object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Name}, {"input", input},
				{"caller", object{{"type", "direct"}}}}
		}
		none := json.RawMessage(`{}`)
		whole := none
		if json.Valid([]byte(args)) {
			whole = json.RawMessage(args)
		}
		// The first delta of arguments is empty.
		deltas := append([]object{{{"type", "input_json_delta"}, {"partial_json", ""}}},
			pieces(args, "input_json_delta", "partial_json")...)
		out = append(out, block{use(whole), use(none), deltas})
	}
	return out
}

// events returns the events of the answer's stream, each with its blank line.
func (a Answer) events(m message) []string {
	var out []string
	event := func(name string, more ...scripted.Field) {
		out = append(out, scripted.Event(name, append(object{{"type", name}}, more...)))
	}
	event("message_start", scripted.Field{"message", m.json([]any{}, nil, a.Usage.json(1))})
	for i, b := range a.blocks() {
		index := scripted.Field{"index", i}
		event("content_block_start", index, scripted.Field{"content_block", b.start})
		if i == 0 {
			event("ping")
		}
		for _, d := range b.deltas {
			event("content_block_delta", index, scripted.Field{"delta", d})
		}
		event("content_block_stop", index)
	}
	if a.Error != "" {
		words := strings.ReplaceAll(strings.TrimSuffix(a.Error, "_error"), "_", " ")
		return append(out, scripted.Event("error", failure(a.Error, strings.ToUpper(words[:1])+words[1:])))
	}
	event("message_delta", scripted.Field{"delta", object{{"stop_reason", a.stop()}, {"stop_sequence", nil},
		{"stop_details", nil}}},
		scripted.Field{"usage", a.Usage.json(a.Usage.Output)})
	event("message_stop")
	return out
}
