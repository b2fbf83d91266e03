package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// answer turns a server's response into events.
type answer struct {
	out   *api.Output
	name  string // of the model
	open  map[int]*part
	order []*part // the open ones
	// may be the truncated end of the answer: arguments that aren't JSON, or thinking without a signature
	held   model.Event
	calls  int
	begun  bool    // message_start came
	spoken bool    // text was emitted
	ended  bool    // a stop_reason came, or the last event
	why    stopped // of the end
	usage  usage
}

var _ api.Decoder = (*answer)(nil)

func newAnswer(out *api.Output, name string) *answer {
	return &answer{out: out, name: name, open: map[int]*part{}}
}

// part is a block that has begun.
type part struct {
	received
	raw       json.RawMessage // as it began
	text      api.Joint
	thought   bytes.Buffer // to send back
	signature bytes.Buffer
	arguments bytes.Buffer
}

// Event reads one event. Unknown events are skipped, and so are pings.
func (a *answer) Event(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" { // some other servers send it
		return a.ended, nil
	}
	var e streamEvent
	if err = json.Unmarshal(data, &e); err == nil {
		done, err = a.take(e, data)
	}
	return done, unread(err, data)
}

// unread quotes the data in an error about its format. Other errors are returned unchanged.
func unread(err error, data []byte) error {
	var known *model.Error
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &known) || !errors.As(err, &syntax) && !errors.As(err, &mismatch) {
		return err
	}
	return model.Errorf(model.ErrWire, "can't read an event of the server's answer: %w: %s", err, api.Excerpt(data))
}

// take processes an event by its type.
func (a *answer) take(e streamEvent, data []byte) (done bool, err error) {
	switch e.Type {
	case "message_start":
		if a.begun { // a proxy sends the answer to another attempt in the same stream
			return false, model.Errorf(model.ErrCut, "answer cut off: the server began another answer in the "+
				"same stream")
		}
		a.begun = true
		var m wholeMessage
		if json.Unmarshal(e.Message, &m) == nil { // only its usage is used
			a.usage.update(m.Usage)
		}
	case "content_block_start", "content_block_delta", "content_block_stop":
		return false, a.block(e)
	case "message_delta":
		d, err := e.piece()
		if err != nil {
			return false, err
		}
		a.end(d.stopped, e.Usage)
	case "message_stop":
		a.ended = true
		return true, nil
	case "error":
		return false, api.StreamError(e.Error)
	case "":
		if api.IsNull(e.Error) {
			return false, api.StreamError(data)
		}
		return false, api.StreamError(e.Error)
	}
	return false, nil
}

// block processes an event about a block.
func (a *answer) block(e streamEvent) error {
	index, err := e.index()
	if err != nil {
		return err
	}
	switch e.Type {
	case "content_block_start":
		return a.begin(index, e.Block)
	case "content_block_stop":
		return a.stop(index)
	}
	d, err := e.piece()
	if err != nil {
		return err
	}
	return a.add(index, d)
}

// Body reads an answer that was sent as one JSON value.
func (a *answer) Body(data []byte) error {
	var m wholeMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return model.Errorf(model.ErrWire, "the server's answer is not JSON: %w: %s", err, api.Excerpt(data))
	}
	if !api.IsNull(m.Error) {
		return api.StreamError(m.Error)
	}
	if m.Content == nil {
		return model.Errorf(model.ErrWire, "the server's answer has no content: %s", api.Excerpt(data))
	}
	for i, raw := range m.Content {
		if err := a.begin(i, raw); err != nil {
			return unread(err, raw)
		}
		if err := a.stop(i); err != nil {
			return err
		}
	}
	a.end(m.stopped, m.Usage)
	a.ended = true
	return nil
}

// end processes the stop reason and the usage.
func (a *answer) end(why stopped, u json.RawMessage) {
	if why.Reason != "" {
		a.why, a.ended = why, true
	}
	a.usage.update(u)
}

// begin opens a block.
func (a *answer) begin(index int, raw json.RawMessage) error {
	if err := a.release(); err != nil {
		return err
	}
	if a.open[index] != nil { // the last one wasn't closed
		if err := a.stop(index); err != nil {
			return err
		}
	}
	p := &part{raw: bytes.Clone(raw)}
	if err := p.read(); err != nil {
		return err
	}
	a.open[index] = p
	a.order = append(a.order, p)
	switch p.Type {
	case "text":
		return a.say(p, p.Text)
	case "thinking":
		return a.think(p, p.Thinking)
	}
	return nil
}

// read reads a block as it began. Blocks of unknown types are not decoded.
func (p *part) read() error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(p.raw, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "text", "thinking", "redacted_thinking", "tool_use":
		return json.Unmarshal(p.raw, &p.received)
	}
	return nil
}

