package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// remote is an external tool whose description can change.
type remote struct{ name, text string }

func (r remote) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: r.name, Origin: "mcp:far", Description: r.text,
		Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`),
	}
}

func (r remote) Prepare(context.Context, json.RawMessage) (*tool.Invocation, error) {
	return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
		return tool.TextResult("ok"), nil
	}}, nil
}

// Requests only grow: over 200 turns in which facts are saved, plan mode starts and ends, days pass, and tools come, change
// and go, there is one system prompt, and the declarations and messages of each request begin with those of the one before.
func TestRequestsOnlyGrow(t *testing.T) {
	serial.Test(t)
	const turns = 200
	home, dir := t.TempDir(), project.Canonical(t.TempDir())
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Use tabs.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	s, err := Open(project.Env{HasUser: true, Home: home, Now: func() time.Time { return now }, Getenv: func(name string) string {
		return map[string]string{"ADZE_HOME": home}[name]
	}}, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	server := openaitest.Serve(t, openaitest.Script{Answers: growing(turns)})
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := s.Converse(t.Context(), ConversationOptions{Model: m})
	for i := 0; len(server.Requests()) < turns; i++ {
		now = now.Add(5 * time.Hour)
		vary(t, s, i)
		if _, err := c.Run(t.Context(), model.Text(fmt.Sprintf("prompt %d", i))); err != nil {
			t.Fatal(err)
		}
	}
	checkGrowth(t, server.Requests())
}

// growing are answers: some save a fact, some call a tool that has gone, and every fourth ends a prompt.
func growing(turns int) []openaitest.Answer {
	var all []openaitest.Answer
	for i := range turns {
		a := openaitest.Answer{Thought: "hm", Text: fmt.Sprintf("answer %d", i)}
		call := openaitest.Call{ID: fmt.Sprintf("c%d", i)}
		switch i % 4 {
		case 0:
			call.Name, call.Args = "save_memory", json.RawMessage(fmt.Sprintf(`{"fact":"fact %d"}`, i))
		case 1:
			call.Name, call.Args = "far__t0", json.RawMessage(`{"q":"x"}`)
		case 2:
			call.Name, call.Args = "far__changes", json.RawMessage(`{}`)
		}
		if call.Name != "" && i < turns-1 {
			a.Calls = []openaitest.Call{call}
		}
		all = append(all, a)
	}
	return all
}

func checkGrowth(t *testing.T, requests []modeltest.Request) {
	t.Helper()
	type body struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		CacheKey string            `json:"prompt_cache_key"`
	}
	var before body
	for i, r := range requests {
		var b body
		if err := json.Unmarshal([]byte(r.Body), &b); err != nil {
			t.Fatal(err)
		}
		if b.CacheKey == "" || i > 0 && b.CacheKey != before.CacheKey {
			t.Errorf("request %d: key %q after %q", i, b.CacheKey, before.CacheKey)
		}
		for name, lists := range map[string][2][]json.RawMessage{"messages": {before.Messages, b.Messages}, "tools": {before.Tools, b.Tools}} {
			for n, old := range lists[0] {
				if n >= len(lists[1]) || string(old) != string(lists[1][n]) {
					t.Fatalf("request %d: %s[%d] was %s", i, name, n, old)
				}
			}
		}
		before = b
	}
	last := requests[len(requests)-1].Body
	for _, want := range []string{
		`+- fact 4`, "Plan mode is on", "Plan mode is off", "The date is now Tuesday, 17 November 2026.", "The tool far__changes changed.",
		"far__t0 is no longer available: the MCP server far doesn't offer it anymore.", `"name":"far__t3"`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the last request lacks %q", want)
		}
	}
	if n := strings.Count(last, `"role":"system"`); n != 1 {
		t.Errorf("%d system prompts", n)
	}
}

// The system prompt and the declarations are part of every request, so they must stay small, in whatever dialect a family
// of models edits: a grammar counts too.
func TestWhatEveryTurnCarriesIsSmall(t *testing.T) {
	s, err := Open(project.Env{HasUser: true, Home: t.TempDir(), Getenv: func(string) string { return "" }}, Options{Dir: project.Canonical(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	for _, dialect := range []tool.Dialect{tool.ReplaceDialect, tool.PatchDialect, tool.AnchorDialect} {
		size := len(agent.SystemPrompt(agent.Surroundings{Workspace: s.Directory.Path, Date: time.Now()}))
		for _, d := range s.Executor.Registry.All() {
			if d.Dialect != dialect && (d.Dialect != "" || d.Deferred) {
				continue
			}
			b, err := json.Marshal(function{d.Name, d.Description, d.Parameters})
			if err != nil {
				t.Fatal(err)
			}
			size += len(b) + len(d.Grammar)
		}
		t.Logf("%s: %d bytes", dialect, size)
		if size > 17_000 {
			t.Errorf("%s: system prompt and declarations have %d bytes, over 17,000", dialect, size)
		}
	}
}

// Without a user, the system prompt says that the session is non-interactive.
func TestSystemPromptWithoutAUser(t *testing.T) {
	for _, user := range []bool{true, false} {
		s, err := Open(project.Env{HasUser: user, Home: t.TempDir(), Getenv: func(string) string { return "" }}, Options{Dir: project.Canonical(t.TempDir())})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if said := strings.Contains(s.SystemPrompt(), "This session is non-interactive: no user can answer questions or approve calls."); said == user {
			t.Errorf("with a user %v: non-interactive %v", user, said)
		}
	}
}

// vary changes the mode and the tools for the i-th prompt.
func vary(t *testing.T, s *Session, i int) {
	t.Helper()
	mode := "default"
	if i%3 == 1 {
		mode = "plan"
	}
	if err := s.SetMode(mode); err != nil {
		t.Fatal(err)
	}
	offer := []tool.Tool{remote{fmt.Sprintf("far__t%d", i), "Does."}, remote{"far__changes", fmt.Sprintf("Version %d.", i/5)}}
	if err := s.Executor.Registry.Set("mcp:far", offer); err != nil {
		t.Fatal(err)
	}
}
