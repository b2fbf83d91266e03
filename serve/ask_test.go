package serve

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

func TestAsking(t *testing.T) {
	var asked *mcp.ElicitParams
	answer := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"remember": "Edit(/x)"}}
	cs, leave := client(t, New(Options{Session: testSession}), &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = r.Params
		return answer, nil
	}})
	defer leave()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit", Arguments: map[string]any{"text": "x"}})
	if err != nil || res.IsError {
		t.Fatalf("%+v %v", res, err)
	}
	if !strings.HasPrefix(asked.Message, "Edit x\nNeeds approval: it writes\n") || !strings.Contains(asked.Message, "the whole of x") {
		t.Error(asked.Message)
	}
	answer = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}}
	res, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "form"})
	if text := res.Content[0].(*mcp.TextContent).Text; text != `{"colour":"blue"}` {
		t.Error(text)
	}
}

// Non-interactive clients decline without showing anything: the model used to read that the user had denied the call.
func TestDeniedByTheClient(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func() (*mcp.ElicitResult, error)
		want   string
	}{
		{"declined", func() (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "decline"}, nil }, "the MCP client declined the approval request"},
		{"canceled", func() (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "cancel"}, nil }, "the MCP client canceled the approval request"},
		{"failed", func() (*mcp.ElicitResult, error) { return nil, errors.New("no window") }, "the MCP client failed to show the approval request: "},
		{"cannot ask", nil, "this MCP client can't show approval requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var opt *mcp.ClientOptions
			if c.answer != nil {
				opt = &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return c.answer() }}
			}
			cs, leave := client(t, New(Options{Session: testSession}), opt)
			defer leave()
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit", Arguments: map[string]any{"text": "x"}})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if !res.IsError || !strings.HasPrefix(text, "edit x: permission denied: "+c.want) ||
				!strings.HasSuffix(text, "\nNeeds approval: it writes\nTell the user: the rule Edit(/x) would allow it.") || strings.Contains(text, "person") {
				t.Errorf("%v %s", res.IsError, text)
			}
		})
	}
}

// Clients show only the first lines of a question: those used to have a label of the command and the reason, but not the
// size of an edit.
func TestFirstLinesOfAQuestion(t *testing.T) {
	long := "echo " + strings.Repeat("x", 2*maxLine)
	for name, c := range map[string]struct {
		description string
		confirm     tool.Display
		want        string // the first lines
	}{
		"an edit": {"edit src/list.go", tool.FileDiff{Diff: "-a\n+b", Stat: &tool.DiffStat{ModelAddedLines: 14, ModelRemovedLines: 3}},
			"Edit src/list.go +14 −3\nNeeds approval: it writes"},
		"an edit with a warning": {"write x", tool.FileDiff{Stat: &tool.DiffStat{ModelAddedLines: 1}, Warnings: []string{"x is a link"}},
			"Write x +1 −0\nNeeds approval: it writes\nWarning: x is a link"},
		"a command": {"run make …", tool.Command{Line: "make test && \\\n  rm -rf build"},
			"Run make test && \\ ⏎   rm -rf build\nNeeds approval: it writes"},
		"a command without a sandbox": {"run make once more without the sandbox", tool.Command{Line: "make", Warnings: []string{"now it would run without a sandbox"}},
			"Run make\nNeeds approval: it writes\nWarning: now it would run without a sandbox"},
		"hidden characters": {"run x", tool.Command{Line: "echo \u202Ex\r"}, "Run echo \\u202Ex\nNeeds approval: it writes"},
		"a command that is too long": {"run echo …", tool.Command{Line: long},
			"Run " + long[:maxLine] + " … (1005 more characters below)\nNeeds approval: it writes"},
		"anything else": {"fetch https://example.com", tool.Literal("all"), "Fetch https://example.com\nNeeds approval: it writes"},
	} {
		got := Question(tool.Request{Invocation: tool.Invocation{Description: c.description, Confirm: c.confirm}}, tool.Decision{Reason: "it writes"})
		if !strings.HasPrefix(got, c.want+"\n\n") || !strings.HasSuffix(got, c.confirm.Markdown()) {
			t.Errorf("%s:\n%.1500s\nwant\n%s", name, got, c.want)
		}
	}
}
