package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// Following forgets a call that ran, and returns the inputs of the hooks that follow it, one for each event.
func (h *Hooks) Following(r tool.Request, o tool.Outcome) []hook.Input {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	known := h.calls[keyOf(r.Call)]
	delete(h.calls, keyOf(r.Call))
	h.mu.Unlock()
	var out []hook.Input
	add := func(e hook.Event) {
		in := h.about(e, r.Call, r.Declaration)
		in.Failed, in.Checked = o.Status != tool.StatusSuccess, known != nil && known.checked
		if changes := o.Changes.Reported(); changes != nil {
			in.Changes = changes
		}
		in.Paths = changedPaths(o.Changes, h.s.Tools.Roots())
		if e == hook.PostToolUse {
			in.ToolResponse = o.Result
		}
		out = append(out, in)
	}
	add(hook.PostToolUse)
	add(hook.FilesChanged)
	if in, ok := h.failure(r.Call, r.Declaration, o); ok {
		in.Changes, in.Paths = out[0].Changes, out[0].Paths
		out = append(out, in)
	}
	return slices.DeleteFunc(out, func(in hook.Input) bool { return !h.runner.Wants(in, ToolNames(r.Declaration)...) })
}

// failure returns the input of hooks for a call that failed or was denied.
func (h *Hooks) failure(c tool.Call, d tool.Declaration, o tool.Outcome) (in hook.Input, ok bool) {
	if o.Status == tool.StatusSuccess || o.Error == nil {
		return in, false
	}
	if o.Status == tool.StatusDenied {
		in = h.about(hook.PermissionDenied, c, d)
		in.Reason = o.Error.Message
		return in, true
	}
	in = h.about(hook.PostToolUseFailure, c, d)
	interrupted := o.Status == tool.StatusCancelled
	in.Error, in.IsInterrupt = o.Error.Message, &interrupted
	return in, true
}

// Unrun is Executor.Unrun: hooks for calls that were denied or couldn't run.
func (h *Hooks) Unrun(ctx context.Context, c tool.Call, d tool.Declaration, o tool.Outcome) tool.Outcome {
	h.mu.Lock()
	delete(h.calls, keyOf(c))
	h.mu.Unlock()
	in, ok := h.failure(c, d, o)
	if !ok {
		return o
	}
	return Labeled(o, "hook", h.After(ctx, d, []hook.Input{in}))
}

// changedPaths returns the paths of changes that last, for matchers.
func changedPaths(c tool.Changes, roots []string) []hook.ChangedPath {
	var out []hook.ChangedPath
	add := func(path string, gone bool) {
		rel := names.Short(humanize.UnquotePath(path), roots...)
		if strings.HasSuffix(path, "/") && !strings.HasSuffix(rel, "/") { // it stands for many files
			rel, gone = rel+"/", true
		}
		out = append(out, hook.ChangedPath{Path: path, Rel: rel, Gone: gone})
	}
	for _, one := range c.List {
		if one.Discarded {
			continue
		}
		if one.From != "" {
			add(one.From, true)
		}
		add(one.Path, one.Kind == tool.Deleted || one.After == "dir" || strings.HasPrefix(one.After, "link:"))
	}
	return out
}

// maxDiff bounds the diff of proposed changes for hooks.
const maxDiff = 100 << 10

// Proposed is Executor.Proposed: hooks that see the changes of a trial before they are kept.
func (h *Hooks) Proposed(ctx context.Context, r tool.Request) tool.Decision {
	f, ok := r.Confirm.(tool.Effects)
	if !ok || len(f.Changes) == 0 {
		return tool.Decision{Verdict: tool.Allow}
	}
	h.change(r.Call, func(k *hookedCall) { k.checked = true })
	var changes tool.Changes
	diff := ""
	for _, c := range f.Changes {
		one := c.Change()
		if c.Counted {
			one.Lines = &tool.LineCount{Added: c.Added, Removed: c.Removed}
		}
		changes.List = append(changes.List, one)
		if len(diff)+len(c.Diff) <= maxDiff && !h.s.Secret(c.Abs) {
			diff += c.Diff
		}
	}
	for _, e := range []hook.Event{hook.PostToolUse, hook.FilesChanged} {
		in := h.about(e, r.Call, r.Declaration)
		in.Proposed, in.Diff, in.Changes = true, h.s.Tools.Mask(diff), changes.Reported()
		in.Paths = changedPaths(changes, h.s.Tools.Roots())
		result := h.runner.Run(ctx, in, ToolNames(r.Declaration)...)
		h.stopIf(result)
		switch result.Verdict {
		case hook.Deny:
			return tool.Decision{Verdict: tool.Deny, Reason: result.Reason}
		case hook.Ask:
			return tool.Decision{Verdict: tool.Ask, Reason: result.Reason}
		}
	}
	return tool.Decision{Verdict: tool.Allow}
}

// After runs the hooks that follow a call, and returns what they report to the model.
func (h *Hooks) After(ctx context.Context, d tool.Declaration, inputs []hook.Input) (texts []string) {
	for _, in := range inputs {
		if ctx.Err() != nil && in.Event == hook.PostToolUseFailure { // the user doesn't wait for it
			h.runner.Start(in, ToolNames(d)...)
			continue
		}
		result := h.runner.Run(ctx, in, ToolNames(d)...)
		h.stopIf(result)
		if result.Verdict == hook.Deny {
			texts = append(texts, "A hook reports a problem with this call: "+result.Reason)
		}
		texts = append(texts, result.Context...)
	}
	return texts
}

// Labeled adds texts to a result, with a label.
func Labeled(o tool.Outcome, label string, texts []string) tool.Outcome {
	for _, text := range texts {
		o.Result.Content = append(slices.Clip(o.Result.Content), tool.Text("\n["+label+"] "+text))
	}
	return o
}
