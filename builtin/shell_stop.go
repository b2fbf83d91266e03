package builtin

import (
	"context"
	_ "embed"
	"strings"

	"github.com/adze-dev/adze/tool"
)

//go:embed shell_stop.md
var shellStopText string

type shellStopArgs struct {
	ID string `json:"id" description:"ID of the background command{{run_shell_command:, from run_shell_command}}{{task:; or the name of a background subagent}}." alias:"job_id,background_id,task_id,shell_id"`
}

func shellStop(s *shell, tasks taskJobs) tool.Tool {
	return tool.Define(tool.Def[shellStopArgs]{
		Name: "shell_stop", DisplayName: "ShellStop",
		Summary:     "Stop a background command or subagent",
		Description: strings.TrimSpace(shellStopText), RuleNames: []string{"KillShell", "KillBash", "TaskStop"}, Aliases: []string{"task_stop"}, Kind: tool.Other, Auxiliary: true,
		Prepare: func(_ context.Context, a shellStopArgs) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "stop " + oneLine(a.ID, 80), Access: holdJob(a.ID)}
			if id, ok := tasks.named(a.ID); ok {
				inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) { return tasks.stop(ctx, l, id) }
				return inv, nil
			}
			if _, _, err := s.jobs.Read(a.ID, 0, 1); err != nil {
				return inv, s.noJob(a.ID, tasks)
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				if err := ctx.Err(); err != nil {
					return tool.Result{}, err
				}
				job, err := s.jobs.Stop(a.ID)
				if err != nil {
					return tool.Result{}, err
				}
				return tool.TextResult("Background job " + job.ID + " (" + label(job.Label) + ") was ended: " + ending(job.Outcome) + "."), nil
			}
			return inv, nil
		},
	})
}
