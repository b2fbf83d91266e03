package anthropictest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// content is one block of a message in a request.
type content struct {
	Type      string
	Text      *string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	IsError   bool `json:"is_error"`
	Thinking  string
	Signature string
	Data      string
	Source    *struct {
		Type      string
		MediaType string `json:"media_type"`
		Data      string
	}

	raw json.RawMessage
}

// blocks are the blocks of a message; a string is one block of text.
type blocks []content

// UnmarshalJSON reads blocks or a string.
func (b *blocks) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		whole, err := json.Marshal(map[string]string{"type": "text", "text": text})
		*b = blocks{{Type: "text", raw: whole}}
		return err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*b = nil
	for _, one := range list {
		c := content{raw: one}
		if err := json.Unmarshal(one, &c); err != nil {
			return err
		}
		*b = append(*b, c)
	}
	return nil
}

// ids returns the IDs of the blocks of one type.
func (b blocks) ids(kind string) []string {
	var out []string
	for _, c := range b {
		if c.Type == kind {
			out = append(out, c.ID+c.ToolUseID)
		}
	}
	return out
}

// results returns the IDs of the results that come before all other blocks.
func (b blocks) results() []string {
	n := slices.IndexFunc(b, func(c content) bool { return c.Type != "tool_result" })
	if n < 0 {
		n = len(b)
	}
	return b[:n].ids("tool_result")
}

// members are the members of each type of block. Other types are not checked: they are for built-in tools of the
// server.
var members = map[string]string{
	"text":              "type text cache_control citations",
	"image":             "type source cache_control transformations",
	"document":          "type source cache_control citations context title",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
	"tool_use":          "type id name input cache_control caller toolset_name",
	"tool_result":       "type tool_use_id content is_error cache_control toolset_name",
}

// checkBlock rejects a block of another kind, or without a required member.
func checkBlock(path string, raw json.RawMessage, kinds string) string {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Sprintf("%s: %v", path, err)
	}
	if !slices.Contains(strings.Fields(kinds), c.Type) {
		return fmt.Sprintf("%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'", path,
			c.Type, strings.ReplaceAll(kinds, " ", "', '"))
	}
	if known := members[c.Type]; known != "" {
		if why := extra(path+"."+c.Type, raw, known); why != "" {
			return why
		}
	}
	switch c.Type {
	case "text":
		return checkText(path, c)
	case "image", "document":
		return checkMedia(path, c)
	case "thinking":
		if !strings.Contains(string(raw), `"signature"`) {
			return path + ".thinking.signature: Field required"
		}
	case "tool_use":
		return checkUse(path, c)
	case "tool_result":
		return checkResult(path, c)
	}
	return ""
}

func checkText(path string, c content) string {
	switch {
	case c.Text == nil:
		return path + ".text.text: Field required"
	case *c.Text == "":
		return "messages: text content blocks must be non-empty"
	case strings.TrimSpace(*c.Text) == "":
		return "messages: text content blocks must contain non-whitespace text"
	}
	return ""
}

// checkMedia checks data that the request contains.
func checkMedia(path string, c content) string {
	if c.Source == nil {
		return path + "." + c.Type + ".source: Field required"
	}
	if c.Source.Type != "base64" {
		return ""
	}
	types := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if c.Type == "document" {
		types = []string{"application/pdf"}
	}
	data, err := base64.StdEncoding.DecodeString(c.Source.Data)
	switch {
	case !slices.Contains(types, c.Source.MediaType):
		return fmt.Sprintf("%s.%s.source.base64.media_type: Input should be '%s'", path, c.Type,
			strings.Join(types, "', '"))
	case err != nil:
		return fmt.Sprintf("%s.%s.source.base64.data: Invalid base64 data", path, c.Type)
	case c.Type == "image" && len(c.Source.Data) > 5<<20:
		return fmt.Sprintf("%s.image.source.base64: image exceeds 5 MB maximum: %d bytes > 5242880 bytes", path,
			len(c.Source.Data))
	case http.DetectContentType(data) != c.Source.MediaType:
		return fmt.Sprintf("%s.%s.source.base64.data: Could not process %s", path, c.Type, c.Type)
	}
	return ""
}

func checkUse(path string, c content) string {
	switch {
	case !plain(c.ID, 1<<10):
		return path + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
	case !plain(c.Name, 200):
		return path + ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'"
	case len(c.Input) == 0:
		return path + ".tool_use.input: Field required"
	case c.Input[0] != '{':
		return path + ".tool_use.input: Input should be a valid dictionary"
	}
	return ""
}

func checkResult(path string, c content) string {
	if !plain(c.ToolUseID, 1<<10) {
		return path + ".tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
	}
	var list []json.RawMessage
	if json.Unmarshal(c.Content, &list) != nil {
		return "" // a string, or none
	}
	for i, raw := range list {
		if why := checkBlock(fmt.Sprintf("%s.tool_result.content.%d", path, i), raw,
			"text image document search_result tool_reference"); why != "" {
			return why
		}
		if c.IsError && !strings.Contains(string(raw), `"type":"text"`) {
			return path + ".tool_result: all content must be type \"text\" if \"is_error\" is true"
		}
	}
	return ""
}

func plain(s string, limit int) bool {
	return s != "" && len(s) <= limit && strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
