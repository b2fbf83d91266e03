package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
)

// world is a disk in memory and toy tools on it: enough to break an executor, and nothing that a test must wait for.
type world struct {
	mu       sync.Mutex
	files    map[string]string
	links    map[string]string // one name leads to another
	mode     string            // "plan" or ""
	prepares map[string]int    // by the line a call is known by, "edit a.txt"
	log      []string          // "prepare edit a.txt", "run edit a.txt", "end edit a.txt"
	gates    map[string]chan struct{}
	tasks    map[string]func(ctx context.Context, x *tool.Executor) (string, error)
	tasker   *tool.Executor // whose Child a task drives
}

func newWorld(files map[string]string) *world {
	return &world{
		files: maps.Clone(files), links: map[string]string{}, prepares: map[string]int{}, gates: map[string]chan struct{}{},
		tasks: map[string]func(context.Context, *tool.Executor) (string, error){},
	}
}

// gate holds a step, "run edit a.txt", until the returned function is called. Set it before the call.
func (w *world) gate(step string) (open func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{})
	w.gates[step] = c
	return sync.OnceFunc(func() { close(c) })
}

// at notes a step, and waits at its gate.
func (w *world) at(ctx context.Context, step string) {
	w.mu.Lock()
	w.log = append(w.log, step)
	if line, ok := strings.CutPrefix(step, "prepare "); ok {
		w.prepares[line]++
	}
	c := w.gates[step]
	w.mu.Unlock()
	if c != nil {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
}

func (w *world) did(step string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.log {
		if s == step {
			return true
		}
	}
	return false
}

func (w *world) resolve(path string) string {
	for range 8 {
		to, ok := w.links[path]
		if !ok {
			break
		}
		path = to
	}
	return path
}

func (w *world) load(path string) (resolved, text string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resolved = w.resolve(path)
	text, ok := w.files[resolved]
	if !ok {
		err = tool.Errorf(tool.FileNotFound, "read %s: no such file", resolved)
	}
	return resolved, text, err
}

func (w *world) snapshot() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.files)
}

func (w *world) setMode(mode string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode = mode
}

func (w *world) inMode() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mode
}

type pathArgs struct {
	Path string `json:"path"`
}

func (w *world) read() tool.Tool {
	return tool.Define(tool.Def[pathArgs]{
		Name: "read", Description: "Reads a file.", Kind: tool.Read,
		Prepare: func(ctx context.Context, a pathArgs) (*tool.Invocation, error) {
			line := "read " + a.Path
			w.at(ctx, "prepare "+line)
			path, seen, err := w.load(a.Path)
			return &tool.Invocation{
				Description: line,
				Access:      []tool.Access{{Verb: tool.Reads, Target: path}},
				Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					w.at(ctx, "run "+line)
					_, text, err := w.load(path)
					if text != seen {
						err = tool.Errorf("file_changed_since_read", "read %s: it changed", path)
					}
					w.at(ctx, "end "+line)
					return tool.TextResult("<" + text + ">"), err
				},
			}, err
		},
	})
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// edit replaces the one place where old stands. Its Run holds to what Prepare saw.
func (w *world) edit() tool.Tool {
	return tool.Define(tool.Def[editArgs]{
		Name: "edit", Description: "Edits a file.", Kind: tool.Edit,
		Prepare: func(ctx context.Context, a editArgs) (*tool.Invocation, error) {
			line := "edit " + a.Path
			w.at(ctx, "prepare "+line)
			path, seen, err := w.load(a.Path)
			if n := strings.Count(seen, a.Old); err == nil && n != 1 {
				err = tool.Errorf("edit_no_occurrence_found", "edit %s: old occurs %d times", path, n)
			}
			text := strings.Replace(seen, a.Old, a.New, 1)
			return w.change(line, path, &seen, text), err
		},
	})
}

type writeArgs struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func (w *world) write() tool.Tool {
	return tool.Define(tool.Def[writeArgs]{
		Name: "write", Description: "Writes a file.", Kind: tool.Edit,
		Prepare: func(ctx context.Context, a writeArgs) (*tool.Invocation, error) {
			line := "write " + a.Path
			w.at(ctx, "prepare "+line)
			path, seen, err := w.load(a.Path)
			if err != nil {
				return w.change(line, path, nil, a.Text), nil
			}
			return w.change(line, path, &seen, a.Text), nil
		},
	})
}

// change plans to make a file hold text where it held seen; nil: where there was none.
func (w *world) change(line, path string, seen *string, text string) *tool.Invocation {
	return &tool.Invocation{
		Description: line,
		Access:      []tool.Access{{Verb: tool.Writes, Target: path}},
		Confirm:     tool.FileDiff{File: path, Original: seen, New: text, Diff: "+" + text},
		Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
			w.at(ctx, "run "+line)
			if ctx.Err() != nil {
				return tool.Result{}, ctx.Err()
			}
			w.mu.Lock()
			now, there := w.files[path]
			changed := there != (seen != nil) || there && now != *seen
			if !changed {
				w.files[path] = text
			}
			w.mu.Unlock()
			w.at(ctx, "end "+line)
			if changed {
				return tool.Result{}, tool.Errorf("file_changed_since_read", "%s: it changed since it was read", line)
			}
			return tool.TextResult(fmt.Sprintf("%s holds %q", path, text)), nil
		},
	}
}

type execArgs struct {
	Cmd string `json:"cmd"`
}

