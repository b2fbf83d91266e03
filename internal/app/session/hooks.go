package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// hooks connect the user's hooks to a session. nil means none.
type hooks struct {
	s      *Session
	runner *hook.Runner

	mu      sync.Mutex
	calls   map[callKey]*hookedCall
	waiting []string                // context for the model's next turn
	halt    context.CancelCauseFunc // stops the running prompt; nil: none runs
	source  string                  // why the conversation starts; "": its start was reported
	model   string
	trigger string // of the last compaction
	began   bool   // a start was reported, so the end is too
}

// callKey identifies a call: agents have their own IDs.
type callKey struct{ by, id string }

// hookedCall is the result of hooks for a call that hasn't ended.
type hookedCall struct {
	context   []string // for its result
	rewritten bool     // by a PermissionRequest hook
	running   bool
	checked   bool // hooks saw the proposed changes
}

// openHooks reads the hooks of settings and plugins. An invalid hook is an error, because it may be meant to protect.
func (s *Session) openHooks() error {
	var all []hook.Hook
	if !s.Settings.Hooks.Disabled {
		for _, g := range s.Settings.Hooks.Given {
			found, warnings, err := hook.Parse(g.JSON)
			if err != nil {
				return project.Errorf(project.ErrRules, "read settings %s: %v", g.From, err)
			}
			for _, w := range warnings {
				s.Env.Warn("%s: %s", g.From, w)
			}
			for i, h := range found {
				if h.Command != "" {
					found[i].Check = trust.Unchanged(h.Command, s.Directory.Path)
				}
			}
			for _, h := range found {
				s.hookList = append(s.hookList, ListedHook{h, g.From.String()})
			}
			all = append(all, found...)
		}
		for _, p := range s.Definitions.plugins {
			for _, h := range p.Hooks {
				s.hookList = append(s.hookList, ListedHook{h, "plugin " + p.Name})
			}
			all = append(all, p.Hooks...)
		}
	}
	if len(all) > 0 {
		s.AddHooks(all...)
	}
	return nil
}

// ListedHook is a hook of settings or a plugin, with its position.
type ListedHook struct {
	hook.Hook
	From string // file:line:column, or the plugin
}

// Hooks returns the hooks of settings and plugins that run.
func (s *Session) Hooks() []ListedHook { return s.hookList }

// AddHooks adds hooks to those of settings: functions of a program that embeds the session, or of its client. It must
// be called before the first call.
func (s *Session) AddHooks(more ...hook.Hook) {
	if s.hooks != nil {
		s.hooks.runner.Add(more...)
		return
	}
	s.hooks = &hooks{s: s, calls: map[callKey]*hookedCall{}, runner: hook.Open(s.hookOptions(more...))}
	s.Executor.Before, s.Executor.Proposed, s.Executor.Around = s.hooks.before, s.hooks.proposed, s.around
	s.Executor.Unrun = s.hooks.unrun
}

// allowsHost reports whether an allow rule lets hooks send requests to a host.
func (s *Session) allowsHost(host string) bool {
	for _, t := range s.Tools.All() {
		d := t.Declaration()
		if d.Kind != tool.Fetch {
			continue
		}
		verdict := s.Policy.Judge(tool.Request{Declaration: d, Invocation: tool.Invocation{
			Access: []tool.Access{{Verb: tool.Reaches, Target: host}},
		}})
		if verdict.Verdict == tool.Allow && verdict.Cause.Kind == tool.ByRule {
			return true
		}
	}
	return false
}

// answer asks the model a question of a hook, in a request of its own.
func (s *Session) answer(ctx context.Context, prompt string) (string, error) {
	a, err := s.Models.Sample(ctx, discover.Sampling{MaxTokens: 2000, Messages: []discover.SamplingMessage{
		{Role: string(model.User), Content: tool.Text(s.Tools.Mask(prompt))},
	}})
	return a.Text, err
}

