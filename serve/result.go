package serve

import (
	"encoding/json"
	"strings"

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

// display is what a person would see, unless the content says it already. A diff comes without the two whole files.
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
		return raw
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
