package anthropictest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// asked is the checked part of a request.
type asked struct {
	Model     string
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage // a string or blocks
	Thinking  *struct {
		Type   string
		Budget int `json:"budget_tokens"`
	}
	Tools    []json.RawMessage
	Messages []struct {
		Role    string
		Content blocks
	}
}

// stable are the members of a request; beta are members that need a header.
const (
	stable = "model max_tokens messages cache_control container diagnostics inference_geo metadata output_config " +
		"service_tier speed " +
		"stop_sequences stream system temperature thinking tool_choice tools top_k top_p user_profile_id workspace_id"
	beta = " compaction context_management fallback_credit_token fallbacks mcp_servers output_format thread"
)

// check rejects requests that the real server rejects, with its messages.
func (s Script) check(h http.Header, body string) string {
	if h.Get("Anthropic-Version") == "" {
		return "anthropic-version: header is required"
	}
	known := stable
	if h.Get("Anthropic-Beta") != "" {
		known += beta
	}
	if why := extra("", json.RawMessage(body), known); why != "" {
		return why
	}
	var r asked
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return fmt.Sprintf("the request body is not valid JSON: %v", err)
	}
	switch {
	case r.Model == "":
		return "model: Field required"
	case r.MaxTokens < 1:
		return "max_tokens: Field required"
	case len(r.Messages) == 0:
		return "messages: at least one message is required"
	case strings.Count(body, `"cache_control":{`) > 4:
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.",
			strings.Count(body, `"cache_control":{`))
	}
	for _, why := range []string{r.thinking(h, body), r.system(), r.tools(), r.contents(), r.order(), s.thoughts(r)} {
		if why != "" {
			return why
		}
	}
	return ""
}

// extra rejects members of an object that the API doesn't have. Other values are reported elsewhere.
func extra(path string, object json.RawMessage, known string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(strings.Fields(known), name) {
			return strings.TrimPrefix(path+"."+name, ".") + ": Extra inputs are not permitted"
		}
	}
	return ""
}

func (r asked) thinking(h http.Header, body string) string {
	t := r.Thinking
	if t == nil {
		return ""
	}
	known := map[string]string{
		"adaptive": "type display", "enabled": "type display budget_tokens", "disabled": "type",
		"between_tools": "type",
	}[t.Type]
	if known == "" {
		return fmt.Sprintf("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: "+
			"'adaptive', 'disabled', 'enabled'", t.Type)
	}
	if strings.Contains(h.Get("Anthropic-Beta"), "thinking-binding-controls") {
		known += " block_binding"
	}
	var outer struct{ Thinking json.RawMessage }
	_ = json.Unmarshal([]byte(body), &outer) // it was read before
	switch why := extra("thinking."+t.Type, outer.Thinking, known); {
	case why != "":
		return why
	case t.Type == "enabled" && t.Budget < 1024:
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
	case t.Type == "enabled" && t.Budget >= r.MaxTokens:
		return "`max_tokens` must be greater than `thinking.budget_tokens`"
	}
	return ""
}

func (r asked) system() string {
	var list []json.RawMessage
	if json.Unmarshal(r.System, &list) != nil {
		return "" // a string, or none
	}
	for i, raw := range list {
		if why := checkBlock(fmt.Sprintf("system.%d", i), raw, "text"); why != "" {
			return why
		}
	}
	return ""
}

func (r asked) tools() string {
	names := map[string]bool{}
	for i, raw := range r.Tools {
		var t struct {
			Type   string
			Name   string
			Schema *struct{ Type string } `json:"input_schema"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Sprintf("tools.%d: %v", i, err)
		}
		if t.Type != "" && t.Type != "custom" {
			continue // a built-in tool of the server
		}
		path := fmt.Sprintf("tools.%d.custom", i)
		why := extra(path, raw, "type name description input_schema cache_control strict defer_loading "+
			"eager_input_streaming input_examples allowed_callers")
		switch {
		case why != "":
			return why
		case !plain(t.Name, 128):
			return path + ".name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
		case names[t.Name]:
			return "tools: Tool names must be unique."
		case t.Schema == nil:
			return path + ".input_schema: Field required"
		case t.Schema.Type != "object":
			return path + ".input_schema.type: Input should be 'object'"
		}
		names[t.Name] = true
	}
	return ""
}

// contents checks each message by itself.
func (r asked) contents() string {
	for i, m := range r.Messages {
		path := fmt.Sprintf("messages.%d", i)
		kinds := map[string]string{
			"user":      "text image document tool_result search_result container_upload",
			"assistant": "text thinking redacted_thinking tool_use server_tool_use web_search_tool_result",
			"system":    "text tool_addition tool_removal",
		}[m.Role]
		switch {
		case kinds == "":
			return path + ".role: Input should be 'user' or 'assistant'"
		case len(m.Content) == 0:
			return path + ": all messages must have non-empty content except for the optional final assistant message"
		}
		for n, c := range m.Content {
			if why := checkBlock(fmt.Sprintf("%s.content.%d", path, n), c.raw, kinds); why != "" {
				return why
			}
		}
		if last := m.Content[len(m.Content)-1]; m.Role == "assistant" &&
			(last.Type == "thinking" || last.Type == "redacted_thinking") {
			return path + ": The final block in an assistant message cannot be `thinking`."
		}
	}
	return ""
}

// order checks that each call has its result, at the beginning of the next message.
func (r asked) order() string {
	var open []string // calls of the message before
	seen := map[string]bool{}
	for i, m := range r.Messages {
		if m.Role == "system" {
			continue
		}
		results := m.Content.results()
		for _, id := range m.Content.ids("tool_result") {
			if !slices.Contains(open, id) {
				return fmt.Sprintf("messages.%d.content: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i,
					id)
			}
		}
		open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(results, id) })
		if len(open) > 0 {
			return missing(i-1, open)
		}
		for _, id := range m.Content.ids("tool_use") {
			if seen[id] {
				return "messages: `tool_use` ids must be unique"
			}
			seen[id] = true
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		return missing(len(r.Messages)-1, open)
	}
	return ""
}

func missing(i int, ids []string) string {
	return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i,
		strings.Join(ids, ", "))
}

// thoughts rejects a thought that didn't come from the script, or was changed.
func (s Script) thoughts(r asked) string {
	for i, m := range r.Messages {
		for n, b := range m.Content {
			var same func(Answer) bool
			switch b.Type {
			case "thinking":
				same = func(a Answer) bool { return a.Thought == b.Thinking && a.Signature == b.Signature }
			case "redacted_thinking":
				same = func(a Answer) bool { return a.Redacted == b.Data }
			default:
				continue
			}
			if !slices.ContainsFunc(s.Answers, same) {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, n)
			}
		}
	}
	return ""
}
