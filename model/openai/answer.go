package openai

import (
	"bytes"
	"encoding/json"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// answer turns a server's response into events.
type answer struct {
	out     *api.Output
	name    string // of the model
	text    api.Joint
	think   api.Joint
	thought sealed // to send back
	tags    thinkTags
	written written // finds calls in the text
	found   int     // number of calls found
	calls   calls
	reason  string
	usage   json.RawMessage
}

var _ api.Decoder = (*answer)(nil)

// Event reads one event and reports whether it was [DONE].
func (a *answer) Event(data []byte) (done bool, err error) { return decodeChunks(data, a.add) }

// Body reads an answer that was sent as one JSON value.
func (a *answer) Body(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return model.Errorf(model.ErrWire, "the server's answer is not JSON: %w: %s", err, api.Excerpt(data))
	}
	if len(c.Choices) == 0 && api.IsNull(c.Error) {
		return model.Errorf(model.ErrWire, "the server's answer has no choices: %s", api.Excerpt(data))
	}
	return a.add(c)
}

// Complete reports whether a finish_reason came: many servers send no [DONE].
func (a *answer) Complete() bool { return a.reason != "" }

// Salvage emits the calls that were complete when the answer was cut off, in order up to the first incomplete one.
func (a *answer) Salvage() error {
	complete := a.calls.complete()
	if a.out.Begun() || len(complete) > 0 {
		if err := a.emitText(a.tags.rest()); err != nil {
			return err
		}
		if _, text := a.written.rest(false); text != "" {
			if err := a.emitPlain(text); err != nil {
				return err
			}
		}
	}
	if err := a.emitCalls(complete); err != nil || !a.out.Begun() {
		return err
	}
	return a.emitSealed()
}

func (a *answer) add(c chunk) error {
	if !api.IsNull(c.Error) {
		return api.StreamError(c.Error)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one answer was requested
		}
		for _, w := range []*words{ch.Delta, ch.Message} {
			if w == nil {
				continue
			}
			if err := a.say(w); err != nil {
				return err
			}
		}
		if ch.FinishReason != "" {
			a.reason = ch.FinishReason
		}
	}
	if !api.IsNull(c.Usage) {
		a.usage = bytes.Clone(c.Usage)
	}
	return nil
}

func (a *answer) say(w *words) error {
	a.thought.addDetails(w.ReasoningDetails)
	field, raw := fieldReasoningContent, w.ReasoningContent
	if len(text(raw)) == 0 && len(text(w.Reasoning)) > 0 {
		field, raw = fieldReasoning, w.Reasoning
	}
	if !api.IsNull(raw) && a.thought.Field == "" {
		a.thought.Field = field
	}
	if err := a.emitThought(a.think.Add(text(raw))); err != nil {
		return err
	}
	if s := a.text.Add(append(text(w.Content), text(w.Refusal)...)); s != "" {
		if err := a.emitText(a.tags.add(s)); err != nil {
			return err
		}
	}
	for _, d := range w.ToolCalls {
		if err := a.calls.add(d); err != nil {
			return err
		}
	}
	return a.emitCalls(a.calls.ready())
}

// Finish emits held text and calls, then usage and end.
func (a *answer) Finish() error {
	if err := a.emitThought(a.think.Rest()); err != nil {
		return err
	}
	if err := a.emitText(a.tags.add(a.text.Rest())); err != nil {
		return err
	}
	if err := a.emitText(a.tags.rest()); err != nil {
		return err
	}
	found, text := a.written.rest(len(a.calls.list) == 0 && reason(a.reason) != model.Length)
	if err := a.emitPlain(text); err != nil {
		return err
	}
	a.found = len(found)
	if err := a.emitCalls(append(a.calls.rest(), found...)); err != nil {
		return err
	}
	if err := a.emitSealed(); err != nil {
		return err
	}
	var u usage
	if json.Unmarshal(a.usage, &u) == nil { // ignore invalid counts
		if err := a.out.Emit(u.event()); err != nil {
			return err
		}
	}
	return a.out.Emit(model.End{Reason: a.endReason()})
}

// endReason returns the server's reason, except that some servers say "stop" after calls, or nothing.
func (a *answer) endReason() model.Reason {
	r := reason(a.reason)
	if r == "" {
		r = model.Stop
	}
	calls := len(a.calls.list) + a.found
	if r == model.Stop && calls > 0 {
		r = model.Calls
	}
	if r == model.Calls && calls == 0 {
		r = model.Stop
	}
	return r
}

// emitThought emits a thought that is sent back.
func (a *answer) emitThought(s string) error {
	if s == "" {
		return nil
	}
	if a.thought.Field != fieldReasoningDetails {
		a.thought.Text += s
	}
	return a.out.Emit(model.Thought(s))
}

// emitSealed emits the data to send back, once.
func (a *answer) emitSealed() error {
	p, ok := a.thought.part(a.name)
	if !ok || len(a.calls.list) == 0 && a.thought.Text == "" && a.thought.Details == nil {
		return nil
	}
	return a.out.Emit(p)
}

// emitText emits content: a thought in tags, which is never sent back, and text.
func (a *answer) emitText(thought, text string) error {
	if thought != "" {
		if err := a.out.Emit(model.Thought(thought)); err != nil {
			return err
		}
	}
	return a.emitPlain(a.written.add(text))
}

func (a *answer) emitPlain(text string) error {
	if text == "" {
		return nil
	}
	return a.out.Emit(model.Text(text))
}

func (a *answer) emitCalls(cs []model.Call) error {
	for _, c := range cs {
		if err := a.out.Emit(c); err != nil {
			return err
		}
	}
	return nil
}
