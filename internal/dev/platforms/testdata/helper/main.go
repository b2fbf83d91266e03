// Command helper is what Adze starts in tests of platforms: an MCP server, or a process with a child that writes on.
//
//	helper mcp [LOG]        an MCP server; with a log, a child of it writes there
//	helper parent LOG       exits, and leaves a child that writes to the log
//	helper short PATH       prints the name of a file in 8.3 form, on Windows
package main

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	switch os.Args[1] {
	case "mcp":
		if len(os.Args) > 2 {
			spawn(os.Args[2])
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "helper", Version: "1"}, nil)
		type said struct {
			Text string `json:"text"`
		}
		mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says what it is told."},
			func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "heard " + in.Text}}}, nil, nil
			})
		server.Run(context.Background(), &mcp.StdioTransport{})
	case "parent": // exits, and leaves a child
		spawn(os.Args[2])
	case "short":
		short(os.Args[2])
	case "child":
		for {
			f, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err == nil {
				f.WriteString("x")
				f.Close()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// spawn starts a child that writes to a log.
func spawn(log string) {
	self, _ := os.Executable()
	child := exec.Command(self, "child", log)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr // it keeps them open
	child.Start()
}
