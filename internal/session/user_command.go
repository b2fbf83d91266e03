package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/adze-dev/adze/tool"
)

// RunAsUser runs a command that the user typed, without a permission prompt. observe receives its events, such as the end of
// its output while it runs; it may be nil.
func (s *Session) RunAsUser(ctx context.Context, command string, observe func(tool.Event)) (tool.Outcome, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 600_000})
	if err != nil {
		return tool.Outcome{}, err
	}
	all := tool.NewRegistry(s.tools.All()...) // the user may run commands that the model may not
	shell, err := Shell(all)
	if err != nil {
		return tool.Outcome{}, err
	}
	own := &tool.Executor{
		Registry: all, Spill: s.Executor.Spill, Budget: s.Executor.Budget, Observe: observe,
		Policy: func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByUser}}
		},
	}
	batch := own.Batch(ctx)
	batch.Add(tool.Call{Name: shell.Name, Args: args})
	return batch.Wait()[0], nil
}

// Shell is the tool that runs commands, as the registry tells it.
func Shell(r *tool.Registry) (tool.Declaration, error) {
	for _, d := range r.All() {
		if d.Kind == tool.Execute && d.Origin == "" {
			return d, nil
		}
	}
	return tool.Declaration{}, errors.New("no tool that runs commands")
}
