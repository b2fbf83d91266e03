package settings

import (
	"encoding/json"
	"errors"
	"slices"
)

// Hooks are programs that have a say in a session.
type Hooks struct {
	Given           []GivenHooks // weakest source first; all of them run
	Disabled        bool
	StopBlockingCap int // how often in a row Stop hooks can keep the model working
}

// GivenHooks are the hooks of one source, as they were written. What they mean, package hook knows.
type GivenHooks struct {
	JSON json.RawMessage // an object
	From Place
}

// defaultStopBlockingCap is that of other agents.
const defaultStopBlockingCap = 8

func hookKeys() []key {
	return []key{
		{
			name: "hooks", shape: `{"type":"object","additionalProperties":{"type":"array"}}`, adds: true,
			about: "Programs that run at points of a session, by event. See hooks.md.", put: putHooks,
		},
		{
			name: "disableAllHooks", own: true, preset: "false", shape: booleanShape, // those of the user protect
			about: "Run no hooks.", put: boolean(func(s *Settings) *bool { return &s.Hooks.Disabled }),
		},
		{
			name: "stopHookBlockingCap", preset: "8", shape: `{"type":"integer","minimum":1}`,
			about: "How often in a row Stop hooks can make the model continue.", put: putStopBlockingCap,
		},
	}
}

// putHooks adds hooks to those of weaker sources.
func putHooks(s *Settings, g given) (string, error) {
	if g.file == nil || g.kind() != "an object" {
		return "", mustBe("an object of events", g)
	}
	for _, m := range g.members() {
		if kind := m.kind(); kind != "a list" {
			return "", errors.New("event " + m.name + " must be a list, got " + kind)
		}
	}
	s.Hooks.Given = append(slices.Clip(s.Hooks.Given), GivenHooks{json.RawMessage(g.json()), g.from})
	return "", nil
}

func putStopBlockingCap(s *Settings, g given) (string, error) {
	note, err := integer(func(s *Settings) *int { return &s.Hooks.StopBlockingCap })(s, g)
	if err == nil && s.Hooks.StopBlockingCap < 1 {
		err = errors.New("must be 1 or more")
	}
	return note, err
}
