package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// answer turns a server's response into events.
type answer struct {
	out      *api.Output
	name     string // of the model
	text     api.Joint
	think    api.Joint
	unsigned bool // the last event was a text that has no signature
	calls    []tool.Call
	reason   string
	message  string // explanation of the reason
	usage    usage
	counted  bool
}

var _ api.Decoder = (*answer)(nil)

// doneMark ends the streams of some gateways. Google's server sends none.
var doneMark = []byte("[DONE]")

// Event reads one event. If a server separates its events by one newline instead of two, data has several objects.
func (a *answer) Event(data []byte) (done bool, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		if bytes.HasPrefix(bytes.TrimSpace(data[d.InputOffset():]), doneMark) {
			return true, nil
		}
		var c chunk
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, model.Errorf(model.ErrWire, "the server sent an invalid chunk: %w: %s", err,
				api.Excerpt(data))
		}
		if err := a.add(c); err != nil {
			return false, err
		}
	}
}

// Body reads an answer that was sent as one JSON value: an object, or the list that the API sends without alt=sse.
func (a *answer) Body(data []byte) error {
	list := make([]chunk, 1)
	into := any(&list[0])
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		into = &list
	}
	if err := json.Unmarshal(data, into); err != nil {
		return model.Errorf(model.ErrWire, "the server's answer is not JSON: %w: %s", err, api.Excerpt(data))
	}
	empty := true
	for _, c := range list {
		if err := a.add(c); err != nil {
			return err
		}
		empty = empty && len(c.Candidates) == 0
	}
	if empty {
		return model.Errorf(model.ErrWire, "the server's answer has no candidates: %s", api.Excerpt(data))
	}
	return nil
}

// Complete reports whether a finishReason came: it is in the last event.
func (a *answer) Complete() bool { return a.reason != "" }

// Salvage has nothing to emit: text and calls were emitted as they came.
func (a *answer) Salvage() error { return nil }

func (a *answer) add(c chunk) error {
	if !api.IsNull(c.Error) {
		return api.StreamError(c.Error)
	}
	if c.Feedback.Reason != "" && len(c.Candidates) == 0 {
		return c.Feedback.blocked()
	}
	for _, cand := range c.Candidates {
		if cand.Index != 0 {
			continue // only one answer was requested
		}
		for _, raw := range cand.Content.Parts {
			if err := a.part(raw); err != nil {
				return err
			}
		}
		if cand.FinishReason != "" && cand.FinishReason != unspecified {
			a.reason, a.message = cand.FinishReason, cand.FinishMessage
		}
	}
	if !api.IsNull(c.Usage) && json.Unmarshal(c.Usage, &a.usage) == nil { // counts that a later event lacks are kept
		a.counted = true
	}
	return nil
}

// part emits one part.
func (a *answer) part(raw json.RawMessage) error {
	var p piece
	if err := json.Unmarshal(raw, &p); err != nil {
		return model.Errorf(model.ErrWire, "the server sent an invalid part: %w: %s", err, api.Excerpt(raw))
	}
	switch {
	case p.Call != nil:
		return a.call(p)
	case p.Thought:
		return a.thought(p, raw)
	case len(p.Text) > 0 && p.Text[0] == '"':
		return a.say(p, raw)
	case onlySigned(raw):
		return a.alone(json.RawMessage(`{"text":"","thoughtSignature":` + string(p.Signature) + `}`))
	}
	return a.alone(raw)
}

// onlySigned reports whether a part has a signature and nothing else: the server accepts it only together with a text.
func onlySigned(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && len(members) == 1 && signed(members["thoughtSignature"])
}

func (a *answer) say(p piece, raw json.RawMessage) error {
	if err := a.emitThought(a.think.Rest()); err != nil {
		return err
	}
	said := api.Unquote(p.Text)
	if !signed(p.Signature) {
		return a.emitText(a.text.Add(said))
	}
	if len(said) == 0 {
		return a.alone(raw)
	}
	if a.unsigned { // the text before it isn't signed
		if err := a.seal(seal{}); err != nil {
			return err
		}
	}
	if err := a.emitText(a.text.Add(said) + a.text.Rest()); err != nil {
		return err
	}
	return a.seal(seal{Signature: p.Signature})
}

// thought emits a thought for front ends. It is sent back only if it is signed.
func (a *answer) thought(p piece, raw json.RawMessage) error {
	if err := a.emitText(a.text.Rest()); err != nil {
		return err
	}
	if len(p.Text) > 0 && p.Text[0] == '"' {
		if err := a.emitThought(a.think.Add(api.Unquote(p.Text))); err != nil {
			return err
		}
	}
	if !signed(p.Signature) {
		return nil
	}
	return a.alone(raw)
}

// call emits a call, with its ID and signature, which are sent back. The API sends a call in one piece. A repeated call
// is the same call.
func (a *answer) call(p piece) error {
	if err := a.flush(); err != nil {
		return err
	}
	if p.Call.Continue || !api.IsNull(p.Call.Partial) {
		return model.Errorf(model.ErrWire, "the server sent the call %s in pieces\nDon't set "+
			"streamFunctionCallArguments.", p.Call.Name)
	}
	c := tool.Call{ID: p.Call.ID, Name: p.Call.Name, Args: bytes.Clone(p.Call.Args)}
	if api.IsNull(c.Args) {
		c.Args = json.RawMessage("{}")
	}
	again := func(d tool.Call) bool { return d.ID == c.ID && d.Name == c.Name && bytes.Equal(d.Args, c.Args) }
	if c.ID != "" && slices.ContainsFunc(a.calls, again) {
		return nil
	}
	a.calls = append(a.calls, c)
	if err := a.out.Emit(model.Call{Call: c}); err != nil {
		return err
	}
	s := seal{ID: c.ID}
	if signed(p.Signature) {
		s.Signature = p.Signature
	}
	if s.ID == "" && s.Signature == nil && len(a.calls) > 1 {
		return nil
	}
	return a.seal(s)
}

// alone keeps a part without its own event, to send it back unchanged.
func (a *answer) alone(raw json.RawMessage) error {
	if err := a.flush(); err != nil {
		return err
	}
	return a.seal(seal{Part: raw})
}

func (a *answer) seal(s seal) error {
	data, err := s.sealed(a.name)
	if err != nil {
		return model.Errorf(model.ErrWire, "keep what the server wants back: %w", err)
	}
	a.unsigned = false
	return a.out.Emit(data)
}

// flush emits an incomplete character at the end.
func (a *answer) flush() error {
	if err := a.emitThought(a.think.Rest()); err != nil {
		return err
	}
	return a.emitText(a.text.Rest())
}

func (a *answer) emitText(s string) error {
	if s == "" {
		return nil
	}
	a.unsigned = true
	return a.out.Emit(model.Text(s))
}

func (a *answer) emitThought(s string) error {
	if s == "" {
		return nil
	}
	a.unsigned = false
	return a.out.Emit(model.Thought(s))
}

// Finish emits the held events, then usage and end. An answer that the server couldn't parse is an error.
func (a *answer) Finish() error {
	if err := a.flush(); err != nil {
		return err
	}
	if invalid(a.reason) {
		return model.Errorf(model.ErrServer, "the model wrote an invalid call or answer: %s",
			withMessage(a.reason, a.message))
	}
	if a.counted {
		if err := a.out.Emit(a.usage.event()); err != nil {
			return err
		}
	}
	return a.out.Emit(model.End{Reason: endReason(a.reason, len(a.calls) > 0)})
}
