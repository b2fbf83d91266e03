package responsestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// check rejects what the real server rejects, in its words.
func (s Script) check(_ http.Header, body string) string {
	var r struct {
		Model    string
		Previous string `json:"previous_response_id"`
		Input    json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return fmt.Sprintf("the request body is not valid JSON: %v", err)
	}
	switch {
	case r.Model == "":
		return "Missing required parameter: 'model'."
	case r.Input == nil:
		return "Missing required parameter: 'input'."
	case r.Input[0] == '"':
		return ""
	}
	var items []struct {
		Type      string
		CallID    string `json:"call_id"`
		Encrypted string `json:"encrypted_content"`
	}
	if err := json.Unmarshal(r.Input, &items); err != nil {
		return fmt.Sprintf("Invalid type for 'input': %v", err)
	}
	var open []string
	for i, item := range items {
		switch {
		case item.Type == "reasoning" && item.Encrypted != "":
			if !slices.ContainsFunc(s.Answers, func(a Answer) bool { return a.Encrypted == item.Encrypted }) {
				return fmt.Sprintf("The encrypted content of 'input[%d]' could not be verified.", i)
			}
		case item.Type == "function_call", item.Type == "custom_tool_call":
			open = append(open, item.CallID)
		case strings.HasSuffix(item.Type, "_call_output"):
			n := slices.Index(open, item.CallID)
			if n < 0 && r.Previous == "" {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", item.CallID)
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