// add adds a piece to a block. Pieces of unknown blocks, and unknown pieces, are skipped.
func (a *answer) add(index int, d delta) error {
	p := a.open[index]
	if p == nil {
		kind := map[string]string{
			"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		}[d.Type]
		if d.Type == "input_json_delta" {
			return model.Errorf(model.ErrWire, "the server sent arguments of a call that it didn't begin: %s",
				api.Excerpt(d.Arguments))
		}
		if kind == "" {
			return nil
		}
		if err := a.begin(index, json.RawMessage(`{"type":"`+kind+`"}`)); err != nil {
			return err
		}
		p = a.open[index]
	}
	switch {
	case d.Type == "text_delta" && p.Type == "text":
		return a.say(p, d.Text)
	case d.Type == "thinking_delta" && p.Type == "thinking":
		return a.think(p, d.Thinking)
	case d.Type == "signature_delta":
		p.signature.Write(api.Unquote(d.Signature))
	case d.Type == "input_json_delta":
		p.arguments.Write(api.Unquote(d.Arguments))
	}
	return nil
}

// say emits text.
func (a *answer) say(p *part, quoted json.RawMessage) error {
	return a.emitText(p.text.Add(api.Unquote(quoted)))
}

func (a *answer) emitText(s string) error {
	if s == "" {
		return nil
	}
	a.spoken = true
	return a.out.Emit(model.Text(s))
}

// think emits thinking for front ends, and keeps it to send it back.
func (a *answer) think(p *part, quoted json.RawMessage) error {
	piece := api.Unquote(quoted)
	p.thought.Write(piece)
	return a.emitThought(p.text.Add(piece))
}

func (a *answer) emitThought(s string) error {
	if s == "" {
		return nil
	}
	return a.out.Emit(model.Thought(s))
}

// stop closes a block and emits it if it is complete.
func (a *answer) stop(index int) error {
	p := a.open[index]
	if p == nil {
		return nil
	}
	delete(a.open, index)
	for i, o := range a.order {
		if o == p {
			a.order = append(a.order[:i], a.order[i+1:]...)
			break
		}
	}
	return a.close(p)
}

func (a *answer) close(p *part) error {
	switch p.Type {
	case "text":
		return a.emitText(p.text.Rest())
	case "thinking":
		if err := a.emitThought(p.text.Rest()); err != nil {
			return err
		}
		if p.signature.Len() == 0 && len(api.Unquote(p.Signature)) == 0 {
			a.held = a.sealed(p.whole())
			return nil
		}
		return a.out.Emit(a.sealed(p.whole()))
	case "redacted_thinking":
		return a.out.Emit(a.sealed(p.raw))
	case "tool_use":
		return a.call(p)
	}
	return nil
}

// whole returns a block of thinking to send back: as the server began it, with the pieces sent since.
func (p *part) whole() json.RawMessage {
	if p.signature.Len() == 0 && p.thought.Len() == len(api.Unquote(p.Thinking)) && !api.IsNull(p.Thinking) &&
		!api.IsNull(p.Signature) {
		return p.raw // it was sent as one JSON value
	}
	signature := api.Unquote(p.Signature)
	if p.signature.Len() > 0 {
		signature = p.signature.Bytes()
	}
	members := map[string]json.RawMessage{}
	for name, text := range map[string][]byte{"thinking": p.thought.Bytes(), "signature": signature} {
		quoted, err := api.Marshal(api.Clean(text))
		if err != nil {
			return p.raw // can't happen for a string
		}
		members[name] = quoted
	}
	out, err := api.Merge(p.raw, members)
	if err != nil {
		return p.raw // it was read as an object
	}
	return out
}

func (a *answer) sealed(raw json.RawMessage) model.Sealed {
	return model.Sealed{API: Name, Model: a.name, JSON: raw}
}

// call emits a call, or holds it if its arguments aren't JSON.
func (a *answer) call(p *part) error {
	args := json.RawMessage(api.Clean(p.arguments.Bytes()))
	if len(args) == 0 && !api.IsNull(p.Input) {
		args = p.Input
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	c := model.Call{Call: tool.Call{ID: api.Scalar(p.ID), Name: p.Name, Args: args}}
	a.calls++
	if !json.Valid(args) {
		a.held = c
		return nil
	}
	return a.out.Emit(c)
}

// release emits the held event: more follows, or the answer is complete.
func (a *answer) release() error {
	e := a.held
	if e == nil {
		return nil
	}
	a.held = nil
	return a.out.Emit(e)
}

// Complete reports whether a stop_reason came.
func (a *answer) Complete() bool { return a.ended }

// Finish emits blocks that the server didn't close, then usage and end. A refusal instead of an answer is an error.
func (a *answer) Finish() error {
	for _, p := range a.order {
		if err := a.release(); err != nil {
			return err
		}
		if err := a.close(p); err != nil {
			return err
		}
	}
	if _, ok := a.held.(model.Sealed); ok && reason(a.why.Reason) == model.Length {
		a.held = nil // the server would reject it
	}
	if err := a.release(); err != nil {
		return err
	}
	if a.usage != (usage{}) {
		if err := a.out.Emit(a.usage.event()); err != nil {
			return err
		}
	}
	if a.endReason() == model.Filter && !a.spoken && a.calls == 0 {
		return a.why.refusal()
	}
	return a.out.Emit(model.End{Reason: a.endReason()})
}

// endReason returns the server's reason, except that other servers may say "end_turn" after calls.
func (a *answer) endReason() model.Reason {
	r := reason(a.why.Reason)
	switch {
	case r == model.Stop && a.calls > 0:
		return model.Calls
	case r == model.Calls && a.calls == 0:
		return model.Stop
	}
	return r
}

// Salvage emits the rest of the text. Complete calls were emitted before. An open or held call is incomplete, and
// thinking without its signature can't be sent back.
func (a *answer) Salvage() error {
	for _, p := range a.order {
		if p.Type == "text" && a.out.Begun() {
			if err := a.emitText(p.text.Rest()); err != nil {
				return err
			}
		}
	}
	return nil
}
