package journal

import (
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// lostMessage replaces a message that the store no longer has.
const lostMessage = "[A message is missing here: Adze's store no longer has it]"

// lostRole is the role of an answer, or of responses, that the store no longer has: the state knows what they were about.
const lostRole model.Role = "lost"

// recovered is data of which something is lost, in a form that a session can continue with.
func recovered(data Data, lost Lost) Data {
	if lost.Contents == 0 {
		return data
	}
	switch d := data.(type) {
	case Opened: // requests can't begin as they did
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

// lostAnswer replaces an answer that the store no longer has. Its calls are known: each has an entry of its own.
func (a *Agent) lostAnswer() model.Message {
	m := model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(lostMessage)}}
	for _, c := range a.Calls {
		if !c.Answered {
			m.Parts = append(m.Parts, c.Call)
		}
	}
	return m
}

// lostResponses replaces the results of calls that the store no longer has.
func (a *Agent) lostResponses() model.Message {
	m := model.Message{Role: model.Tool}
	for _, c := range a.Calls {
		if c.Answered {
			m.Parts = append(m.Parts, model.Response{ID: c.Call.ID, Name: c.Call.Name, Content: []tool.Part{tool.Text(lostMessage)}})
		}
	}
	return m
}