// input returns the fields that every hook gets.
func (h *hooks) input(e hook.Event) hook.Input {
	in := hook.Input{
		SessionID: h.s.ID, CWD: h.s.Directory.Path, Event: e, Timestamp: h.s.Env.Time().UTC(),
		PermissionMode: h.s.Policy.Mode().String(),
	}
	if h.s.recorder != nil {
		in.TranscriptPath = record.Of(h.s.Directory).Path(h.s.ID)
	}
	return in
}

// about returns the input for an event of a call.
func (h *hooks) about(e hook.Event, c tool.Call, d tool.Declaration) hook.Input {
	in := h.input(e)
	in.ToolInput, in.ToolUseID, in.ToolCallID, in.AgentID = c.Args, c.ID, c.ID, c.By
	if t, err := h.s.Executor.Registry.Lookup(d.Name); err == nil {
		in.ToolInput = tool.ArgumentsOf(t, c.Args)
	}
	switch {
	case len(in.ToolInput) == 0:
		in.ToolInput = []byte("{}")
	case !json.Valid(in.ToolInput): // the call will fail
		in.ToolInput, _ = json.Marshal(string(in.ToolInput))
	}
	return in
}

// toolNames returns the names by which a matcher can match a tool.
func toolNames(d tool.Declaration) []string {
	all := append([]string{d.Name}, d.Aliases...)
	all = append(append(all, d.RuleNames...), d.Title())
	if strings.HasPrefix(d.Origin, "mcp:") && !strings.HasPrefix(d.Name, "mcp__") {
		all = append(all, "mcp__"+d.Name)
	}
	return all
}

func keyOf(c tool.Call) callKey { return callKey{c.By, c.ID} }

// change updates the state of a call.
func (h *hooks) change(c tool.Call, change func(*hookedCall)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.calls[keyOf(c)]
	if known == nil {
		known = &hookedCall{}
		h.calls[keyOf(c)] = known
	}
	change(known)
}

// before is Executor.Before: PreToolUse.
func (h *hooks) before(ctx context.Context, c tool.Call, d tool.Declaration) (tool.Decision, error) {
	r := h.runner.Run(ctx, h.about(hook.PreToolUse, c, d), toolNames(d)...)
	h.stopIf(r)
	if len(r.Context) > 0 {
		h.change(c, func(k *hookedCall) { k.context = append(k.context, r.Context...) })
	}
	out := tool.Decision{Verdict: tool.Allow, Args: r.Input, Reason: r.Reason}
	switch r.Verdict {
	case hook.Deny:
		out.Verdict = tool.Deny
	case hook.Ask:
		out.Verdict = tool.Ask
	case hook.Allow:
		out.Approve = true
	}
	return out, nil
}

// asking runs PermissionRequest hooks, then asks the user. Hooks can only answer what the policy asks.
func (h *hooks) asking(ctx context.Context, r tool.Request, why tool.Decision, ask tool.Asker) (tool.Decision, error) {
	if h == nil || r.Call.ID == "" {
		return ask(ctx, r, why)
	}
	result := h.runner.Run(ctx, h.about(hook.PermissionRequest, r.Call, r.Declaration), toolNames(r.Declaration)...)
	h.stopIf(result)
	var known hookedCall
	h.change(r.Call, func(k *hookedCall) { known = *k })
	rewrites := result.Input != nil && result.Verdict == hook.Allow
	switch {
	case result.Verdict == hook.Deny:
		return tool.Decision{}, deniedByHook(r, result.Reason)
	case rewrites && known.rewritten:
		return tool.Decision{}, deniedByHook(r, "its input was rewritten twice")
	case result.Verdict != hook.Allow || known.running || r.MustAsk || r.Form != nil || why.UserOnly():
		h.notify("permission_prompt", "Adze needs approval: "+r.Description)
		answer, err := ask(ctx, r, why)
		if err != nil || answer.Verdict != tool.Allow || answer.Args == nil {
			return answer, err
		}
		return h.edited(ctx, r, answer)
	}
	if rewrites {
		if denied := h.rewritten(ctx, r, result); denied != nil {
			return tool.Decision{}, denied
		}
	}
	return tool.Decision{
		Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByHook}, Reason: result.Reason, Args: result.Input,
	}, nil
}

