package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// changing is a call that changes a file.
type changing struct {
	row, tool string
	args      map[string]any // paths begin with /W/
	yolo      bool           // commands aren't tried
}

func everyChange() []changing {
	return []changing{
		{"`edit`", "edit", map[string]any{"file_path": "/W/a.txt", "old_string": "one", "new_string": "two"}, true},
		{"`write_file`", "write_file", map[string]any{"file_path": "/W/new.txt", "content": "new"}, true},
		{"`notebook_edit`", "notebook_edit", map[string]any{"notebook_path": "/W/n.ipynb", "cell_id": "c", "new_source": "2"}, true},
		{"`save_memory`", "save_memory", map[string]any{"fact": "It is blue.", "scope": "project"}, true},
		{"a command that was tried", "run_shell_command", map[string]any{"command": "echo two > a.txt"}, false},
		{"a command that wasn't", "run_shell_command", map[string]any{"command": "echo two > a.txt"}, true},
		{"an MCP tool", "outside", map[string]any{}, true},
	}
}

// outside is a tool of an MCP server.
func outside(dir string) tool.Tool {
	return &originTool{tool.Define(tool.Def[struct{}]{Name: "outside", Description: "Writes.", Kind: tool.Other,
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			return &tool.Invocation{Description: "outside", Run: func(context.Context, *tool.Live) (tool.Result, error) {
				return tool.TextResult("done"), os.WriteFile(filepath.Join(dir, "outside"), []byte("x"), 0o600)
			}}, nil
		}})}
}

type originTool struct{ tool.Tool }

func (o *originTool) Declaration() tool.Declaration {
	d := o.Tool.Declaration()
	d.Origin = "mcp:test"
	return d
}

// openFor opens a session for a call: recorded or not.
func (c changing) openFor(t *testing.T, recorded bool) (*session.Session, map[string]any) {
	t.Helper()
	home, dir := t.TempDir(), project.Canonical(t.TempDir())
	for name, text := range map[string]string{"a.txt": "one\n", "n.ipynb": `{"cells":[{"cell_type":"code","id":"c","source":"1",` +
		`"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"ADZE_HOME": home, "ADZE_LOCAL_MODELS": "off"}
	o := session.Options{Dir: dir, SingleCall: true}
	if recorded {
		o.Record = &session.Recording{}
	}
	s, err := session.Open(project.Env{Home: home, Helper: helper, HasUser: true, Environ: os.Environ(),
		Getenv: func(name string) string { return vars[name] }, Tell: func(string) {}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Executor.Registry.Set("mcp:test", []tool.Tool{outside(dir)}); err != nil {
		t.Fatal(err)
	}
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	if c.yolo {
		s.Policy.SetMode(permission.Yolo)
	}
	args := map[string]any{}
	for name, value := range c.args {
		args[name] = value
		if text, ok := value.(string); ok && strings.HasPrefix(text, "/W/") {
			args[name] = filepath.Join(dir, text[3:])
		}
	}
	return s, args
}

// outcome runs the call without a front end.
func (c changing) outcome(t *testing.T, s *session.Session, args map[string]any) tool.Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Executor.Batch(t.Context())
	b.Add(tool.Call{ID: "c", Name: c.tool, Args: raw})
	o := b.Wait()[0]
	if o.Error != nil {
		t.Fatalf("%s: %v", c.row, o.Error)
	}
	return o
}

// cell describes the changes that a front end got.
func cell(t *testing.T, raw any) string {
	t.Helper()
	var c tool.Changes
	if b, err := json.Marshal(raw); err != nil || json.Unmarshal(b, &c) != nil {
		t.Fatal(err)
	}
	switch {
	case len(c.List) > 0 && c.During && c.Incomplete == "":
		return "during the call"
	case len(c.List) > 0 && c.Incomplete == "":
		return "yes"
	case c.Incomplete != "":
		return "not compared"
	}
	return "no"
}

// frontEnds returns the changes of a call that each front end gets.
func (c changing) frontEnds(t *testing.T) (cells []string) {
	s, args := c.openFor(t, true)
	var out bytes.Buffer
	p := headless.NewPrinter(headless.PrinterOptions{W: &out, Session: s, Commands: slash.New(s, slash.Lasts), Stream: true})
	o := c.outcome(t, s, args)
	if !c.yolo && o.Changes.During {
		t.Skip("commands can't be tried here: adze doctor says why")
	}
	p.Event(agent.Responded{Outcomes: []tool.Outcome{o}})
	var line struct {
		Message struct{ Content []struct{ Changes any } }
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.Message.Content) != 1 {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	cells = append(cells, cell(t, line.Message.Content[0].Changes))

	s, args = c.openFor(t, false)
	b, err := c.outcome(t, s, args).JSON(json.RawMessage(`"c"`))
	var result struct{ Changes any }
	if err != nil || json.Unmarshal(b, &result) != nil {
		t.Fatal(err)
	}
	cells = append(cells, cell(t, result.Changes))

	s, args = c.openFor(t, false)
	handler := serve.New(serve.Options{Session: func(serve.Client) (*tool.Executor, func(), error) { return s.Executor, nil, nil }})
	cells = append(cells, overMCP(t, handler, c.tool, args))
	return cells
}

// overMCP calls a tool through the MCP server.
func overMCP(t *testing.T, s *serve.Server, name string, args map[string]any) string {
	t.Helper()
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- s.Stdio(context.Background(), in, out)
		out.Close()
	}()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res := &mcp.CallToolResult{Meta: mcp.Meta{}}
	offered := slices.ContainsFunc(list.Tools, func(one *mcp.Tool) bool { return one.Name == name })
	if offered {
		res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	}
	if err != nil || res.IsError {
		t.Fatalf("%s: %+v %v", name, res, err)
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.Close()
	if !offered {
		return "not offered"
	}
	return cell(t, res.Meta["adze.dev/changes"])
}

// The table in docs/sessions.md is what every front end gets.
func TestChangesTable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	page, err := os.ReadFile("../../../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range everyChange() {
		t.Run(c.row, func(t *testing.T) {
			row := fmt.Sprintf("| %s | %s |\n", c.row, strings.Join(c.frontEnds(t), " | "))
			if !strings.Contains(string(page), row) {
				t.Errorf("docs/sessions.md has no row %s", row)
			}
		})
	}
}
