// Command mcpserver is an MCP server with its own tool, beside Adze's read_file. Each client has its own session,
// and answers what requires approval:
//
//	{"mcpServers": {"words": {"command": "go", "args": ["run", "./examples/mcpserver"]}}}
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

func main() {
	adze.Main() // before anything else
	if err := run(context.Background(), "."); err != nil {
		fmt.Fprintln(os.Stderr, "mcpserver:", err)
		os.Exit(1)
	}
}

// run serves a client on stdin and stdout.
func run(ctx context.Context, dir string) error {
	return serve.New(serve.Options{Name: "words", Session: func(c serve.Client) (*tool.Executor, func(), error) {
		a, err := adze.New(adze.Dir(dir), adze.BuiltIn("read_file"), adze.Tools(count()), adze.Ask(c.Ask),
			adze.NoJournal())
		if err != nil {
			return nil, nil, err
		}
		return a.Executor(ctx), func() { a.Close() }, nil
	}}).Stdio(ctx, os.Stdin, os.Stdout)
}

type text struct {
	Text string `json:"text" description:"The text."`
	Log  string `json:"log,omitempty" description:"A file for the result."`
}

// count returns a tool that counts words. Without a file it accesses nothing, so it needs no approval.
func count() tool.Tool {
	return tool.Define(tool.Def[text]{
		Name: "count_words", Description: "Counts the words of a text.", Kind: tool.Other,
		Prepare: func(_ context.Context, t text) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "count words", Access: []tool.Access{tool.Nothing}}
			if t.Log != "" {
				inv.Access = []tool.Access{{Verb: tool.Writes, Target: t.Log}}
			}
			inv.Run = func(context.Context, *tool.Live) (tool.Result, error) {
				result := fmt.Sprintf("%d words", len(strings.Fields(t.Text)))
				if t.Log == "" {
					return tool.TextResult(result), nil
				}
				return tool.TextResult(result), os.WriteFile(t.Log, []byte(result), 0o600)
			}
			return inv, nil
		},
	})
}
