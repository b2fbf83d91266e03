package acp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// serverVar makes the test program an MCP server.
const serverVar = "ADZE_TEST_MCP_SERVER"

type greetArgs struct {
	Name string `json:"name"`
}

// greeter returns an MCP server with one tool, which shows its first word and a variable.
func greeter(word string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context, _ *mcp.CallToolRequest, a greetArgs) (*mcp.CallToolResult, any, error) {
		text := fmt.Sprintf("%s, %s (%s)", word, a.Name, os.Getenv("GREETER"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return s
}

// The MCP servers of session/new are started beside those of the settings, with their variables and headers, by stdin and
// stdout and by HTTP. Their tools ask like others, and the editor sees the calls.
func TestServersOfTheEditor(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return greeter("Bonjour") }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k1" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	e := open(t)
	e.model(
		openaitest.Answer{Calls: []openaitest.Call{call("c1", "pipe__greet", greetArgs{"Ada"}), call("c2", "web__greet", greetArgs{"Bob"})}},
		openaitest.Answer{Text: "ok", Expect: []string{"Hello, Ada (from the editor)", "Bonjour, Bob"}},
	)
	e.choose("once")
	e.initialize(`{}`)
	id := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{
		map[string]any{"name": "pipe", "command": program, "args": []string{}, "env": []any{
			map[string]any{"name": serverVar, "value": "Hello"}, map[string]any{"name": "GREETER", "value": "from the editor"},
		}},
		map[string]any{"type": "http", "name": "web", "url": web.URL, "headers": []any{map[string]any{"name": "X-Key", "value": "k1"}}},
	}})["sessionId"].(string)
	if got := e.say(id, "greet them"); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	story := e.story()
	for _, want := range []string{"toolCallId=c1", "toolCallId=c2", "agent_message_chunk ok"} {
		if !strings.Contains(story, want) {
			t.Errorf("no %q in\n%s", want, story)
		}
	}
	e.mu.Lock()
	asked, updates := strings.Join(e.asked, " "), fmt.Sprint(e.updates)
	e.mu.Unlock()
	for _, want := range []string{"Hello, Ada (from the editor)", "Bonjour, Bob"} { // results with text only were invisible
		if !strings.Contains(updates, want) {
			t.Errorf("no %q in the updates: %s", want, updates)
		}
	}
	if strings.Count(asked, "session/request_permission") != 2 {
		t.Errorf("the editor was asked: %s", asked)
	}
}
