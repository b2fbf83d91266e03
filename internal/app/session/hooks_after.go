package session

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// following returns the inputs of the hooks that follow a call, one for each event.
func (h *hooks) following(r tool.Request, o tool.Outcome) []hook.Input {
	if h == nil {
		return nil
	}
	var out []hook.Input
	add := func(e hook.Event) *hook.Input {
		in := h.about(e, r.Call, r.Declaration)
		in.Failed = o.Status != tool.StatusSuccess
		if changes := o.Changes.Reported(); changes != nil {
			in.Changes = changes
		}
		in.Paths = h.s.changedPaths(o.Changes)
		out = append(out, in)
		return &out[len(out)-1]
	}
	add(hook.PostToolUse).ToolResponse = o.Result
	add(hook.FilesChanged)
	return slices.DeleteFunc(out, func(in hook.Input) bool { return !h.runner.Wants(in, toolNames(r.Declaration)...) })
}

// changedPaths returns the paths of changes that last, for matchers.
func (s *Session) changedPaths(c tool.Changes) []hook.ChangedPath {
	var out []hook.ChangedPath
	add := func(path string, gone bool) {
		out = append(out, hook.ChangedPath{Path: path, Rel: names.Short(actualPath(path), s.Tools.Roots()...), Gone: gone})
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

// actualPath returns the path of a change, which is quoted if it isn't valid UTF-8.
func actualPath(path string) string {
	if name, err := strconv.Unquote(path); err == nil {
		return name
	}
	return path
}

// ran forgets a call that ran.
func (h *hooks) ran(c tool.Call) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.calls, keyOf(c))
}

// after runs the hooks that follow a call, and returns what they report to the model.
func (h *hooks) after(ctx context.Context, r tool.Request, inputs []hook.Input) (texts []string) {
	for _, in := range inputs {
		result := h.runner.Run(ctx, in, toolNames(r.Declaration)...)
		h.stopIf(result)
		if result.Verdict == hook.Deny {
			texts = append(texts, "A hook reports a problem with this call: "+result.Reason)
		}
		texts = append(texts, result.Context...)
	}
	return texts
}

// withTexts adds the texts of hooks to a result.
func withTexts(o tool.Outcome, texts []string) tool.Outcome {
	for _, text := range texts {
		o.Result.Content = append(slices.Clip(o.Result.Content), tool.Text("\n[hook] "+text))
	}
	return o
}