// edited runs PreToolUse hooks again with the arguments that the user edited. If one asks, the user's approval is the
// answer.
func (h *hooks) edited(ctx context.Context, r tool.Request, answer tool.Decision) (tool.Decision, error) {
	c := r.Call
	c.Args = answer.Args
	again := h.runner.Run(ctx, h.about(hook.PreToolUse, c, r.Declaration), toolNames(r.Declaration)...)
	h.stopIf(again)
	if again.Verdict == hook.Deny {
		return tool.Decision{}, deniedByHook(r, again.Reason)
	}
	if again.Input != nil {
		answer.Args = again.Input
	}
	return answer, nil
}

// rewritten runs PreToolUse hooks again with the rewritten input of a call.
func (h *hooks) rewritten(ctx context.Context, r tool.Request, result hook.Result) error {
	h.change(r.Call, func(k *hookedCall) { k.rewritten = true })
	c := r.Call
	c.Args = result.Input
	again := h.runner.Run(ctx, h.about(hook.PreToolUse, c, r.Declaration), toolNames(r.Declaration)...)
	h.stopIf(again)
	switch {
	case again.Input != nil:
		return deniedByHook(r, "its input was rewritten twice")
	case again.Verdict >= hook.Ask:
		return deniedByHook(r, again.Reason)
	}
	return nil
}

// deniedByHook returns the error of a call that a PermissionRequest hook denies.
func deniedByHook(r tool.Request, reason string) error {
	text := r.Description + ": denied by a hook"
	if reason != "" {
		text += ": " + strings.TrimRight(reason, ".")
	}
	return &tool.DenialError{
		Model: fmt.Sprintf("Permission denied: %s. Continue without it, or tell the user what you need.", text),
		User:  "permission denied: " + text,
	}
}

// starts notes that a call runs, and returns context for its result.
func (h *hooks) starts(c tool.Call) []string {
	if h == nil {
		return nil
	}
	var texts []string
	h.change(c, func(k *hookedCall) { texts, k.running = k.context, true })
	return texts
}

// converse records that a conversation starts. Its hooks run with the first prompt.
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

// enter starts a prompt. Hooks can stop it until leave is called.
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
		h.instructed()
	}
	return ctx, func() {
		h.mu.Lock()
		h.halt = nil
		h.mu.Unlock()
		cancel(nil)
	}
}

// tellModel adds context to the next turn.
func (h *hooks) tellModel(texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range texts {
		h.waiting = append(h.waiting, "[hook] "+h.s.Tools.Mask(text))
	}
}

// news returns messages for the model's next turn.
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

// stopIf stops the running prompt if a hook requests it.
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
		return project.Errorf(project.ErrHook, "stopped by a hook")
	}
	return project.Errorf(project.ErrHook, "stopped by a hook: %s", why)
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
		return nil, project.Errorf(project.ErrHook, "the prompt was blocked by a hook: %s", r.Reason)
	case r.Verdict == hook.Deny:
		return nil, project.Errorf(project.ErrHook, "the prompt was blocked by a hook")
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
		h.s.Env.Warn("Stop hooks kept the model working %d times in a row; stopped anyway (stopHookBlockingCap)",
			blocks)
		return "", false
	}
	text = "A Stop hook requires you to continue"
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text, true
}

// stopped returns the error of a prompt that a hook stopped, or err.
func (h *hooks) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, project.ErrHook) {
		return cause
	}
	return err
}

// notify runs Notification hooks, and doesn't wait for them.
func (h *hooks) notify(kind, message string) {
	in := h.input(hook.Notification)
	in.Kind, in.Message, in.Title = kind, message, "Adze"
	h.runner.Start(in, kind)
}

// endTime is how long the hooks of a session's end can take.
const endTime = 10 * time.Second

// close runs SessionEnd hooks and stops all hooks.
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
		if h.s.Env.Hurry != nil {
			go func() {
				select {
				case <-h.s.Env.Hurry:
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
