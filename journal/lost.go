package journal

import (
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// lostMessage replaces a message that the store no longer has.
const lostMessage = "[A message is missing here: Adze's store no longer has it]"

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
