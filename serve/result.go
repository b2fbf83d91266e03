package serve

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// result writes an outcome as MCP has it. It has no structuredContent: Claude Code and Codex send the model only that
// where it is present, so that the model would see neither text nor images of the content.
func result(o tool.Outcome) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: o.Status != tool.StatusSuccess, Content: []mcp.Content{}}
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
