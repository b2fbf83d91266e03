package responses

import (
	"encoding/json"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// finish takes an item as a whole: what did not stream of it, and what goes back. An item that is done stays as it was.
func (a *answer) finish(p *part, raw json.RawMessage) error {
	if p.done {
		return nil
	}
	it, err := readItem(raw)
	if err != nil {
		return err
	}
	if it.Name == nil {
		it.Name = p.Name
	}
	if it.CallID == nil {
		it.CallID = p.CallID
	}
	p.item = it
	if err := a.flush(p); err != nil {
		return err
	}
	p.done = true
	switch it.Type {
	case typeMessage:
		return a.finishMessage(p)
	case typeReasoning:
		return a.finishReasoning(p, raw)
	case typeCall, typeCustom:
		return a.finishCall(p)
	}
	return nil // such as a search that the server ran itself
}

func (a *answer) finishMessage(p *part) error {
	if rest, ok := strings.CutPrefix(texts(p.Content, ""), p.said.String()); ok {
		if err := a.emitText(p, rest); err != nil {
			return err
		}
	}
	s, ok := a.sealPhase(p.Phase)
	if !ok || p.said.Len() == 0 {
		return nil
	}
	return a.emit(s)
}

func (a *answer) finishReasoning(p *part, raw json.RawMessage) error {
	if p.said.Len() == 0 {
		text := texts(p.Summary, between)
		if text == "" {
			text = texts(p.Content, between)
		}
		if err := a.emitThought(p, text); err != nil {
			return err
		}
	}
	if s, ok := a.sealReasoning(raw); ok {
		a.held, a.sealed = append(a.held, s), true
	}
	return nil
}

func (a *answer) finishCall(p *part) error {
	if args := p.arguments(); p.Type == typeCustom || len(args) > 0 {
		p.args = args
	}
	c, ok := p.call()
	if !ok {
		return model.Errorf(model.ErrWire, "the server sent a call without a name")
	}
	if p.Status == "incomplete" {
		a.partial = &c
		return nil
	}
	return a.emitCall(c)
}

// call is the item's call, if it is one and has a name.
func (p *part) call() (tool.Call, bool) {
	name := api.Scalar(p.Name)
	if p.Type != typeCall && p.Type != typeCustom || name == "" {
		return tool.Call{}, false
	}
	args := p.args
	if p.Type == typeCustom && !p.done {
		args = custom(args)
	}
	args = []byte(api.Clean(args))
	if strings.TrimSpace(string(args)) == "" {
		args = []byte("{}")
	}
	return tool.Call{ID: callID(p.item), Name: name, Args: args}, true
}

// flush hands out the end of a text that never became whole characters.
func (a *answer) flush(p *part) error {
	switch p.Type {
	case typeMessage:
		return a.emitText(p, p.joint.Rest())
	case typeReasoning:
		return a.emitThought(p, p.joint.Rest())
	}
	return nil
}

// emitText hands out text of a message.
func (a *answer) emitText(p *part, s string) error {
	if s == "" {
		return nil
	}
	first := p.said.Len() == 0
	p.said.WriteString(s)
	if first && a.spoken {
		s = between + s
	}
	a.spoken = true
	return a.emit(model.Text(s))
}

// addThought takes a piece of reasoning: of a summary, or of the whole where a server shows it.
func (a *answer) addThought(p *part, e streamEvent) error {
	at := [2]int{e.Summary, e.Content}
	if at != p.at {
		if err := a.flush(p); err != nil {
			return err
		}
		p.at = at
		if p.said.Len() > 0 {
			if err := a.emitThought(p, between); err != nil {
				return err
			}
		}
	}
	return a.emitThought(p, p.joint.Add(api.Unquote(e.Delta)))
}

// emitThought hands out a thought.
func (a *answer) emitThought(p *part, s string) error {
	if s == "" {
		return nil
	}
	p.said.WriteString(s)
	return a.emit(model.Thought(s))
}

func (a *answer) emitCall(c tool.Call) error {
	a.calls = append(a.calls, c)
	return a.emit(model.Call{Call: c})
}

// emit hands out what was held back, and an event.
func (a *answer) emit(e model.Event) error {
	if err := a.release(); err != nil {
		return err
	}
	return a.out.Emit(e)
}

// release hands out reasoning that was held back.
func (a *answer) release() error {
	for _, s := range a.held {
		if err := a.out.Emit(s); err != nil {
			return err
		}
	}
	a.held = nil
	return nil
}
