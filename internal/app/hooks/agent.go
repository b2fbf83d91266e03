package hooks

import (
	"context"
	"errors"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/project"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/model"
)

// Compacting runs PreCompact hooks.
func (h *Hooks) Compacting(ctx context.Context, requested bool) {
	if h == nil {
		return
	}
	in := h.input(hook.PreCompact)
	if in.Trigger = "auto"; requested {
		in.Trigger = "manual"
	}
	h.mu.Lock()
	h.trigger = in.Trigger
	h.mu.Unlock()
	h.stopIf(h.runner.Run(ctx, in, in.Trigger))
}

// Ended runs SubagentStop hooks, which can't decide.
func (h *Hooks) Ended(ctx context.Context, m agent.Member, a agent.Answer) {
	if h == nil {
		return
	}
	in := h.input(hook.SubagentStop)
	active := false
	in.AgentID, in.AgentType, in.AgentTranscript, in.LastMessage, in.StopHookActive = m.Path, m.Role, in.TranscriptPath,
		a.Text, &active
	h.runner.Run(ctx, in, m.Role)
}

// Begun runs SubagentStart hooks, and returns context for the subagent.
func (h *Hooks) Begun(ctx context.Context, m agent.Member) []string {
	if h == nil {
		return nil
	}
	in := h.input(hook.SubagentStart)
	in.AgentID, in.AgentType = m.Path, m.Role
	r := h.runner.Run(ctx, in, m.Role)
	h.stopIf(r)
	var texts []string
	for _, text := range r.Context {
		texts = append(texts, "[hook] "+h.s.Tools.Mask(text))
	}
	return texts
}

// Event starts PostCompact hooks.
func (h *Hooks) Event(e agent.Event) {
	c, ok := e.(agent.Compacted)
	if h == nil || !ok || c.Err != nil {
		return
	}
	in := h.input(hook.PostCompact)
	h.mu.Lock()
	in.Trigger, in.Summary = h.trigger, c.Summary
	h.mu.Unlock()
	h.runner.Start(in, in.Trigger)
}

// instructed starts InstructionsLoaded hooks, for each context file.
func (h *Hooks) instructed() {
	if !h.runner.Has(hook.InstructionsLoaded) {
		return
	}
	files := h.s.Memory()
	for _, f := range files {
		in := h.input(hook.InstructionsLoaded)
		in.FilePath, in.MemoryType, in.LoadReason = f.Path, "Project", "session_start"
		if f.Scope == contextfiles.User {
			in.MemoryType = "User"
		}
		for _, parent := range files {
			if f.ImportedBy != "" && parent.Name == f.ImportedBy {
				in.LoadReason, in.ParentPath = "include", parent.Path
			}
		}
		h.runner.Start(in, in.LoadReason)
	}
}

// Failed starts StopFailure hooks after the model's turn failed.
func (h *Hooks) Failed(ctx context.Context, err error, answer string) {
	if h == nil || ctx.Err() != nil || errors.Is(err, project.ErrHook) {
		return
	}
	in := h.input(hook.StopFailure)
	in.Error, in.ErrorDetails, in.LastMessage = failureName(err), h.s.Tools.Mask(err.Error()), answer
	h.runner.Start(in, in.Error)
}

// failureName returns the word that other agents have for an error.
func failureName(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{model.ErrRateLimit, "rate_limit"}, {model.ErrCredentials, "authentication_failed"},
		{model.ErrQuota, "billing_error"}, {model.ErrUnknownModel, "invalid_request"},
		{model.ErrContextLength, "invalid_request"}, {model.ErrRejected, "invalid_request"},
		{model.ErrServer, "server_error"}, {model.ErrUnreachable, "server_error"}, {model.ErrTimeout, "server_error"},
		{model.ErrCut, "server_error"}, {agent.ErrStuck, "loop_detected"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "unknown"
}
