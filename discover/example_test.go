package discover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

// The tools of an MCP server are called like any others, by the name of the server and their own.
func Example() {
	type person struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets."},
		func(_ context.Context, _ *mcp.CallToolRequest, p person) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + p.Name}}}, nil, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()

	ctx := context.Background()
	registry := tool.NewRegistry()
	servers := discover.Open(map[string]discover.Server{"greeter": {HTTPURL: web.URL}}, discover.Options{Registry: registry})
	defer servers.Close()
	if err := servers.Wait(ctx); err != nil {
		panic(err)
	}
	x := &tool.Executor{Registry: registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	batch := x.Batch(ctx)
	batch.Add(tool.Call{Name: "greeter__greet", Args: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(batch.Wait()[0].Result.Text())
	// Output: Hello, Ada
}

func ExampleWords() {
	words, err := discover.Words(`python3 "my tools.py" list --all`)
	fmt.Printf("%q %v\n", words, err)
	// Output: ["python3" "my tools.py" "list" "--all"] <nil>
}

func ExampleExpand() {
	lookup := func(name string) (string, bool) { return "secret", name == "TOKEN" }
	fmt.Println(discover.Expand("Bearer $TOKEN at ${HOST:-localhost}", lookup))
	// Output: Bearer secret at localhost
}

func ExampleSelect() {
	servers := map[string]discover.Server{"github": {}, "gitlab": {}, "slack": {}}
	fmt.Println(len(discover.Select(servers, []string{"git*"}, []string{"gitlab"})))
	// Output: 1
}

func ExampleRank() {
	all := []tool.Declaration{
		{Name: "github__create_issue", Description: "Creates an issue."},
		{Name: "github__search_code", Description: "Finds code, not issues."},
	}
	for _, d := range discover.Rank("issue", all, 5) {
		fmt.Println(d.Name)
	}
	// Output:
	// github__create_issue
	// github__search_code
}
