package responsestest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// params are the parameters of a request that the real server knows. The last one is Codex's.
var params = strings.Fields(`background context_management conversation include input instructions max_output_tokens
	max_tool_calls metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention
	reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs
	top_p truncation user client_metadata`)

// members are the members of items that the real server knows, for the checked types.
var members = map[string][]string{
	"message":              strings.Fields("type id status role content phase"),
	"reasoning":            strings.Fields("type id status summary content encrypted_content"),
	"function_call":        strings.Fields("type id status call_id name arguments namespace"),
	"function_call_output": strings.Fields("type id status call_id output"),

	"custom_tool_call":        strings.Fields("type id status call_id name input namespace"),
	"custom_tool_call_output": strings.Fields("type id status call_id output"),
}

// contents are the types of content by role.
var contents = map[string][]string{
	"assistant": {"output_text", "refusal"},
	"user":      {"input_text", "input_image", "input_file"},
	"system":    {"input_text", "input_image", "input_file"},
	"developer": {"input_text", "input_image", "input_file"},
}

// names matches valid names of tools.
var names = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// maxCallID is the longest call_id.
const maxCallID = 64

// item is an item of a request.
type item struct {
	Type      string
	ID        string
	Role      string
	Content   json.RawMessage
	Summary   json.RawMessage
	CallID    string `json:"call_id"`
	Name      string
	Arguments json.RawMessage
	Output    json.RawMessage
	Encrypted string `json:"encrypted_content"`
}

// check rejects requests that the real server rejects, with its messages.
func (s Script) check(_ http.Header, body string) string {
	var r struct {
		Model    string
		Previous string `json:"previous_response_id"`
		Store    *bool
		Input    json.RawMessage
		Tools    []struct{ Type, Name string }
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return fmt.Sprintf("the request body is not valid JSON: %v", err)
	}
	if name := unknown([]byte(body), params); name != "" {
		return fmt.Sprintf("Unknown parameter: '%s'.", name)
	}
	for i, t := range r.Tools {
		if t.Type == "function" && !names.MatchString(t.Name) {
			return fmt.Sprintf("Invalid 'tools[%d].name': string does not match pattern.", i)
		}
	}
	switch {
	case r.Model == "":
		return "Missing required parameter: 'model'."
	case r.Input == nil:
		return "Missing required parameter: 'input'."
	case r.Input[0] == '"':
		return ""
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(r.Input, &raws); err != nil {
		return fmt.Sprintf("Invalid type for 'input': %v", err)
	}
	items := make([]item, len(raws))
	for i, raw := range raws {
		if err := json.Unmarshal(raw, &items[i]); err != nil {
			return fmt.Sprintf("Invalid type for 'input[%d]': %v", i, err)
		}
		if items[i].Type == "" && items[i].Role != "" {
			items[i].Type = "message"
		}
		if why := s.checkItem(items[i], raw, r.Store == nil || *r.Store); why != "" {
			return strings.ReplaceAll(why, "input[]", fmt.Sprintf("input[%d]", i))
		}
	}
	return checkOrder(items, r.Previous != "")
}

// unknown returns a member of an object that isn't in the list; "": none.
func unknown(object []byte, known []string) string {
	var have map[string]json.RawMessage
	_ = json.Unmarshal(object, &have) // it was read before
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// checkItem checks one item.
func (s Script) checkItem(it item, raw []byte, stored bool) string {
	if known := members[it.Type]; known != nil {
		if name := unknown(raw, known); name != "" {
			return fmt.Sprintf("Unknown parameter: 'input[].%s'.", name)
		}
	}
	if len(it.CallID) > maxCallID {
		return fmt.Sprintf("Invalid 'input[].call_id': string too long. Expected a string with maximum length 64, "+
			"but got a string with length %d instead.", len(it.CallID))
	}
	switch it.Type {
	case "message":
		return checkContents("content", it.Content, contents[it.Role])
	case "reasoning":
		switch {
		case it.Summary == nil:
			return "Missing required parameter: 'input[].summary'."
		case it.ID != "" && !stored && it.Encrypted == "":
			return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false.",
				it.ID)
		case it.Encrypted != "" && !slices.ContainsFunc(s.Answers,
			func(a Answer) bool { return a.Encrypted == it.Encrypted }):
			return "The encrypted content of 'input[]' could not be verified."
		}
	case "function_call":
		if len(it.Arguments) > 0 && it.Arguments[0] != '"' {
			return "Invalid type for 'input[].arguments': expected a string."
		}
		if it.Name != "" && !names.MatchString(it.Name) {
			return "Invalid 'input[].name': string does not match pattern."
		}
	case "function_call_output":
		return checkContents("output", it.Output, contents["user"])
	case "":
		return "Missing required parameter: 'input[].type'."
	}
	return ""
}

// checkContents checks a text or a list of contents.
func checkContents(param string, raw json.RawMessage, known []string) string {
	if raw == nil || raw[0] == '"' {
		return ""
	}
	var list []struct {
		Type  string
		Text  *string
		Image string `json:"image_url"`
		File  string `json:"file_data"`
		Name  string `json:"filename"`
		ID    string `json:"file_id"`
	}
	if err := json.Unmarshal(raw, &list); err != nil || string(raw) == "null" {
		return fmt.Sprintf("Invalid type for 'input[].%s': expected a string or an array.", param)
	}
	for i, c := range list {
		at := fmt.Sprintf("input[].%s[%d]", param, i)
		switch {
		case known != nil && !slices.Contains(known, c.Type):
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: '%s'. (%s)", c.Type,
				strings.Join(known, "' and '"), at)
		case strings.HasSuffix(c.Type, "_text") && c.Text == nil:
			return fmt.Sprintf("Missing required parameter: '%s.text'.", at)
		case c.Type == "input_image" && c.ID == "" && !strings.HasPrefix(c.Image, "data:image/") &&
			!strings.HasPrefix(c.Image, "http"):
			return fmt.Sprintf("Invalid '%s.image_url'. Expected a base64-encoded data URL or a URL.", at)
		case c.Type == "input_file" && c.ID == "" && (!strings.HasPrefix(c.File, "data:application/pdf;base64,") ||
			c.Name == ""):
			return fmt.Sprintf("Invalid '%s.file_data'. Expected a base64-encoded data URL and a filename.", at)
		}
	}
	return ""
}

// checkOrder checks that calls and outputs match, and that something follows reasoning.
func checkOrder(items []item, continued bool) string {
	var open []string
	for i, it := range items {
		switch {
		case it.Type == "reasoning":
			if i+1 == len(items) || items[i+1].Type == "message" && items[i+1].Role != "assistant" ||
				strings.HasSuffix(items[i+1].Type, "_output") {
				return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.",
					it.ID)
			}
		case it.Type == "function_call", it.Type == "custom_tool_call":
			open = append(open, it.CallID)
		case strings.HasSuffix(it.Type, "_call_output"):
			n := slices.Index(open, it.CallID)
			if n < 0 && !continued {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", it.CallID)
			}
			if n >= 0 {
				open = slices.Delete(open, n, n+1)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("No tool output found for function call %s.", open[0])
	}
	return ""
}
