package discover

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// pipe is a server in the same program, which answers each call at once.
type pipe struct {
	in     chan json.RawMessage
	closed chan struct{}
}

func (p *pipe) Send(_ context.Context, message json.RawMessage) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hello"}]}`,
	}[m.Method]
	if result != "" {
		p.in <- json.RawMessage(`"noise"`) // not a message, so it is skipped
		p.in <- json.RawMessage(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
	}
	return nil
}

func (p *pipe) Receive(ctx context.Context) (json.RawMessage, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

// A server that is dialed serves its tools like any other. What it offers isn't kept for the next session.
func TestDialedServer(t *testing.T) {
	state := t.TempDir()
	registry := tool.NewRegistry()
	servers := Open(map[string]Server{"own": {Dial: func() Messages {
		return &pipe{in: make(chan json.RawMessage, 10), closed: make(chan struct{})}
	}}}, Options{Registry: registry, State: state})
	defer servers.Close()
	if err := servers.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := tool.Executor{Registry: registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	b := x.Batch(t.Context())
	b.Add(tool.Call{Name: "own__echo", Args: json.RawMessage(`{}`)})
	if o := b.Wait()[0]; o.Status != tool.StatusSuccess || o.Result.Text() != "hello" {
		t.Errorf("%+v", o)
	}
	if st := servers.List()[0]; st.Transport != "sdk" || !strings.Contains(st.Target, "drives this session") || st.State != Ready {
		t.Errorf("%+v", st)
	}
	for _, dir := range []string{"manifests", "late"} {
		if entries, err := os.ReadDir(state + "/" + dir); err == nil && len(entries) > 0 {
			t.Errorf("%s has %d files", dir, len(entries))
		}
	}
}
