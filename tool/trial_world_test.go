package tool_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// try is exec with a Trial: it runs the command on a copy of the files.
func (w *world) try() tool.Tool {
	return tool.Define(tool.Def[execArgs]{
		Name: "try", Description: "Tries a command.", Kind: tool.Execute,
		Prepare: func(ctx context.Context, a execArgs) (*tool.Invocation, error) {
			line := "try " + a.Cmd
			w.at(ctx, "prepare "+line)
			return &tool.Invocation{
				Description: line,
				Access:      []tool.Access{{Verb: tool.Execs, Target: a.Cmd}},
				Confirm:     tool.Command{Line: a.Cmd},
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					w.at(ctx, "run "+line)
					out, err := w.command(a.Cmd, nil)
					return tool.TextResult("directly: " + out), err
				},
				Trial: func(ctx context.Context, l *tool.Live) (*tool.Tried, error) { return w.trial(ctx, line, a.Cmd) },
			}, nil
		},
	})
}

// trial runs a command on a copy and finds its effects.
func (w *world) trial(ctx context.Context, line, cmd string) (*tool.Tried, error) {
	w.at(ctx, "trial "+line)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	layer := newWorld(w.files)
	maps.Copy(layer.links, w.links)
	lower := maps.Clone(w.files)
	w.mu.Unlock()
	w.at(ctx, "copied "+line)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, failed := layer.command(cmd, nil)
	var changed []string
	for path, text := range layer.files {
		if was, ok := lower[path]; !ok || was != text {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	t := &tool.Tried{Drop: func() tool.Result {
		w.at(context.Background(), "drop "+line)
		return tool.TextResult("tried: " + out)
	}}
	shown := tool.Effects{Command: tool.Command{Line: cmd}, Ending: "exit 0"}
	t.Description = line
	for _, path := range changed {
		t.Access = append(t.Access, tool.Access{Verb: tool.Writes, Target: path})
		shown.Changes = append(shown.Changes, tool.Effect{Path: path, Kind: tool.EffectChanged, Files: 1})
	}
	if len(changed) == 0 {
		t.Access = []tool.Access{tool.Nothing}
	}
	t.Confirm = shown
	t.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		w.at(ctx, "keep "+line)
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, path := range changed {
			if w.files[path] != lower[path] {
				return tool.Result{}, tool.Errorf("conflict", "%s: %s changed", line, path)
			}
		}
		for _, path := range changed {
			w.files[path] = layer.files[path]
		}
		return tool.TextResult(fmt.Sprintf("tried: %s, kept %d", out, len(changed))), failed
	}
	return t, nil
}

// effects lets commands be tried and denies writes to files in a list.
func (w *world) effects(deny ...string) tool.Policy {
	return func(r tool.Request) tool.Decision {
		for _, a := range r.Access {
			switch {
			case a.Verb == tool.Execs && r.Call.Name == "try":
				return tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"}, Try: true}
			case a.Verb == tool.Writes && slices.Contains(deny, a.Target):
				return tool.Decision{Verdict: tool.Deny, Reason: "writes " + a.Target}
			}
		}
		return readOnlyGrant(r)
	}
}

// count returns how often a step was taken.
func (w *world) count(step string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.log {
		if s == step {
			n++
		}
	}
	return n
}

// steps returns the steps that begin with one of these words.
func (w *world) steps(words ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.log {
		word, _, _ := strings.Cut(s, " ")
		if slices.Contains(words, word) {
			out = append(out, s)
		}
	}
	return out
}

// Without a user, a call that can't be kept because files changed meanwhile was denied as if it required approval.
func TestTrialIsOvertaken(t *testing.T) {
	err := tool.Errorf("busy", "f: %w", tool.ErrChanged)
	f := fake("toy", tool.Execute, tool.Invocation{
		Access: []tool.Access{{Verb: tool.Execs, Target: "x"}},
		Trial:  func(context.Context, *tool.Live) (*tool.Tried, error) { return nil, err },
		Run:    func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil },
	})
	for want, ask := range map[string]tool.Asker{
		"error: f: changed meanwhile": nil,
		"success: ran":                func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) { return yes, nil },
		"error: f: changed meanwhile ": func(_ context.Context, r tool.Request, d tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, tool.Unapproved(r, d, "there is no user")
		},
	} {
		x := &tool.Executor{Registry: tool.NewRegistry(f), Limit: 1, Ask: ask}
		x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask, Try: true} }
		wantSame(t, "outcome", []string{strings.TrimSpace(want)}, says(begin(t.Context(), x, "toy").Wait()))
	}
}
