package serve

//lint:file-ignore SA1019 the roots of clients are deprecated since 2026-07-28; the clients of today have them.

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// The session is ended with the connection, and knows the client's directories.
func TestSessionLife(t *testing.T) {
	ended := make(chan Client, 1)
	s := New(Options{Session: func(c Client) (*tool.Executor, func(), error) {
		x, _, err := testSession(c)
		return x, func() { ended <- c }, err
	}})
	in, toServer, _ := os.Pipe()
	fromServer, out, _ := os.Pipe()
	go func() {
		s.Stdio(context.Background(), in, out)
		out.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "9"}, nil)
	c.AddRoots(&mcp.Root{URI: "file:///home/me/app"})
	cs, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cs.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	toServer.Close()
	select {
	case got := <-ended:
		if diff := cmp.Diff(Client{Name: "test", Version: "9", Roots: []string{"/home/me/app"}}, got, cmpopts.IgnoreFields(Client{}, "Ask")); diff != "" || got.Ask == nil {
			t.Error(diff)
		}
	case <-time.After(time.Minute):
		t.Error("the session was not ended")
	}
	cs.Close()
}
