package discover

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// FailedMCP is the documented error type of an MCP tool that failed.
const FailedMCP tool.ErrorType = "mcp_tool_error"

// parts turns MCP content into what a model is given.
func parts(content []mcp.Content) []tool.Part {
	var out []tool.Part
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			out = append(out, tool.Text(c.Text))
		case *mcp.ImageContent:
			out = append(out, tool.Media{MIMEType: c.MIMEType, Data: c.Data})
		case *mcp.AudioContent:
			out = append(out, tool.Media{MIMEType: c.MIMEType, Data: c.Data})
		case *mcp.EmbeddedResource:
			out = append(out, resourceParts(c.Resource)...)
		case *mcp.ResourceLink:
			out = append(out, tool.Text(linkText(c)))
		default:
			out = append(out, tool.Text(fmt.Sprintf("[unsupported content type: %T]", c)))
		}
	}
	return out
}

func resourceParts(r *mcp.ResourceContents) []tool.Part {
	switch {
	case r == nil:
		return nil
	case r.Blob == nil:
		return []tool.Part{tool.Text(fmt.Sprintf("Resource %s:\n%s", r.URI, r.Text))}
	case isMedia(r.MIMEType):
		return []tool.Part{tool.Text("Resource " + r.URI + ":"), tool.Media{MIMEType: r.MIMEType, Data: r.Blob}}
	}
	mime := r.MIMEType
	if mime == "" {
		mime = "application/octet-stream"
	}
	return []tool.Part{tool.Text(fmt.Sprintf("Resource %s: %d bytes of %s (binary, not shown)", r.URI, len(r.Blob), mime))}
}

// isMedia reports whether models take this kind of data.
func isMedia(mime string) bool {
	return strings.HasPrefix(mime, "image/") || strings.HasPrefix(mime, "audio/") || mime == "application/pdf"
}

func linkText(l *mcp.ResourceLink) string {
	name := l.Title
	if name == "" {
		name = l.Name
	}
	s := fmt.Sprintf("Resource link: %s at %s", name, l.URI)
	if l.MIMEType != "" {
		s += " (" + l.MIMEType + ")"
	}
	if l.Description != "" {
		s += ": " + l.Description
	}
	return s
}

// Progress is the display of a running call: "mcp_tool_progress" in the documentation.
type Progress struct {
	Progress float64
	Total    float64 // 0: not known
	Message  string
}

// Markdown says how far the call is.
func (p Progress) Markdown() string {
	s := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		s = fmt.Sprintf("%g of %g", p.Progress, p.Total)
	}
	if p.Message != "" {
		s += ": " + tool.Visible(clip(p.Message, 500))
	}
	return s
}

// MarshalJSON writes the documented object.
func (p Progress) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type     string  `json:"type"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total,omitempty"`
		Message  string  `json:"message,omitempty"`
	}{"mcp_tool_progress", p.Progress, p.Total, p.Message})
}
