package responses

import (
	"encoding/json"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// finish completes an item: it emits the rest, and seals the data to send back. It does nothing for an item that is
// done.
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
	return nil // such as a search that the server ran
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

// call returns the item's call, if it is one and has a name.
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

// flush emits an incomplete character at the end of a text.
func (a *answer) flush(p *part) error {
	switch p.Type {
	case typeMessage:
		return a.emitText(p, p.joint.Rest())
	case typeReasoning:
		return a.emitThought(p, p.joint.Rest())
	}
	return nil
}

// emitText emits text of a message.
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

// addThought adds a piece of reasoning: of a summary, or of the full text if a server shows it.
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

// emitThought emits a thought.
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

// emit emits held reasoning, and an event.
func (a *answer) emit(e model.Event) error {
	if err := a.release(); err != nil {
		return err
	}
	return a.out.Emit(e)
}

// release emits held reasoning.
func (a *answer) release() error {
	for _, s := range a.held {
		if err := a.out.Emit(s); err != nil {
			return err
		}
	}
	a.held = nil
	return nil
}

// Sealed data has one of two forms. Reasoning is the item to send back. A message's phase, which newer models require,
// is {"type":"message","phase":…}; it belongs to the text before it.

func sealedType(s model.Sealed) string {
	var v struct{ Type string }
	_ = json.Unmarshal(s.JSON, &v) // only this package makes it
	return v.Type
}

func sealedPhase(s model.Sealed) string {
	var v struct{ Phase string }
	_ = json.Unmarshal(s.JSON, &v)
	return v.Phase
}

// sealPhase seals the phase of a message; false if it has none.
func (a *answer) sealPhase(phase string) (model.Sealed, bool) {
	raw, err := api.Marshal(struct {
		Type  string `json:"type"`
		Phase string `json:"phase"`
	}{typeMessage, phase})
	return model.Sealed{API: Name, Model: a.name, JSON: raw}, err == nil && phase != ""
}

// sealReasoning seals an item of reasoning; false if it has nothing that the server could use. The item's ID is
// omitted, because the server would look for it among stored items; so are its status and all nulls, which the server
// rejects. Other members are kept byte for byte.
func (a *answer) sealReasoning(raw json.RawMessage) (model.Sealed, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return model.Sealed{}, false
	}
	delete(members, "id")
	delete(members, "status")
	for name, value := range members {
		if api.IsNull(value) {
			delete(members, name)
		}
	}
	if empty(members["encrypted_content"]) && empty(members["content"]) {
		return model.Sealed{}, false
	}
	if _, ok := members["summary"]; !ok {
		members["summary"] = json.RawMessage("[]") // the server requires it
	}
	out, err := api.Marshal(members)
	return model.Sealed{API: Name, Model: a.name, JSON: out}, err == nil
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]":
		return true
	}
	return false
}
