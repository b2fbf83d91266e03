package builtin

import (
	"context"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestToolSearch(t *testing.T) {
	var asked []string
	find := func(_ context.Context, c tool.Call, query string, limit int) []tool.Declaration {
		asked = append(asked, query)
		if !strings.Contains(query, "issue") {
			return nil
		}
		return []tool.Declaration{{Name: "hub__create_issue", Description: "Creates\nan issue. " + strings.Repeat("x", 1000)}}[:min(limit, 1)]
	}
	tooltest.Check(t, func(string) tool.Tool { return toolSearch(find) },
		tooltest.Try{Args: `{"query":"create issue"}`}, tooltest.Try{Args: `{"query":""}`, Fails: true}, tooltest.Try{Args: `{"query":"x","max_results":0}`, Fails: true})

	s, err := New(Options{Dir: t.TempDir(), FindTools: find})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	text := call(t, x, ToolSearch, args{"query": " select:hub__create_issue,hub__gone "}).Result.Text()
	if !strings.HasPrefix(text, "1 tool, declared to you from your next turn on:\n- hub__create_issue: Creates an issue. xxx") ||
		!strings.HasSuffix(text, "Unknown tool: hub__gone.") || len(text) > 500 {
		t.Error(text)
	}
	if text := call(t, x, ToolSearch, args{"query": "weather"}).Result.Text(); !strings.HasPrefix(text, `No tool fits "weather".`) {
		t.Error(text)
	}
	if last := asked[len(asked)-1]; last != "weather" {
		t.Errorf("asked for %q", last)
	}
}
