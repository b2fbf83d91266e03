package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/adze-dev/adze/model"
)

// errStopped says that whoever ranges over the events wants no more.
var errStopped = errors.New("the caller stopped reading the answer")

// answer turns what a server sends into events.
type answer struct {
	yield  func(model.Event, error) bool
	server string // address, for thoughts
	text   joint
	think  joint
	field  string // where the thoughts came
	tags   thinkTags
	calls  calls
	reason string
	usage  json.RawMessage
	spoken bool // an event was handed out: from here on nothing may be asked for again
}

// read reads a whole answer of either form and ends with an End event or an error.
func (a *answer) read(body io.Reader, streamed bool) error {
	finish := a.readStream
	if !streamed {
		finish = a.readPlain
	}
	complete, err := finish(body)
	if err == nil && !complete && a.reason == "" {
		err = model.Errorf(model.ErrCut, "answer cut off: the stream ended without finish_reason or [DONE]%s", a.said())
	}
	if err != nil {
		return a.salvage(err)
	}
	return a.finish()
}

// salvage hands out the calls that were complete when the answer broke off, in order up to the first incomplete one.
func (a *answer) salvage(err error) error {
	if !model.CutShort(err) {
		return err
	}
	complete := a.calls.complete()
	if a.spoken || len(complete) > 0 {
		if stopped := a.emitText(a.tags.rest()); stopped != nil {
			return stopped
		}
	}
	if stopped := a.emitCalls(complete); stopped != nil {
		return stopped
	}
	return err
}

// readStream reads server-sent events and reports whether [DONE] was among them.
func (a *answer) readStream(body io.Reader) (complete bool, err error) {
	events := newSSEReader(body)
	for !complete {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if errors.Is(err, errEventTooLong) {
			return false, model.Errorf(model.ErrWire, "can't read the server's answer: %w", err)
		}
		if err != nil {
			if a.reason != "" {
				return false, nil // all was said; at most the usage is lost
			}
			return false, a.broken(err)
		}
		if complete, err = decodeChunks(data, a.add); err != nil {
			if events.end != nil && errors.Is(err, model.ErrWire) {
				return false, model.Errorf(model.ErrCut, "answer cut off in the middle of a chunk%s", a.said())
			}
			return false, err
		}
	}
	return true, nil
}

// readPlain reads an answer that came in one piece although a stream was asked for.
func (a *answer) readPlain(body io.Reader) (complete bool, err error) {
	data, err := io.ReadAll(io.LimitReader(body, maxEvent+1))
	if err != nil {
		return false, a.broken(err)
	}
	if len(data) > maxEvent {
		return false, model.Errorf(model.ErrWire, "can't read the server's answer: %w", errEventTooLong)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, model.Errorf(model.ErrWire, "the server's answer is not JSON: %w: %s", err, excerpt(data))
	}
	if len(c.Choices) == 0 && isNull(c.Error) {
		return false, model.Errorf(model.ErrWire, "the server's answer has no choices: %s", excerpt(data))
	}
	return true, a.add(c)
}

// broken is the error for a body that could not be read to its end. Silence and cancellation are told as such.
func (a *answer) broken(err error) error {
	var known *model.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return model.Errorf(model.ErrCut, "answer cut off%s: %w", a.said(), err)
}

// said tells how much was handed out before a failure, so that nobody takes it for the whole.
func (a *answer) said() string {
	if a.spoken {
		return " after part of it arrived"
	}
	return ""
}

func (a *answer) add(c chunk) error {
	if !isNull(c.Error) {
		return streamError(c.Error)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one answer was asked for
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
	if !isNull(c.Usage) {
		a.usage = bytes.Clone(c.Usage)
	}
	return nil
}

func (a *answer) say(w *words) error {
	thought, field := text(w.ReasoningContent), fieldReasoningContent
	if len(thought) == 0 {
		thought, field = text(w.Reasoning), fieldReasoning
	}
	if len(thought) > 0 && a.field == "" {
		a.field = field
	}
	if err := a.emitThought(a.think.add(thought)); err != nil {
		return err
	}
	if s := a.text.add(append(text(w.Content), text(w.Refusal)...)); s != "" {
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

// finish hands out what was held back, then usage and end.
func (a *answer) finish() error {
	if err := a.emitThought(a.think.rest()); err != nil {
		return err
	}
	if err := a.emitText(a.tags.add(a.text.rest())); err != nil {
		return err
	}
	if err := a.emitText(a.tags.rest()); err != nil {
		return err
	}
	if err := a.emitCalls(a.calls.rest()); err != nil {
		return err
	}
	var u usage
	if json.Unmarshal(a.usage, &u) == nil { // a count that is not understood is no reason to lose the answer
		if err := a.emit(u.event()); err != nil {
			return err
		}
	}
	return a.emit(model.End{Reason: a.endReason()})
}

// endReason is the server's, except that some servers say "stop" after calls, or nothing at all.
func (a *answer) endReason() model.Reason {
	r := reason(a.reason)
	if r == "" {
		r = model.Stop
	}
	if r == model.Stop && len(a.calls.list) > 0 {
		r = model.Calls
	}
	if r == model.Calls && len(a.calls.list) == 0 {
		r = model.Stop
	}
	return r
}

// emitThought hands out a thought that the server takes back.
func (a *answer) emitThought(s string) error {
	if s == "" {
		return nil
	}
	return a.emit(model.Thought{Text: s, Server: a.server, Field: a.field})
}

// emitText hands out content: a thought from between tags, which no server takes back, and text.
func (a *answer) emitText(thought, text string) error {
	if thought != "" {
		if err := a.emit(model.Thought{Text: thought}); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	return a.emit(model.Text(text))
}

func (a *answer) emitCalls(cs []model.Call) error {
	for _, c := range cs {
		if err := a.emit(c); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) emit(e model.Event) error {
	a.spoken = true
	if !a.yield(e, nil) {
		return errStopped
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
