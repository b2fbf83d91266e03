package serve

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// structured is what a program may want to know of a result beside its content.
type structured struct {
	Status  tool.Status     `json:"status"`
	Error   *tool.Failure   `json:"error,omitempty"`
	Display json.RawMessage `json:"returnDisplay"`
}

// result writes an outcome as MCP has it.
func result(o tool.Outcome) *mcp.CallToolResult {
	res := &mcp.CallToolResult{
		IsError:           o.Status != tool.StatusSuccess,
		StructuredContent: structured{o.Status, o.Error, display(o)},
		Content:           []mcp.Content{},
	}
	for _, p := range o.Result.Content {
		switch p := p.(type) {
		case tool.Text:
			res.Content = append(res.Content, &mcp.TextContent{Text: string(p)})
		case tool.Media:
			res.Content = append(res.Content, media(p))
		}
	}
	return res
}

func media(m tool.Media) mcp.Content {
	switch {
	case strings.HasPrefix(m.MIMEType, "image/"):
		return &mcp.ImageContent{MIMEType: m.MIMEType, Data: m.Data}
	case strings.HasPrefix(m.MIMEType, "audio/"):
		return &mcp.AudioContent{MIMEType: m.MIMEType, Data: m.Data}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "adze:result", MIMEType: m.MIMEType, Blob: m.Data}}
}

// maxDisplay is how much of a text for a person is told beside the content, in characters.
const maxDisplay = 1000

// display is what a person would see, unless the content says it already. A diff comes without the two whole files, and
// of a long text, such as all that a command printed, only the beginning: the content has it, and clients send both on.
func display(o tool.Outcome) json.RawMessage {
	nothing := json.RawMessage(`""`)
	d := o.Result.Display
	if d == nil || d.Markdown() == o.Result.Text() {
		return nothing
	}
	raw, err := tool.MarshalDisplay(d)
	if err != nil {
		return nothing
	}
	if _, ok := d.(tool.FileDiff); !ok {
		return shortened(raw)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nothing
	}
	delete(fields, "originalContent")
	delete(fields, "newContent")
	short, err := json.Marshal(fields)
	if err != nil {
		return nothing
	}
	return short
}

// shortened cuts a display that is a text; others are data and stay whole.
func shortened(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil || utf8.RuneCountInString(text) <= maxDisplay {
		return raw
	}
	cut := string([]rune(text)[:maxDisplay]) + "…"
	if strings.HasPrefix(text, "```") {
		cut += "\n```"
	}
	short, err := json.Marshal(cut + "\nThe rest is in the content.")
	if err != nil {
		return raw
	}
	return short
}
