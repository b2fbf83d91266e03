package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// crewJobs is a crew as the tools see it.
type crewJobs struct{ crew **agent.Crew }

func (c crewJobs) Jobs() []TaskJob {
	var jobs []TaskJob
	for _, j := range (*c.crew).Jobs() {
		jobs = append(jobs, TaskJob{j.ID, j.Running, j.Display, j.Report})
	}
	return jobs
}

func (c crewJobs) Job(ctx context.Context, id string) (TaskJob, error) {
	j, err := (*c.crew).Job(ctx, id)
	return TaskJob{j.ID, j.Running, j.Display, j.Report}, err
}

func (c crewJobs) Stop(ctx context.Context, id string) (TaskJob, error) {
	j, err := (*c.crew).Stop(ctx, id)
	return TaskJob{j.ID, j.Running, j.Display, j.Report}, err
}

// watchers is a model whose subagents run a command that takes long.
type watchers struct{}

func (watchers) Name() string { return "watchers" }

func (watchers) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		c := tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"sleep 600","is_background":false}`)}
		_ = yield(model.Call{Call: c}, nil) && yield(model.End{Reason: model.Calls}, nil)
	}
}

// A subagent in the background is read and stopped like a background command, only by the agent that started it. Its
// commands stop with it, and all stop when the session ends.
func TestBackgroundSubagent(t *testing.T) {
	var crew *agent.Crew
	set, err := New(Options{
		Dir: t.TempDir(), Helper: testHelper, Tasks: crewJobs{&crew},
		Task: func(ctx context.Context, r TaskRequest) (tool.Result, error) { return crew.Do(ctx, agent.Task(r)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	running := make(chan string, 10)
	ended := make(chan string, 10)
	x := executor(set)
	x.Observe = func(e tool.Event) {
		if e.Request.Declaration.Name != "run_shell_command" {
			return
		}
		switch e.Stage {
		case tool.Running:
			running <- e.Request.Call.By
		case tool.Done:
			ended <- e.Request.Call.By
		}
	}
	crew = agent.NewCrew(agent.CrewOptions{Model: watchers{}, Executor: x})
	defer crew.Close()
	begin := args{"description": "watch", "prompt": "Watch.", "run_in_background": true}
	if o := call(t, x, "task", begin); !strings.HasPrefix(o.Result.Text(), "Started general-purpose-1 in the background.") {
		t.Fatal(o.Result.Text())
	}
	<-running
	o := call(t, x, "shell_output", args{"id": "general-purpose-1", "wait": 10})
	for _, want := range []string{"Background Id: general-purpose-1\nState: running\n", "- run_shell_command: executing"} {
		if !strings.Contains(o.Result.Text(), want) {
			t.Errorf("lacks %q: %s", want, o.Result.Text())
		}
	}
	if o := call(t, x, "shell_stop", args{"id": "explore-1"}); o.Error == nil || !strings.Contains(o.Error.Message, "no background command \"explore-1\". Use one of these IDs: general-purpose-1") {
		t.Errorf("a name that is none: %+v", o.Error)
	}
	other := &tool.Live{Call: tool.Call{By: "general-purpose-1"}, Show: func(tool.Display) {}}
	if _, err := (taskJobs{crewJobs{&crew}}).stop(t.Context(), other, "general-purpose-1"); err == nil || !strings.Contains(err.Error(), "it is not yours") {
		t.Errorf("stopped by itself: %v", err)
	}
	start := time.Now()
	if o := call(t, x, "shell_stop", args{"id": "General-Purpose-1"}); !strings.Contains(o.Result.Text(), "finished: stopped.") {
		t.Errorf("stopped: %s", o.Result.Text())
	}
	within(t, start, ended)
	if o := call(t, x, "shell_output", args{"id": "general-purpose-1"}); !strings.Contains(o.Result.Text(), "State: ended\nBackground subagent general-purpose-1 (watch) finished: stopped.") {
		t.Errorf("read after its end: %s", o.Result.Text())
	}
	if news := crew.News(); news != nil {
		t.Errorf("told twice: %q", news)
	}
	call(t, x, "task", begin)
	<-running
	start = time.Now()
	crew.Close()
	within(t, start, ended)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (taskJobs{crewJobs{&crew}}).read(ctx, &tool.Live{}, "general-purpose-1", time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled reading: %v", err)
	}
}

// within waits for the end of a command. The goal is 250 ms; the bound only finds hangs.
func within(t *testing.T, start time.Time, ended <-chan string) {
	t.Helper()
	select {
	case <-ended:
		t.Logf("ended after %v", time.Since(start))
	case <-time.After(time.Minute):
		t.Fatal("the command still runs")
	}
}
