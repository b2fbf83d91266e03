package eino_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/adze-dev/adze"
	adapter "github.com/adze-dev/adze/adapters/eino"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// scripted is a model of eino that makes two calls, and answers with what it read.
type scripted struct {
	t     *testing.T
	tools map[string]bool
}

func (s *scripted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := &scripted{s.t, map[string]bool{}}
	for _, one := range tools {
		with.tools[one.Name] = true
	}
	return with, nil
}

func (s *scripted) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if !s.tools["read_file"] || !s.tools["write_file"] {
		s.t.Errorf("tools %v", s.tools)
	}
	results := ""
	for _, m := range in {
		if m.Role == schema.Tool {
			results += m.Content
		}
	}
	if results == "" {
		return schema.AssistantMessage("", []schema.ToolCall{
			{ID: "1", Function: schema.FunctionCall{Name: "read_file", Arguments: `{"absolute_path":"note.txt"}`}},
			{ID: "2", Function: schema.FunctionCall{Name: "write_file", Arguments: `{"file_path":"new.txt","content":"x"}`}},
		}), nil
	}
	if !strings.Contains(results, "on Friday") || !strings.Contains(results, "requires approval") {
		s.t.Errorf("results %q", results)
	}
	return schema.AssistantMessage("It is on Friday.", nil), nil
}

func (s *scripted) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("not streamed here")
}

// An agent of eino: a model reads a file, and is denied to write one.
func TestAgent(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("The demo is on Friday.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := adze.New(adze.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	tools, err := adapter.Tools(a.Executor(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: &scripted{t: t}, ToolsConfig: compose.ToolsNodeConfig{Tools: tools},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := agent.Generate(t.Context(), []*schema.Message{schema.UserMessage("When?")})
	if err != nil || answer.Content != "It is on Friday." {
		t.Errorf("%+v, %v", answer, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the denied call wrote a file")
	}
}
