package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adze-dev/adze/discover"
)

// initialization has the settings that a program makes before the first prompt.
type initialization struct {
	Hooks   json.RawMessage `json:"hooks"`
	Timeout struct {
		CanUseTool *float64 `json:"canUseTool"`
	} `json:"timeout"`
	SDKServers   programServers             `json:"sdkMcpServers"`
	Policies     map[string]serverPolicy    `json:"sdkMcpServerConfigs"`
	Servers      map[string]json.RawMessage `json:"mcpServers"`
	Agents       subagents                  `json:"agents"`
	Effort       string                     `json:"effort"`
	SystemPrompt texts                      `json:"systemPrompt"`
	Append       string                     `json:"appendSystemPrompt"`
}

// known returns the names of the fields that have an effect here, and those that may be ignored: they don't
// change what calls may do. Others are errors.
func known() []string {
	return []string{
		"subtype", "hooks", "timeout", "sdkMcpServers", "sdkMcpServerConfigs", "mcpServers", "agents", "effort",
		"systemPrompt", "appendSystemPrompt",
		"title", "sdkMcpServerManifests", "sdkMcpServerManifestsOrigin", "promptSuggestions", "agentProgressSummaries",
		"forwardSubagentText", "supportedDialogKinds", "perTaskStopAffordance", "rapidFollowupPreempt",
		"forwardNestedSubagentToolCalls", "systemPromptSnapshot", "excludeDynamicSections",
	}
}

// initialize sets up the session. After an error, prompts fail until an initialize succeeds: a program may send them
// without waiting for the response.
func (h *host) initialize(_ context.Context, request json.RawMessage) (response, error) {
	fields, err := h.setUp(request)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun {
		return fields, err
	}
	if h.notSetUp = nil; err != nil {
		h.notSetUp = fmt.Errorf("initialize: %w", err)
	}
	return fields, err
}

// setUp applies everything or nothing.
func (h *host) setUp(request json.RawMessage) (response, error) {
	if err := onlyFields(request, known()...); err != nil {
		return nil, err
	}
	var r initialization
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, errors.New(discover.Misread(err))
	}
	hooks, err := h.newHooks(r.Hooks)
	if err != nil {
		return nil, err
	}
	roles, err := roles(r.Agents)
	if err != nil {
		return nil, err
	}
	servers, err := h.newServers(r)
	if err != nil {
		return nil, err
	}
	patience := defaultPatience
	if ms := r.Timeout.CanUseTool; ms != nil {
		if patience, err = wait(*ms); err != nil {
			return nil, err
		}
	}
	if r.Effort != "" {
		if r.Effort, err = parseEffort(r.Effort); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun {
		return nil, errors.New("must come before the first user message")
	}
	if len(servers) > 0 {
		if err := h.session.Outside.Add(servers); err != nil {
			return nil, err
		}
	}
	if len(roles) > 0 {
		if err := h.session.AddRoles(roles); err != nil {
			return nil, fmt.Errorf("agents: %w", err)
		}
	}
	if len(hooks) > 0 {
		h.session.AddHooks(hooks...)
	}
	h.session.SetPrompts(string(r.SystemPrompt), r.Append)
	h.patience = patience
	fields := h.described()
	if r.Effort != "" {
		h.effort = r.Effort
		fields["effort_status"] = map[string]any{"effort": r.Effort, "applied": true, "override": nil}
	}
	return fields, nil
}

// described returns what a program learns about the session: Qwen Code's SDK reads the capabilities, Claude's the rest.
func (h *host) described() response {
	commands, agents := []any{}, []any{}
	for _, c := range h.out.o.Commands.List() {
		commands = append(commands, map[string]any{"name": c.Name, "description": c.About, "argumentHint": c.Words})
	}
	for _, t := range h.session.Definitions.TaskTypes() {
		agents = append(agents, map[string]any{"name": t.Name, "description": t.Description})
	}
	return response{
		"session_id": h.session.ID, "capabilities": capabilities(),
		"commands": commands, "agents": agents, "models": []any{}, "account": map[string]any{},
		"output_style": "default", "available_output_styles": []string{"default"},
		"hooks_applied": true, "hook_on_failure_supported": true, "mcp_servers_applied": true,
	}
}

// connect starts the MCP servers before the first prompt.
func (h *host) connect() { h.began.Go(h.session.Outside.Connect) }

// empty reports whether a list or object is empty.
func empty(raw []byte) bool {
	switch string(raw) {
	case "", "null", "[]", "{}":
		return true
	}
	return false
}

func capabilities() map[string]bool {
	return map[string]bool{
		"can_handle_can_use_tool": true, "can_handle_hook_callback": true, "can_handle_mcp_message": true,
		"can_set_permission_mode": true, "can_set_model": true, "can_set_effort": true,
		"can_get_context_usage": true, "can_get_available_models": true, "can_get_usage_info": true,
	}
}
