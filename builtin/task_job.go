package builtin

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/tool"
)

// TaskJob is a subagent in the background.
type TaskJob struct {
	ID      string // as in the result of the task
	Running bool
	Display tool.Display // its progress
	Report  string       // once it has ended
}

// TaskJobs manages the subagents in the background. A report that Job or Stop returned is not reported again.
type TaskJobs interface {
	Jobs() []TaskJob
	// Job waits for the end of the job or of ctx.
	Job(ctx context.Context, id string) (TaskJob, error)
	Stop(ctx context.Context, id string) (TaskJob, error)
}

// taskJobs are the background subagents of a session; it may have none.
type taskJobs struct{ TaskJobs }

func (t taskJobs) ids() []string {
	if t.TaskJobs == nil {
		return nil
	}
	var ids []string
	for _, j := range t.Jobs() {
		ids = append(ids, j.ID)
	}
	return ids
}

// named returns the exact ID of a subagent, if it exists.
func (t taskJobs) named(id string) (string, bool) {
	for _, known := range t.ids() {
		if strings.EqualFold(known, strings.TrimSpace(id)) {
			return known, true
		}
	}
	return "", false
}

// ownTask denies subagents access to background subagents: they belong to the first agent.
func ownTask(l *tool.Live, id string) error {
	if l.Call.By == "" {
		return nil
	}
	return tool.Errorf(tool.ExecutionDenied, "background task %s: it is not yours; only the agent that gave it may "+
		"read or stop it", id)
}

// read reports the progress of a subagent; it waits for its end as long as the call allows.
func (t taskJobs) read(ctx context.Context, l *tool.Live, id string, wait time.Duration) (tool.Result, error) {
	if err := ownTask(l, id); err != nil {
		return tool.Result{}, err
	}
	patient, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	job, err := t.Job(patient, id)
	if err != nil || ctx.Err() != nil {
		return tool.Result{}, firstError(ctx.Err(), err)
	}
	said := "Background Id: " + job.ID + "\nState: "
	if job.Running {
		return tool.Result{
			Content: []tool.Part{tool.Text(said + "running\n" + job.Display.Markdown())}, Display: job.Display,
		}, nil
	}
	return tool.Result{Content: []tool.Part{tool.Text(said + "ended\n" + job.Report)}, Display: job.Display}, nil
}

// stop stops a subagent and returns its report so far.
func (t taskJobs) stop(ctx context.Context, l *tool.Live, id string) (tool.Result, error) {
	if err := ownTask(l, id); err != nil {
		return tool.Result{}, err
	}
	job, err := t.Stop(ctx, id)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Content: []tool.Part{tool.Text(job.Report)}, Display: job.Display}, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
