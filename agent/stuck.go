package agent

import "github.com/adze-dev/adze/tool"

// sameErrors is how often a tool may be called wrongly in the same way before the model is told to stop it.
const sameErrors = 3

// stuck notices a model that makes the same mistake again and again.
type stuck struct{ tools map[string]mistake }

type mistake struct {
	message string
	times   int
}

// look takes the outcome of a call and gives the line that the model should be told; mostly "".
func (s *stuck) look(o tool.Outcome) string {
	if s.tools == nil {
		s.tools = map[string]mistake{}
	}
	if o.Error == nil || o.Error.Type != tool.InvalidParams {
		delete(s.tools, o.Name)
		return ""
	}
	m := s.tools[o.Name]
	if m.message != o.Error.Message {
		m = mistake{message: o.Error.Message}
	}
	m.times++
	s.tools[o.Name] = m
	if m.times < sameErrors {
		return ""
	}
	return "Note: " + o.Name + " has failed with this same error several times in a row. Stop retrying it this way: " +
		"read the tool's parameters again and call it differently, or go on without it and say what is missing."
}
