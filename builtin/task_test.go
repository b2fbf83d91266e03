package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestTask(t *testing.T) {
	build := func(string) tool.Tool {
		return task(func(ctx context.Context, r TaskRequest) (tool.Result, error) {
			return tool.TextResult("done: " + r.Prompt), ctx.Err()
		}, []TaskType{{"general-purpose", "For anything."}})
	}
	tooltest.Check(t, build,
		tooltest.Try{Args: `{"description":"look","prompt":"Look for x."}`},
		tooltest.Try{Args: `{"description":"","prompt":"Look for x."}`, Fails: true},
	)
}

func TestTaskArguments(t *testing.T) {
	var given []TaskRequest
	x := &tool.Executor{Policy: allowAll, Registry: tool.NewRegistry(task(func(_ context.Context, r TaskRequest) (tool.Result, error) {
		r.Live = nil
		given = append(given, r)
		return tool.TextResult("ok"), nil
	}, []TaskType{{"general-purpose", "For anything."}, {"explore", "Looks\nonly."}}))}
	call(t, x, "task", args{"description": " look ", "prompt": " p ", "subagent_type": "Explore", "run_in_background": true})
	call(t, x, "agent", args{"description": "look", "prompt": "p"})
	want := []TaskRequest{{"look", "p", "explore", true, nil}, {"look", "p", "general-purpose", false, nil}}
	if d := cmp.Diff(want, given); d != "" {
		t.Error(d)
	}
	o := call(t, x, "task", args{"description": "look", "prompt": strings.Repeat("x", 1<<20), "subagent_type": "wizard"})
	for _, want := range []string{"prompt: must have 1 to 100000 characters, got 1048576", `unknown type "wizard" (expected general-purpose, explore)`} {
		if o.Error == nil || !strings.Contains(o.Error.Message, want) {
			t.Errorf("lacks %q: %+v", want, o.Error)
		}
	}
	d := x.Registry.All()[0]
	if !strings.HasSuffix(d.Description, "The types:\n- general-purpose: For anything.\n- explore: Looks only.") {
		t.Error(d.Description)
	}
}

// editors is a model of several agents: the first starts two tasks, and each of them repeatedly changes one line of one
// file.
type editors struct {
	path string
	each int
}

func (*editors) Name() string { return "editors" }

func (m *editors) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		say := func(name string, a args) {
			raw, _ := json.Marshal(a) // of strings and numbers
			yield(model.Call{Call: tool.Call{Name: name, Args: raw}}, nil)
		}
		n := 0
		for _, msg := range r.Messages {
			if msg.Role == model.Assistant {
				n++
			}
		}
		prompt := r.Messages[0].Text()
		switch {
		case prompt == "go" && n == 0:
			say("task", args{"description": "a", "prompt": "a"})
			say("task", args{"description": "b", "prompt": "b"})
		case prompt == "go" || n > m.each:
			yield(model.Text("done"), nil)
			yield(model.End{Reason: model.Stop}, nil)
			return
		case n == 0:
			say("read_file", args{"absolute_path": m.path})
		default:
			say("edit", args{"file_path": m.path, "old_string": fmt.Sprintf("%s=%d\n", prompt, n-1), "new_string": fmt.Sprintf("%s=%d\n", prompt, n)})
		}
		yield(model.End{Reason: model.Calls}, nil)
	}
}

// sleepers is a model whose subagents run long commands.
type sleepers struct{}

func (sleepers) Name() string { return "sleepers" }

func (sleepers) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for range 3 {
			c := tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"sleep 600","is_background":false}`)}
			if r.Messages[0].Text() == "go" {
				c = tool.Call{Name: "task", Args: json.RawMessage(`{"description":"sleep","prompt":"sleep"}`)}
			}
			if !yield(model.Call{Call: c}, nil) {
				return
			}
		}
		yield(model.End{Reason: model.Calls}, nil)
	}
}

// Canceling a parent stops the commands of all its subagents. The goal is 250 ms; the bound only finds hangs.
func TestCancelStopsCommandsOfSubagents(t *testing.T) {
	var crew *agent.Crew
	set, err := New(Options{
		Dir: t.TempDir(), Helper: testHelper,
		Task: func(ctx context.Context, r TaskRequest) (tool.Result, error) { return crew.Do(ctx, agent.Task(r)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	running := make(chan string, 10)
	x := executor(set)
	x.Observe = func(e tool.Event) {
		if e.Stage == tool.Running && e.Request.Declaration.Name == "run_shell_command" {
			running <- e.Request.Call.By
		}
	}
	a := agent.New(agent.Options{Model: sleepers{}, Executor: x})
	crew = agent.NewCrew(agent.CrewOptions{Model: sleepers{}, Executor: x})
	defer crew.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := a.Run(cancelled, model.Text("go"))
		ended <- err
	}()
	<-running // commands run one at a time, because each may change anything
	start := time.Now()
	cancel()
	select {
	case err := <-ended:
		t.Logf("ended %v after the cancel: %v", time.Since(start), err)
	case <-time.After(time.Minute):
		t.Fatal("subagents continue after the cancellation")
	}
}

// Two subagents that edit one file at the same time lose no edit, and every prompt names its subagent.
func TestTwoSubagentsEditOneFile(t *testing.T) {
	dir := real(t, t.TempDir())
	put(t, dir, map[string]string{"f.txt": "a=0\n\n\nb=0\n"})
	m := &editors{path: filepath.Join(dir, "f.txt"), each: 20}
	var crew *agent.Crew
	p := newPlanner(t, dir, permission.Default, tool.Decision{})
	set, err := New(Options{
		Dir: dir, State: filepath.Join(t.TempDir(), "state"),
		Task: func(ctx context.Context, r TaskRequest) (tool.Result, error) { return crew.Do(ctx, agent.Task(r)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	p.exec.Registry = tool.NewRegistry(set.Tools()...)
	crew = agent.NewCrew(agent.CrewOptions{Model: m, Executor: p.exec})
	defer crew.Close()
	a := agent.New(agent.Options{Model: m, Executor: p.exec, News: func(context.Context) []string { return crew.News() }})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(m.path)
	if err != nil || string(got) != "a=20\n\n\nb=20\n" {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	p.mu.Lock() // a question that was withdrawn may still be on its way
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if !strings.HasPrefix(r.Call.By, "general-purpose-") {
			t.Errorf("a question by %q", r.Call.By)
		}
	}
	if len(p.asked) < 2*m.each {
		t.Errorf("asked %d times", len(p.asked))
	}
	reports := 0
	for _, msg := range a.History() {
		for _, part := range msg.Parts {
			if r, ok := part.(model.Response); ok && strings.Contains(r.Text(), "21 calls, 0 tokens; edited "+m.path+"]") {
				reports++
			}
		}
	}
	if reports != 2 {
		t.Errorf("%d reports name the file", reports)
	}
}