// exec returns a shell of five commands: cat F, echo TEXT > F, append TEXT F, ln TARGET NAME, fail.
func (w *world) exec() tool.Tool {
	return tool.Define(tool.Def[execArgs]{
		Name: "exec", Description: "Runs a command.", Kind: tool.Execute,
		Prepare: func(ctx context.Context, a execArgs) (*tool.Invocation, error) {
			line := "exec " + a.Cmd
			w.at(ctx, "prepare "+line)
			return &tool.Invocation{
				Description: line,
				Access:      []tool.Access{{Verb: tool.Execs, Target: a.Cmd}},
				Confirm:     tool.Command{Line: a.Cmd},
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					w.at(ctx, "run "+line)
					out, err := w.command(a.Cmd, l.Decision.Grant)
					w.at(ctx, "end "+line)
					return tool.TextResult(out), err
				},
			}, nil
		},
	})
}

func (w *world) command(cmd string, grant []tool.Access) (string, error) {
	f := strings.Fields(cmd)
	for _, a := range grant { // the sandbox
		if a.Verb == tool.Reads && f[0] != "cat" {
			return "", tool.Errorf(tool.ExecutionFailed, "%s: read-only file system", cmd)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch f[0] {
	case "cat":
		return "<" + w.files[w.resolve(f[1])] + ">", nil
	case "echo":
		w.files[w.resolve(f[3])] = f[1]
	case "append":
		w.files[w.resolve(f[2])] += f[1]
	case "ln":
		w.links[f[2]] = f[1]
	default:
		return "half an output", tool.Errorf(tool.ExecutionFailed, "%s: exit status 1", cmd)
	}
	return "ok", nil
}

// exitPlan asks to leave plan mode. Its three choices come back as the answer to a form.
func (w *world) exitPlan() tool.Tool {
	return tool.Define(tool.Def[struct{}]{
		Name: "exit_plan_mode", Description: "Leaves plan mode.", Kind: tool.Think,
		Prepare: func(ctx context.Context, _ struct{}) (*tool.Invocation, error) {
			w.at(ctx, "prepare exit_plan_mode")
			return &tool.Invocation{
				Description: "leave plan mode",
				Access:      []tool.Access{{Verb: tool.Locks, Target: "*"}},
				Confirm:     tool.Plan{Text: "1. edit"},
				Form:        json.RawMessage(`{"type":"object","properties":{"mode":{"type":"string"}}}`),
				MustAsk:     true,
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					w.at(ctx, "run exit_plan_mode")
					var answer struct{ Mode string }
					if err := json.Unmarshal(l.Decision.Answer, &answer); err != nil {
						return tool.Result{}, err
					}
					w.setMode(answer.Mode)
					return tool.TextResult("mode " + answer.Mode), nil
				},
			}, nil
		},
	})
}

type taskArgs struct {
	Name string `json:"name"`
}

// task drives a subagent: the calls that w.tasks[name] makes.
func (w *world) task() tool.Tool {
	return tool.Define(tool.Def[taskArgs]{
		Name: "task", Description: "Has a subagent do something.", Kind: tool.Other,
		Prepare: func(ctx context.Context, a taskArgs) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: "task " + a.Name,
				Access:      []tool.Access{tool.Nothing},
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					w.at(ctx, "run task "+a.Name)
					w.mu.Lock()
					do, x := w.tasks[a.Name], w.tasker
					w.mu.Unlock()
					said, err := do(ctx, x.Child(l, a.Name, nil))
					return tool.TextResult(said), err
				},
			}, nil
		},
	})
}

func (w *world) tools() []tool.Tool {
	return []tool.Tool{w.read(), w.edit(), w.write(), w.exec(), w.exitPlan(), w.task()}
}

// executor returns one that allows everything the mode allows: in plan mode nothing changes.
func (w *world) executor(more ...tool.Tool) *tool.Executor {
	x := &tool.Executor{Registry: tool.NewRegistry(append(w.tools(), more...)...), Policy: w.policy}
	w.tasker = x
	return x
}

func (w *world) policy(r tool.Request) tool.Decision {
	for _, a := range r.Access {
		if w.inMode() == "plan" && a.Changes() {
			return tool.Decision{Reason: "plan mode"}
		}
	}
	return tool.Decision{Verdict: tool.Allow}
}

// call makes a call from a line: "read a", "edit a old new", "write a text", "exec …", "task name", "exit_plan_mode".
func call(line string) tool.Call {
	name, rest, _ := strings.Cut(line, " ")
	f := append(strings.Fields(rest), "", "", "")
	var args any = map[string]string{}
	switch name {
	case "read":
		args = pathArgs{f[0]}
	case "edit":
		args = editArgs{f[0], f[1], f[2]}
	case "write":
		args = writeArgs{f[0], f[1]}
	case "exec", "try":
		args = execArgs{rest}
	case "task":
		args = taskArgs{f[0]}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return tool.Call{Name: name, Args: raw}
}

func begin(ctx context.Context, x *tool.Executor, lines ...string) *tool.Batch {
	b := x.Batch(ctx)
	for _, line := range lines {
		b.Add(call(line))
	}
	return b
}

// says returns the outcomes as lines: "success: <text>".
func says(outcomes []tool.Outcome) []string {
	var out []string
	for _, o := range outcomes {
		out = append(out, string(o.Status)+": "+o.Result.Text())
	}
	return out
}

func wantSame[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
