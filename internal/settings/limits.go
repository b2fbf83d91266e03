package settings

// Limits end a run. 0 or less: there is none.
type Limits struct {
	Turns     int // requests to the model, of all agents together
	Seconds   int
	Calls     int // tool calls, of all agents together
	Request   int // tokens of one request
	Depth     int // how deep subagents can be nested; 0 with DepthSet: there are none
	DepthSet  bool
	Subagents int // that run at once
}

// limitKeys are the settings that end a run, as Qwen Code writes them.
func limitKeys() []key {
	turns := func(s *Settings) *int { return &s.Limits.Turns }
	seconds := func(s *Settings) *int { return &s.Limits.Seconds }
	calls := func(s *Settings) *int { return &s.Limits.Calls }
	request := func(s *Settings) *int { return &s.Limits.Request }
	subagents := func(s *Settings) *int { return &s.Limits.Subagents }
	return []key{
		{
			name: "model.maxSessionTurns", also: []string{"maxSessionTurns"}, shape: integerShape,
			about: "Stop after this number of model turns (exit code 53). 0 or less: no limit.",
			put:   integer(turns), tightens: lower(turns),
		},
		{
			name: "model.maxWallTimeSeconds", shape: integerShape,
			about: "Stop after this time in seconds (exit code 55). 0 or less: no limit.",
			put:   integer(seconds), tightens: lower(seconds),
		},
		{
			name: "model.maxToolCalls", shape: integerShape,
			about: "Stop after this number of tool calls, including those of subagents (exit code 55). 0 or less: no limit.",
			put:   integer(calls), tightens: lower(calls),
		},
		{
			name: "model.sessionTokenLimit", also: []string{"sessionTokenLimit"}, shape: integerShape,
			about: "Stop when the conversation has more tokens than this (exit code 55). 0 or less: no limit.",
			put:   integer(request), tightens: lower(request),
		},
		{
			name: "model.maxSubagentDepth", shape: integerShape,
			about: "How deep subagents can be nested, at most 3. 0: there are no subagents.",
			put:   putDepth, tightens: shallower,
		},
		{
			name: "agents.maxParallelAgents", shape: integerShape,
			about: "Subagents that run at once, at most 8. 0 or less: 8.",
			put:   integer(subagents), tightens: lower(subagents),
		},
	}
}

// lower reports whether a limit became stricter.
func lower(at func(*Settings) *int) func(before, after *Settings) bool {
	return func(before, after *Settings) bool {
		was, is := *at(before), *at(after)
		return was <= 0 || is > 0 && is <= was
	}
}

func putDepth(s *Settings, g given) (note string, err error) {
	note, err = integer(func(s *Settings) *int { return &s.Limits.Depth })(s, g)
	s.Limits.DepthSet = err == nil && s.Limits.Depth >= 0
	return note, err
}

func shallower(before, after *Settings) bool {
	return !before.Limits.DepthSet || after.Limits.DepthSet && after.Limits.Depth <= before.Limits.Depth
}
