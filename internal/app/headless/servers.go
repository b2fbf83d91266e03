package headless

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/adze-dev/adze/discover"
)

// mcpMessage is a message to an MCP server in the program.
type mcpMessage struct {
	Subtype string          `json:"subtype"`
	Server  string          `json:"server_name"`
	Message json.RawMessage `json:"message"`
}

// serverLink is a connection to an MCP server in the program: a [discover.Messages] over mcp_message.
type serverLink struct {
	name                     string
	asked                    *requests
	mailbox[json.RawMessage] // from the server
}

// dial connects to a server of the program.
func (h *host) dial(name string) discover.Messages {
	l := &serverLink{name, &h.asked, newMailbox[json.RawMessage]()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[name] = l
	return l
}

// Send passes a message to the program. The response to a call comes with the response to the request.
func (l *serverLink) Send(_ context.Context, message json.RawMessage) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	isCall := m.Method != "" && len(m.ID) > 0
	l.asked.send(mcpMessage{"mcp_message", l.name, message}, func(a reply) {
		if !isCall {
			return
		}
		var r struct {
			Response json.RawMessage `json:"mcp_response"`
		}
		if a.err == nil {
			if err := json.Unmarshal(a.response, &r); err != nil || !isObject(r.Response) {
				a.err = fmt.Errorf("expected mcp_response in the response to mcp_message for %s", l.name)
			}
		}
		if a.err != nil {
			r.Response, _ = json.Marshal(map[string]any{
				"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32603, "message": a.err.Error()},
			})
		}
		l.add(r.Response)
	})
	return nil
}

// Receive waits for a message of the server.
func (l *serverLink) Receive(ctx context.Context) (json.RawMessage, error) {
	message, ok := l.next(ctx, true)
	switch {
	case ok:
		return message, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// Close closes the connection. The program isn't notified: its server serves the next connection too.
func (l *serverLink) Close() error {
	l.change(func() { l.closed, l.items = true, nil })
	return nil
}
