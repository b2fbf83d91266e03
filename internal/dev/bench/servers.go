package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// echoServer is the argument that makes this program an MCP server that echoes its input.
const echoServer = "echo-server"

func serveEcho() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type said struct {
		Text string `json:"text" jsonschema:"what to say"`
	}
	for i := range 20 {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("echo%d", i), Description: "Says what it is told."},
			func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// printServers measures external tools: a call, and the cost of five servers at startup.
func printServers(w io.Writer, binary string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	call, err := serverCall(self)
	if err != nil {
		return fmt.Errorf("call a server: %w", err)
	}
	fmt.Fprintf(w, "a call over stdio, half of 3,000\t%v\tunder 0.6 ms\n", call.Round(time.Microsecond))
	none, five, err := startWithServers(self, binary)
	if err != nil {
		return fmt.Errorf("start with servers: %w", err)
	}
	fmt.Fprintf(w, "a prompt with five cached servers\t%v more than %v with none\tunder 5 ms more\n",
		(five - none).Round(10*time.Microsecond), none.Round(10*time.Microsecond))
	return nil
}

// serverCall returns the median of calls through registry, validation and policy.
func serverCall(self string) (time.Duration, error) {
	registry := tool.NewRegistry()
	servers := discover.Open(map[string]discover.Server{"echo": {Command: self, Args: []string{echoServer}}},
		discover.Options{Registry: registry})
	defer servers.Close()
	if err := servers.Wait(context.Background()); err != nil {
		return 0, err
	}
	rules, _, err := permission.ParseRules([]string{"echo__echo1"}, nil, nil)
	if err != nil {
		return 0, err
	}
	policy := permission.New(permission.World{Roots: []string{"/"}}, permission.Default)
	policy.SetRules(rules)
	x := &tool.Executor{Registry: registry, Policy: policy.Judge}
	var all []time.Duration
	for i := range 3200 {
		began := time.Now()
		call := tool.Call{Name: "echo__echo1", Args: json.RawMessage(`{"text":"hello"}`)}
		if o := x.Run(context.Background(), call); o.Status != tool.StatusSuccess {
			return 0, errors.New(o.Result.Text())
		}
		if i >= 200 { // the first calls are a warm-up
			all = append(all, time.Since(began))
		}
	}
	return median(all), nil
}

// startWithServers returns how long a whole prompt takes with no server and with five whose manifests are cached,
// alternately.
func startWithServers(self, binary string) (none, five time.Duration, err error) {
	model, err := openaitest.Start(openaitest.Script{Answers: []openaitest.Answer{{Text: "done"}}, Repeat: true})
	if err != nil {
		return 0, 0, err
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	servers := map[string]discover.Server{}
	for i := range 5 {
		servers[fmt.Sprintf("echo%d", i)] = discover.Server{Command: self, Args: []string{echoServer}}
	}
	homes := []string{filepath.Join(dir, "none"), filepath.Join(dir, "five")}
	for i, settings := range []any{map[string]any{}, map[string]any{"mcpServers": servers}} {
		text, err := json.Marshal(settings)
		if err != nil {
			return 0, 0, err
		}
		if err := os.Mkdir(homes[i], 0o700); err != nil {
			return 0, 0, err
		}
		if err := os.WriteFile(filepath.Join(homes[i], "settings.json"), text, 0o600); err != nil {
			return 0, 0, err
		}
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return 0, 0, err
	}
	took := make([][]time.Duration, 2)
	for round := range 61 {
		for i, home := range homes {
			d, err := prompt(binary, dir, home, model.URL)
			if err != nil {
				return 0, 0, err
			}
			if round > 0 { // the first round starts the servers and caches their lists
				took[i] = append(took[i], d)
			}
		}
	}
	return median(took[0]), median(took[1]), nil
}

func prompt(binary, dir, home, url string) (time.Duration, error) {
	cmd := exec.Command(binary, "-p", "go", "--model", "m")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ADZE_HOME=" + home, "OPENAI_BASE_URL=" + url}
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return time.Since(began), nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
