package anthropictest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// content is one block of a message in a request.
type content struct {
	Type      string
	ID        string
	ToolUseID string `json:"tool_use_id"`
	Thinking  string
	Signature string
	Data      string
}

// blocks are the blocks of a message; a string is one block of text.
type blocks []content

// UnmarshalJSON reads blocks or a string.
func (b *blocks) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*b = blocks{{Type: "text"}}
		return nil
	}
	return json.Unmarshal(raw, (*[]content)(b))
}

// ids are those of the blocks of one type.
func (b blocks) ids(kind string) []string {
	var out []string
	for _, c := range b {
		if c.Type == kind {
			out = append(out, c.ID+c.ToolUseID)
		}
	}
	return out
}

// check rejects what the real server rejects, in its words.
func (s Script) check(h http.Header, body string) string {
	if h.Get("Anthropic-Version") == "" {
		return "anthropic-version: header is required"
	}
	var r struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Messages  []struct {
			Role    string
			Content blocks
		}
	}
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
	}
	var open []string // calls of the message before
	for i, m := range r.Messages {
		results := m.Content.ids("tool_result")
		for _, id := range results {
			if !slices.Contains(open, id) {
				return fmt.Sprintf("messages.%d.content: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message", i, id)
			}
		}
		open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(results, id) })
		if len(open) > 0 {
			return missing(i-1, open)
		}
		if why := s.thoughts(i, m.Content); why != "" {
			return why
		}
		open = m.Content.ids("tool_use")
	}
	if len(open) > 0 {
		return missing(len(r.Messages)-1, open)
	}
	return ""
}

func missing(i int, ids []string) string {
	return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message", i, strings.Join(ids, ", "))
}

// thoughts rejects a thought that did not come from the script, or was changed.
func (s Script) thoughts(i int, blocks blocks) string {
	for n, b := range blocks {
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
	return ""
}
