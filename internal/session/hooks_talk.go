package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/model"
)

// converse notes that a conversation begins. Its hooks run with the first prompt.
func (h *hooks) converse(model string, resumed bool) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model, h.source = model, "startup"
	switch {
	case resumed:
		h.source = "resume"
	case h.began:
		h.source = "clear"
	}
}

// enter begins a prompt. Hooks can stop it until leave is called.
func (h *hooks) enter(ctx context.Context) (running context.Context, leave func()) {
	if h == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.halt = cancel
	source := h.source
	h.source, h.began = "", true
	h.mu.Unlock()
	if source != "" {
		in := h.input(hook.SessionStart)
		in.Source, in.Model = source, h.model
		r := h.runner.Run(ctx, in, source)
		h.stopIf(r)
		h.tellModel(r.Context)
	}
	return ctx, func() {
		h.mu.Lock()
		h.halt = nil
		h.mu.Unlock()
		cancel(nil)
	}
}

// tellModel sends context with the next turn.
func (h *hooks) tellModel(texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range texts {
		h.waiting = append(h.waiting, "[hook] "+text)
	}
}

// news are messages for the model's next turn.
func (h *hooks) news() []string {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	news := h.waiting
	h.waiting = nil
	return news
}

// stopIf stops the running prompt if a hook says so.
func (h *hooks) stopIf(r hook.Result) {
	if !r.Halt {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halt != nil {
		h.halt(stoppedByHook(r.HaltWhy))
	}
}

func stoppedByHook(why string) error {
	if why == "" {
		return errorf(ErrHook, "stopped by a hook")
	}
	return errorf(ErrHook, "stopped by a hook: %s", why)
}

// prompted runs UserPromptSubmit hooks. They can block the prompt and add to it.
func (h *hooks) prompted(ctx context.Context, prompt []model.Part) ([]model.Part, error) {
	if h == nil {
		return prompt, nil
	}
	in := h.input(hook.UserPromptSubmit)
	in.Prompt = model.Message{Parts: prompt}.Text()
	in.SubmittedPrompt = in.Prompt
	r := h.runner.Run(ctx, in)
	h.stopIf(r)
	switch {
	case r.Verdict == hook.Deny && r.Reason != "":
		return nil, errorf(ErrHook, "the prompt was blocked by a hook: %s", r.Reason)
	case r.Verdict == hook.Deny:
		return nil, errorf(ErrHook, "the prompt was blocked by a hook")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	for _, text := range r.Context {
		prompt = append(prompt[:len(prompt):len(prompt)], model.Text("\n\n[hook] "+text))
	}
	return prompt, nil
}

// stopping runs Stop hooks after an answer. With more, the model gets the text and continues.
func (h *hooks) stopping(ctx context.Context, answer string, blocks int) (text string, more bool) {
	if h == nil {
		return "", false
	}
	in := h.input(hook.Stop)
	active := blocks > 0
	in.StopHookActive, in.LastMessage = &active, answer
	r := h.runner.Run(ctx, in)
	switch {
	case r.Verdict != hook.Deny || r.Halt || ctx.Err() != nil:
		return "", false
	case blocks >= h.s.Settings.Hooks.StopBlockingCap:
		h.s.env.warn("Stop hooks kept the model working %d times in a row; stopped anyway (stopHookBlockingCap)", blocks)
		return "", false
	}
	text = "A Stop hook requires you to continue"
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text, true
}

// stopped is the error of a prompt that a hook stopped, or err.
func (h *hooks) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, ErrHook) {
		return cause
	}
	return err
}

// compacting runs PreCompact hooks.
func (h *hooks) compacting(ctx context.Context, requested bool) {
	if h == nil {
		return
	}
	in := h.input(hook.PreCompact)
	if in.Trigger = "auto"; requested {
		in.Trigger = "manual"
	}
	h.stopIf(h.runner.Run(ctx, in, in.Trigger))
}

// ended runs SubagentStop hooks, which decide nothing.
func (h *hooks) ended(ctx context.Context, m agent.Member, a agent.Answer) {
	if h == nil {
		return
	}
	in := h.input(hook.SubagentStop)
	active := false
	in.AgentID, in.AgentType, in.AgentTranscript, in.LastMessage, in.StopHookActive = m.Path, m.Role, in.TranscriptPath, a.Text, &active
	h.runner.Run(ctx, in, m.Role)
}

// notify runs Notification hooks, and doesn't wait for them.
func (h *hooks) notify(kind, message string) {
	in := h.input(hook.Notification)
	in.Kind, in.Message, in.Title = kind, message, "Adze"
	h.runner.Start(in, kind)
}

// endTime is how long the hooks of a session's end can take.
const endTime = 10 * time.Second

// close runs SessionEnd hooks and ends all of them.
func (h *hooks) close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	began := h.began
	h.mu.Unlock()
	if began {
		ctx, cancel := context.WithTimeoutCause(context.Background(), endTime, fmt.Errorf("the session ended"))
		defer cancel()
		if h.s.env.Hurry != nil {
			go func() {
				select {
				case <-h.s.env.Hurry:
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		in := h.input(hook.SessionEnd)
		in.Reason = "other"
		h.runner.Run(ctx, in, in.Reason)
	}
	return h.runner.Close()
}
