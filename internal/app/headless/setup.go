package headless

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
)

// onlyFields returns an error if an object has other fields that say something: what isn't understood isn't ignored.
func onlyFields(object json.RawMessage, fields ...string) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(object, &given); err != nil {
		return errors.New("expected an object")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if value := string(given[name]); !slices.Contains(fields, name) && !empty(given[name]) && value != "false" {
			return errors.New(name + " isn't supported")
		}
	}
	return nil
}

// texts is a text, or a list of texts.
type texts string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	var list []string
	if json.Unmarshal(raw, &one) != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			return errors.New("systemPrompt: expected a text, or a list of texts")
		}
		one = strings.Join(list, "\n\n")
	}
	*t = texts(one)
	return nil
}

// subagent is a type of subagent for this session.
type subagent struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Prompt      string   `json:"systemPrompt"`
	Tools       []string `json:"tools"`
	Without     []string `json:"disallowedTools"`
	Model       string   `json:"model"`
	Run         struct {
		Turns   int     `json:"max_turns"`
		Minutes float64 `json:"max_time_minutes"`
	} `json:"runConfig"`
}

// subagents are types of subagents: a list of Qwen Code's SDK, or Claude's definitions by name.
type subagents []subagent

// UnmarshalJSON implements [json.Unmarshaler].
func (s *subagents) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*[]subagent)(s)) == nil {
		return nil
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(raw, &named); err != nil {
		return errors.New("agents: expected a list, or an object with definitions by name")
	}
	*s = nil
	for _, name := range slices.Sorted(maps.Keys(named)) {
		err := onlyFields(named[name], "description", "prompt", "tools", "disallowedTools", "model", "maxTurns")
		if err != nil {
			return fmt.Errorf("agents.%s: %w", name, err)
		}
		a := struct {
			subagent
			Prompt string `json:"prompt"`
			Turns  int    `json:"maxTurns"`
		}{}
		if err := json.Unmarshal(named[name], &a); err != nil {
			return fmt.Errorf("agents.%s: %s", name, discover.Misread(err))
		}
		one := a.subagent
		one.Name, one.Prompt, one.Run.Turns = name, a.Prompt, a.Turns
		if one.Model == "inherit" {
			one.Model = ""
		}
		*s = append(*s, one)
	}
	return nil
}

// roles returns the types of subagents that a program defines.
func roles(agents []subagent) ([]agent.Role, error) {
	var out []agent.Role
	for i, a := range agents {
		for _, f := range []struct{ name, value string }{{"name", a.Name}, {"description", a.Description},
			{"systemPrompt", a.Prompt}} {
			if f.value == "" {
				return nil, fmt.Errorf("agents[%d].%s: expected a text", i, f.name)
			}
		}
		if m := a.Run.Minutes; a.Run.Turns < 0 || m < 0 || m > math.MaxInt32 {
			return nil, fmt.Errorf("agents[%d].runConfig: expected numbers above 0", i)
		}
		out = append(out, agent.Role{
			Name: a.Name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Without: a.Without,
			Model: a.Model, Turns: a.Run.Turns, Wall: time.Duration(a.Run.Minutes * float64(time.Minute)),
		})
	}
	return out, nil
}

// programServers are the MCP servers in the program, and whether their tools run without approval: those of Qwen Code's
// SDK, which are an object, and not those of Claude's, which are a list of names.
type programServers struct {
	names   []string
	trusted bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *programServers) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.names) == nil {
		return nil
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(raw, &named); err != nil {
		return errors.New("sdkMcpServers: expected names, or objects by name")
	}
	p.trusted = true
	for _, key := range slices.Sorted(maps.Keys(named)) {
		var s struct{ Name string }
		if err := json.Unmarshal(named[key], &s); err != nil {
			return fmt.Errorf("sdkMcpServers.%s: expected an object", key)
		}
		p.names = append(p.names, cmp.Or(s.Name, key))
	}
	return nil
}

// serverPolicy has what a program says about one of its servers.
type serverPolicy struct {
	Timeout int64 `json:"timeout"` // of a call, in milliseconds
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *serverPolicy) UnmarshalJSON(raw []byte) error {
	type plain serverPolicy
	if err := onlyFields(raw, "timeout"); err != nil {
		return fmt.Errorf("sdkMcpServerConfigs: %w", err)
	}
	return json.Unmarshal(raw, (*plain)(p))
}

// newServers returns the servers that Adze starts or connects to, and those in the program.
func (h *host) newServers(r initialization) (map[string]discover.Server, error) {
	servers := map[string]discover.Server{}
	for name, raw := range r.Servers {
		var s discover.Server
		if !isObject(raw) {
			return nil, fmt.Errorf("mcpServers.%s: expected an object", name)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("mcpServers.%s: %s", name, discover.Misread(err))
		}
		servers[name] = s
	}
	for _, name := range r.SDKServers.names {
		servers[name] = discover.Server{
			Trust: r.SDKServers.trusted, Timeout: r.Policies[name].Timeout,
			Dial: func() discover.Messages { return h.dial(name) },
		}
	}
	return servers, nil
}
