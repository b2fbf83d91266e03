package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
)

// initialization has the settings that a program makes before the first prompt.
type initialization struct {
	Hooks   json.RawMessage `json:"hooks"`
	Timeout struct {
		CanUseTool *float64 `json:"canUseTool"`
	} `json:"timeout"`
	SDKServers map[string]json.RawMessage `json:"sdkMcpServers"`
	Servers    map[string]json.RawMessage `json:"mcpServers"`
	Agents     []subagent                 `json:"agents"`
	Effort     string                     `json:"effort"`
}

// subagent is a type of subagent for this session.
type subagent struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Prompt      string   `json:"systemPrompt"`
	Tools       []string `json:"tools"`
	Model       string   `json:"model"`
	Run         struct {
		Turns   int     `json:"max_turns"`
		Minutes float64 `json:"max_time_minutes"`
	} `json:"runConfig"`
}

// initialize applies everything or nothing.
func (h *host) initialize(_ context.Context, request json.RawMessage) (any, error) {
	var r initialization
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, fmt.Errorf("initialize: %s", discover.Misread(err))
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
			return nil, fmt.Errorf("initialize: %w", err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun {
		return nil, errors.New("initialize: must come before the first user message")
	}
	if len(servers) > 0 {
		if err := h.session.Outside.Add(servers); err != nil {
			return nil, fmt.Errorf("initialize: %w", err)
		}
	}
	if len(roles) > 0 {
		if err := h.session.AddRoles(roles); err != nil {
			return nil, fmt.Errorf("initialize: agents: %w", err)
		}
	}
	if len(hooks) > 0 {
		h.session.AddHooks(hooks...)
	}
	h.patience = patience
	response := map[string]any{"subtype": "initialize", "session_id": h.session.ID, "capabilities": capabilities()}
	if r.Effort != "" {
		h.effort = r.Effort
		response["effort_status"] = map[string]any{"effort": r.Effort, "applied": true, "override": nil}
	}
	return response, nil
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

// roles returns the types of subagents that a program defines.
func roles(agents []subagent) ([]agent.Role, error) {
	var out []agent.Role
	for i, a := range agents {
		for _, f := range []struct{ name, value string }{{"name", a.Name}, {"description", a.Description},
			{"systemPrompt", a.Prompt}} {
			if f.value == "" {
				return nil, fmt.Errorf("initialize: agents[%d].%s: expected a text", i, f.name)
			}
		}
		if m := a.Run.Minutes; a.Run.Turns < 0 || m < 0 || m > math.MaxInt32 {
			return nil, fmt.Errorf("initialize: agents[%d].runConfig: expected numbers above 0", i)
		}
		out = append(out, agent.Role{
			Name: a.Name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Model: a.Model,
			Turns: a.Run.Turns, Wall: time.Duration(a.Run.Minutes * float64(time.Minute)),
		})
	}
	return out, nil
}

// newServers returns the servers that Adze starts or connects to, and those in the program. The program trusts its own.
func (h *host) newServers(r initialization) (map[string]discover.Server, error) {
	servers := map[string]discover.Server{}
	for name, raw := range r.Servers {
		var s discover.Server
		if !isObject(raw) {
			return nil, fmt.Errorf("initialize: mcpServers.%s: expected an object", name)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("initialize: mcpServers.%s: %s", name, discover.Misread(err))
		}
		servers[name] = s
	}
	for key, raw := range r.SDKServers {
		var named struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &named); err != nil {
			return nil, fmt.Errorf("initialize: sdkMcpServers.%s: expected an object", key)
		}
		name := named.Name
		if name == "" {
			name = key
		}
		servers[name] = discover.Server{Trust: true, Dial: func() discover.Messages { return h.dial(name) }}
	}
	return servers, nil
}
