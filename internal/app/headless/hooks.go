package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/hook"
)

// registration is a hook of the program: one callback of Qwen Code's SDK, or several of Claude's.
type registration struct {
	Event    string   `json:"event"`
	Callback string   `json:"callback_id"`
	Several  []string `json:"hookCallbackIds"`
	Matcher  string   `json:"matcher"`
	Timeout  float64  `json:"timeout"` // seconds; 0: 60

	OnFailure      string          `json:"onFailure"` // continue: as without; block
	WhenUnanswered json.RawMessage `json:"whenUnanswered"`
}

// failure returns what happens if a hook fails.
func (r registration) failure() (hook.Failure, error) {
	switch e := hook.Event(r.Event); {
	case !empty(r.WhenUnanswered):
		return "", fmt.Errorf("hooks.%s.whenUnanswered isn't supported", e)
	case r.OnFailure == "" || r.OnFailure == "continue":
		return "", nil
	case r.OnFailure == "block" && (e == hook.PreToolUse || e == hook.PermissionRequest):
		return hook.FailureBlocks, nil
	}
	return "", fmt.Errorf("hooks.%s.onFailure: expected continue, or block for PreToolUse and "+
		"PermissionRequest, got %q", r.Event, r.OnFailure)
}

// newHooks returns the hooks that the program registers: a list of events and callbacks, or lists by event.
func (h *host) newHooks(raw json.RawMessage) ([]hook.Hook, error) {
	if raw = bytes.TrimSpace(raw); empty(raw) {
		return nil, nil
	}
	var list []registration
	if raw[0] == '{' {
		var events map[string][]registration
		if json.Unmarshal(raw, &events) != nil {
			return nil, errHooks
		}
		for _, event := range slices.Sorted(maps.Keys(events)) {
			for _, r := range events[event] {
				r.Event = event
				list = append(list, r)
			}
		}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, errHooks
	}
	var out []hook.Hook
	for _, r := range list {
		if !slices.Contains(hook.Events(), hook.Event(r.Event)) {
			return nil, fmt.Errorf("hooks: unknown or unsupported event %q (expected %s)", r.Event,
				eventNames())
		}
		ids := r.Several
		if r.Callback != "" {
			ids = append(ids, r.Callback)
		}
		failure, err := r.failure()
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 || r.Timeout < 0 || r.Timeout > math.MaxInt32 {
			return nil, errHooks
		}
		for _, id := range ids {
			out = append(out, hook.Hook{
				Event: hook.Event(r.Event), Matcher: r.Matcher, Name: "callback " + id, Run: h.callback(id),
				Timeout: time.Duration(r.Timeout * float64(time.Second)), OnFailure: failure,
			})
		}
	}
	return out, nil
}

var errHooks = errors.New(`hooks: expected [{"event": …, "callback_id": …}] or {"EVENT": [{"matcher": …, "hookCallbackIds": […]}]}`)

func eventNames() string {
	var names []string
	for _, e := range hook.Events() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// callback returns a hook that runs in the program. Without an answer, the hook failed.
func (h *host) callback(id string) hook.Func {
	return func(ctx context.Context, in hook.Input) (hook.Output, error) {
		request := map[string]any{"subtype": "hook_callback", "callback_id": id, "input": in, "tool_use_id": nil}
		if in.ToolUseID != "" {
			request["tool_use_id"] = in.ToolUseID
		}
		raw, err := h.asked.call(ctx, request)
		if err != nil {
			return hook.Output{}, err
		}
		if raw = bytes.TrimSpace(raw); empty(raw) {
			return hook.Output{}, nil
		}
		var out hook.Output
		if err := json.Unmarshal(raw, &out); err != nil || raw[0] != '{' {
			return hook.Output{}, errors.New("its response is not the expected object")
		}
		return out, nil
	}
}
