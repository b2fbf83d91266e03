package session

import (
	"context"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/tool"
)

// delegate gives a task to a subagent of the session.
func (s *Session) delegate(ctx context.Context, r builtin.TaskRequest) (tool.Result, error) {
	if s.talk == nil {
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "run a subagent: no model in this session")
	}
	return s.talk.crew.Do(ctx, agent.Task{Description: r.Description, Prompt: r.Prompt, Type: r.Type, Background: r.Background, Live: r.Live})
}

// backgroundTasks are the subagents in the background of a session; there are none before it has a conversation.
type backgroundTasks struct{ s *Session }

func (b backgroundTasks) Jobs() []builtin.TaskJob {
	var jobs []builtin.TaskJob
	if b.s.talk != nil {
		for _, j := range b.s.talk.crew.Jobs() {
			jobs = append(jobs, taskJob(j))
		}
	}
	return jobs
}

func (b backgroundTasks) Job(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.talk.crew.Job(ctx, id)
	return taskJob(j), err
}

func (b backgroundTasks) Stop(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.talk.crew.Stop(ctx, id)
	return taskJob(j), err
}

func taskJob(j agent.Job) builtin.TaskJob {
	return builtin.TaskJob{ID: j.ID, Running: j.Running, Display: j.Display, Report: j.Report}
}
