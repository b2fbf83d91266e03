// Package hooks connects the user's hooks, and programs that run after changes, to the events of a session.
package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Session is what hooks need of a session.
type Session struct {
	ID         string
	Directory  project.Directory
	Env        project.Env
	Policy     *permission.Policy
	Registry   *tool.Registry
	Tools      *builtin.Set
	Memory     func() []contextfiles.File // context files
	Transcript string                     // the journal; "" without one
	Secret     func(path string) bool     // nothing about the content of a file may be told
	StopCap    int                        // how often in a row Stop hooks can keep the model working
}

// Hooks connect the user's hooks to a session. nil means none.
type Hooks struct {
	s      Session
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

// Read reads the hooks of settings and plugins. An invalid hook is an error, because it may be meant to protect.
func Read(set settings.Hooks, plugins []*plugin.Plugin, d project.Directory) (all []Listed, err error) {
	if set.Disabled {
		return nil, nil
	}
	for _, g := range set.Given {
		found, warnings, err := hook.Parse(g.JSON)
		if err != nil {
			return nil, project.Errorf(project.ErrRules, "read settings %s: %v", g.From, err)
		}
		for _, w := range warnings {
			d.Env.Warn("%s: %s", g.From, w)
		}
		for _, h := range found {
			if h.Command != "" {
				h.Check = trust.Unchanged(h.Command, d.Path)
			}
			all = append(all, Listed{h, g.From.String()})
		}
	}
	for _, p := range plugins {
		for _, h := range p.Hooks {
			all = append(all, Listed{h, "plugin " + p.Name})
		}
	}
	return all, nil
}

// Listed is a hook of settings or a plugin, with its position.
type Listed struct {
	hook.Hook
	From string // file:line:column, or the plugin
}

// New connects a runner to a session.
func New(s Session, runner *hook.Runner) *Hooks {
	return &Hooks{s: s, calls: map[callKey]*hookedCall{}, runner: runner}
}

// Add adds hooks: functions of a program that embeds the session, or of its client. It must be called before the first
// call.
func (h *Hooks) Add(more ...hook.Hook) { h.runner.Add(more...) }

// input returns the fields that every hook gets.
func (h *Hooks) input(e hook.Event) hook.Input {
	in := hook.Input{
		SessionID: h.s.ID, CWD: h.s.Directory.Path, Event: e, Timestamp: h.s.Env.Time().UTC(),
		PermissionMode: h.s.Policy.Mode().String(), TranscriptPath: h.s.Transcript,
	}
	return in
}

// about returns the input for an event of a call.
func (h *Hooks) about(e hook.Event, c tool.Call, d tool.Declaration) hook.Input {
	in := h.input(e)
	in.ToolInput, in.ToolUseID, in.ToolCallID, in.AgentID = c.Args, c.ID, c.ID, c.By
	if t, err := h.s.Registry.Lookup(d.Name); err == nil {
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

// ToolNames returns the names by which a matcher can match a tool.
func ToolNames(d tool.Declaration) []string {
	all := append([]string{discover.LongName(d), d.Name}, d.Aliases...)
	return append(append(all, d.RuleNames...), d.Title())
}

func keyOf(c tool.Call) callKey { return callKey{c.By, c.ID} }

// change updates the state of a call.
func (h *Hooks) change(c tool.Call, change func(*hookedCall)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.calls[keyOf(c)]
	if known == nil {
		known = &hookedCall{}
		h.calls[keyOf(c)] = known
	}
	change(known)
}

// Before is Executor.Before: PreToolUse.
func (h *Hooks) Before(ctx context.Context, c tool.Call, d tool.Declaration) (tool.Decision, error) {
	r := h.runner.Run(ctx, h.about(hook.PreToolUse, c, d), ToolNames(d)...)
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

// Asking runs PermissionRequest hooks, then asks the user. Hooks can only answer what the policy asks.
func (h *Hooks) Asking(ctx context.Context, r tool.Request, why tool.Decision, ask tool.Asker) (tool.Decision, error) {
	if h == nil || r.Call.ID == "" {
		return ask(ctx, r, why)
	}
	result := h.runner.Run(ctx, h.about(hook.PermissionRequest, r.Call, r.Declaration), ToolNames(r.Declaration)...)
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
func (h *Hooks) edited(ctx context.Context, r tool.Request, answer tool.Decision) (tool.Decision, error) {
	c := r.Call
	c.Args = answer.Args
	again := h.runner.Run(ctx, h.about(hook.PreToolUse, c, r.Declaration), ToolNames(r.Declaration)...)
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
func (h *Hooks) rewritten(ctx context.Context, r tool.Request, result hook.Result) error {
	h.change(r.Call, func(k *hookedCall) { k.rewritten = true })
	c := r.Call
	c.Args = result.Input
	again := h.runner.Run(ctx, h.about(hook.PreToolUse, c, r.Declaration), ToolNames(r.Declaration)...)
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

// Starts notes that a call runs, and returns context for its result.
func (h *Hooks) Starts(c tool.Call) []string {
	if h == nil {
		return nil
	}
	var texts []string
	h.change(c, func(k *hookedCall) { texts, k.running = k.context, true })
	return texts
}

// Converse records that a conversation starts. Its hooks run with the first prompt.
func (h *Hooks) Converse(model string, resumed bool) {
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

// Enter starts a prompt. Hooks can stop it until leave is called.
func (h *Hooks) Enter(ctx context.Context) (running context.Context, leave func()) {
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
func (h *Hooks) tellModel(texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range texts {
		h.waiting = append(h.waiting, "[hook] "+h.s.Tools.Mask(text))
	}
}

// News returns messages for the model's next turn.
func (h *Hooks) News() []string {
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
func (h *Hooks) stopIf(r hook.Result) {
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

// Prompted runs UserPromptSubmit hooks. They can block the prompt and add to it.
func (h *Hooks) Prompted(ctx context.Context, prompt []model.Part) ([]model.Part, error) {
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

// Stopping runs Stop hooks after an answer. With more, the model gets the text and continues.
func (h *Hooks) Stopping(ctx context.Context, answer string, blocks int) (text string, more bool) {
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
	case blocks >= h.s.StopCap:
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

// Stopped returns the error of a prompt that a hook stopped, or err.
func (h *Hooks) Stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, project.ErrHook) {
		return cause
	}
	return err
}

// notify runs Notification hooks, and doesn't wait for them.
func (h *Hooks) notify(kind, message string) {
	in := h.input(hook.Notification)
	in.Kind, in.Message, in.Title = kind, message, "Adze"
	h.runner.Start(in, kind)
}

// endTime is how long the hooks of a session's end can take.
const endTime = 10 * time.Second

// Close runs SessionEnd hooks and stops all hooks.
func (h *Hooks) Close() error {
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
