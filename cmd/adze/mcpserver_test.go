package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is a server for stories, on the official SDK: mcpserver [MARK]. It says on stderr that it runs, and writes
// the file MARK, so that a story sees whether it was started.
func mcpServer() {
	fmt.Fprintln(os.Stderr, "the server for stories is here")
	if len(os.Args) > 1 {
		if err := os.WriteFile(filepath.Clean(os.Args[1]), []byte("started\n"), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "stories", Version: "1"}, nil)
	type said struct {
		Text string `json:"text" jsonschema:"what to say"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says what it is told."},
		func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
			text := in.Text
			if greeting := os.Getenv("GREETING"); greeting != "" {
				text = greeting + ", " + text
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "read_file", Description: "Is named like a built-in tool."},
		func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("the server's own read_file")
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
