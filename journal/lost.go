package journal

import (
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// lostMessage replaces a message that is missing in the store.
const lostMessage = "[A message is missing here: Adze's store no longer has it]"

// lostRole is the role of an answer or responses that are missing in the store: the state knows their calls.
const lostRole model.Role = "lost"

// recovered returns data with missing parts in a form that a session can continue with.
func recovered(data Data, lost Lost) Data {
	if lost.Contents == 0 {
		return data
	}
	switch d := data.(type) {
	case Opened: // requests can't begin as before
		d.System, d.Listing, d.Declarations = "", "", nil
		return d
	case Message:
		if d.Message.Role == "" {
			d.Message = model.Prompt(lostMessage)
		}
		return d
	case Answer:
		if d.Message.Role == "" {
			d.Message = model.Message{Role: lostRole, Parts: []model.Part{model.Text(lostMessage)}}
		}
		return d
	case Responses:
		if d.Message.Role == "" {
			d.Message.Role = lostRole
		}
		return d
	case Compacted:
		if d.Messages == nil {
			d.Messages = []model.Message{model.Prompt(lostMessage)}
		}
		return d
	}
	return data
}

// lostAnswer replaces an answer that is missing in the store. Its calls are known: each has its own entry.
func (a *Agent) lostAnswer() model.Message {
	m := model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(lostMessage)}}
	for _, c := range a.Calls {
		if !c.Answered {
			m.Parts = append(m.Parts, c.Call)
		}
	}
	return m
}

// lostResponses replaces responses that are missing in the store.
func (a *Agent) lostResponses() model.Message {
	m := model.Message{Role: model.Tool}
	for _, c := range a.Calls {
		if c.Answered {
			m.Parts = append(m.Parts, model.Response{
				ID: c.Call.ID, Name: c.Call.Name, Content: []tool.Part{tool.Text(lostMessage)},
			})
		}
	}
	return m
}
