package serve_test

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

type greeting struct {
	Name string `json:"name" description:"Whom to greet."`
}

// A registry of one tool, offered to a client over two pipes, like stdin and stdout of a program.
func Example() {
	hello := tool.Define(tool.Def[greeting]{
		Name: "hello", Description: "Greets someone.", Kind: tool.Think,
		Prepare: func(_ context.Context, g greeting) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: "greet " + g.Name, Access: []tool.Access{tool.Nothing},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult("Hello, " + g.Name + "!"), nil
				},
			}, nil
		},
	})
	server := serve.New(serve.Options{Name: "greeter", Session: func(serve.Client) (*tool.Executor, func(), error) {
		return &tool.Executor{
			Registry: tool.NewRegistry(hello),
			Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		}, nil, nil
	}})
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	ended := make(chan error)
	ctx := context.Background()
	go func() { ended <- server.Stdio(ctx, stdin, stdout) }()

	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tools.Tools[0].Name, "reads only:", tools.Tools[0].Annotations.ReadOnlyHint)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hello", Arguments: map[string]any{"name": "Ada"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	toServer.Close() // the client leaves, and the server ends
	fmt.Println("ended:", <-ended)
	// Output:
	// hello reads only: true
	// Hello, Ada!
	// ended: <nil>
}
