package builtin

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/tool"
)

//go:embed shell_output.md
var shellOutputText string

type shellOutputArgs struct {
	ID     string `json:"id" description:"ID of the background command{{run_shell_command:, from run_shell_command}}{{task:; or the name of a background subagent}}." alias:"job_id,background_id,task_id,bash_id"`
	Offset *int64 `json:"offset,omitempty" description:"Byte offset to read from (default: where the last read ended)." minimum:"0"`
	Wait   int    `json:"wait,omitempty" description:"Milliseconds to wait for new output or for the command to exit." minimum:"0" maximum:"60000" ignored:"filter"`
}

func shellOutput(f *files, s *command.Shell, tasks taskJobs) tool.Tool {
	return tool.Define(tool.Def[shellOutputArgs]{
		Name: "shell_output", DisplayName: "ShellOutput",
		Summary:     "Show new output of a background command or subagent",
		Description: strings.TrimSpace(shellOutputText), RuleNames: []string{"BashOutput", "TaskOutput"},
		Kind: tool.Read, Polls: true, Auxiliary: true,
		Prepare: func(_ context.Context, a shellOutputArgs) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "read the output of " + oneLine(a.ID, 80), Access: holdJob(a.ID)}
			if id, ok := tasks.named(a.ID); ok {
				inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					return tasks.read(ctx, l, id, time.Duration(a.Wait)*time.Millisecond)
				}
				return inv, nil
			}
			if !s.Known(a.ID) {
				return inv, f.noJob(s, a.ID, tasks)
			}
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				return s.Read(ctx, l, a.ID, a.Offset, time.Duration(a.Wait)*time.Millisecond)
			}
			return inv, nil
		},
	})
}

// holdJob orders the calls for one background command. It was approved when it started, so reading it needs no
// approval.
func holdJob(id string) []tool.Access {
	return []tool.Access{{Verb: tool.Locks, Target: "job:" + id}}
}

func (f *files) noJob(s *command.Shell, id string, tasks taskJobs) error {
	known := tasks.ids()
	for _, j := range s.Jobs() {
		known = append(known, j.ID)
	}
	id = oneLine(id, 80)
	if len(known) == 0 {
		return tool.Errorf("task_stop_not_found", "no background command %q. No background commands are running.%s%s",
			id,
			f.offer.hint("run_shell_command", " Use run_shell_command with is_background to start one."),
			f.offer.hint("task", " Use task with run_in_background to start a subagent."))
	}
	return tool.Errorf("task_stop_not_found", "no background command %q. Use one of these IDs: %s", id,
		strings.Join(known, ", "))
}

//go:embed shell_stop.md
var shellStopText string

type shellStopArgs struct {
	ID string `json:"id" description:"ID of the background command{{run_shell_command:, from run_shell_command}}{{task:; or the name of a background subagent}}." alias:"job_id,background_id,task_id,shell_id"`
}

func shellStop(f *files, s *command.Shell, tasks taskJobs) tool.Tool {
	return tool.Define(tool.Def[shellStopArgs]{
		Name: "shell_stop", DisplayName: "ShellStop",
		Summary:     "Stop a background command or subagent",
		Description: strings.TrimSpace(shellStopText), RuleNames: []string{"KillShell", "KillBash", "TaskStop"},
		Aliases: []string{"task_stop"}, Kind: tool.Other, Auxiliary: true,
		Prepare: func(_ context.Context, a shellStopArgs) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "stop " + oneLine(a.ID, 80), Access: holdJob(a.ID)}
			if id, ok := tasks.named(a.ID); ok {
				inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) { return tasks.stop(ctx, l, id) }
				return inv, nil
			}
			if !s.Known(a.ID) {
				return inv, f.noJob(s, a.ID, tasks)
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				if err := ctx.Err(); err != nil {
					return tool.Result{}, err
				}
				return s.Stop(a.ID)
			}
			return inv, nil
		},
	})
}
