package agent

import "github.com/adze-dev/adze/tool"

// sameErrors is how often a tool can fail with the same error before the model gets a note.
const sameErrors = 3

// stuck detects a model that repeats the same invalid call.
type stuck struct{ tools map[string]mistake }

type mistake struct {
	message string
	times   int
}

// look records the outcome of a call and returns the note for the model; usually "".
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
		"read the tool's parameters again and call it differently, or continue without it and report what is missing."
}
