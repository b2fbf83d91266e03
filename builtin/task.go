package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/tool"
)

//go:embed task.md
var taskText string

type taskArgs struct {
	Description string `json:"description" description:"Short title of the task (3-5 words), shown to the user."`
	Prompt      string `json:"prompt" description:"Complete instructions, and what to report back."`
	Type        string `json:"subagent_type,omitempty" default:"general-purpose" description:"Subagent type." ignored:"model"`
	Background  bool   `json:"run_in_background,omitempty" description:"Run in background; you receive the report in a later turn.{{shell_output: Use shell_output to check its status.}}{{shell_stop: Use shell_stop to stop it.}}"`
}

// TaskType is a type of subagent.
type TaskType struct {
	Name        string
	Description string // when to use it
}

// TaskRequest is a task for a subagent.
type TaskRequest struct {
	Description string // in a few words, for users
	Prompt      string
	Type        string // the name of a TaskType; "" is the default type
	Background  bool
	Live        *tool.Live // of the call that delegates: see [tool.Executor.Child]
}

// Bounds of a task, in characters.
const (
	maxTaskPrompt      = 100_000
	maxTaskDescription = 500
	maxTaskTypes       = 4000 // for the list of types, which every request has
)

// task returns the tool that starts subagents with run. It isn't offered if run is nil.
func task(run func(context.Context, TaskRequest) (tool.Result, error), types []TaskType) tool.Tool {
	about := strings.TrimSpace(taskText)
	var lines []string
	for _, t := range types {
		lines = append(lines, fmt.Sprintf("\n- %s: %s", t.Name, oneLine(t.Description, 300)))
	}
	if len(lines) > 0 {
		about += " The types:" + bounded(lines, maxTaskTypes)
	}
	return tool.Define(tool.Def[taskArgs]{
		Name: "task", DisplayName: "Task",
		Summary:     "Start a subagent",
		Description: about, RuleNames: []string{"Agent"}, Kind: tool.Other, Aliases: []string{"agent"},
		Needs: tool.NeedsModel,
		Prepare: func(_ context.Context, a taskArgs) (*tool.Invocation, error) {
			r := TaskRequest{
				Description: strings.TrimSpace(a.Description), Prompt: strings.TrimSpace(a.Prompt),
				Type: strings.TrimSpace(a.Type), Background: a.Background,
			}
			if err := checkTask(&r, types); err != nil {
				return nil, err
			}
			inv := &tool.Invocation{Description: r.title(), Access: []tool.Access{tool.Nothing}}
			if run == nil {
				return inv, tool.Errorf(tool.ExecutionFailed,
					"%s: no model is available for a subagent; do it yourself", r.title())
			}
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				if err := ctx.Err(); err != nil {
					return tool.Result{}, err
				}
				given := r
				given.Live = l
				return run(ctx, given)
			}
			return inv, nil
		},
	})
}

func (r TaskRequest) title() string {
	if r.Type == "" {
		return r.Description
	}
	return r.Type + ": " + r.Description
}

// checkTask checks what the schema can't express, and corrects the letter case of the type.
func checkTask(r *TaskRequest, types []TaskType) error {
	var bad []tool.Violation
	if n := len([]rune(r.Description)); r.Description == "" || n > maxTaskDescription {
		bad = append(bad, tool.Violation{
			Param: "description", Reason: fmt.Sprintf("must have 1 to %d characters, got %d", maxTaskDescription, n),
		})
	}
	if n := len([]rune(r.Prompt)); r.Prompt == "" || n > maxTaskPrompt {
		bad = append(bad, tool.Violation{
			Param: "prompt", Reason: fmt.Sprintf("must have 1 to %d characters, got %d; name files instead of "+
				"quoting them", maxTaskPrompt, n),
		})
	}
	if r.Type != "" && len(types) > 0 {
		known, names := false, []string(nil)
		for _, t := range types {
			if strings.EqualFold(t.Name, r.Type) {
				r.Type, known = t.Name, true
			}
			names = append(names, t.Name)
		}
		if !known {
			bad = append(bad, tool.Violation{
				Param: "subagent_type", Reason: fmt.Sprintf("unknown type %q (expected %s)", oneLine(r.Type, 60),
					oneLine(strings.Join(names, ", "), 1000)),
			})
		}
	}
	if len(bad) > 0 {
		return &tool.ParamError{Violations: bad}
	}
	return nil
}

// bounded joins the lines that fit into room characters, and adds how many are omitted.
func bounded(lines []string, room int) string {
	var b strings.Builder
	for i, line := range lines {
		if b.Len()+len(line) > room {
			fmt.Fprintf(&b, "\n- … and %d more", len(lines)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
