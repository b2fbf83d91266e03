package genkit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/adze-dev/adze"
	adapter "github.com/adze-dev/adze/adapters/genkit"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// Genkit's own loop: a model reads a file, and is denied to write one.
func TestGenerate(t *testing.T) {
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
	g := genkit.Init(t.Context())
	model := genkit.DefineModel(g, "test/scripted", &ai.ModelOptions{Supports: &ai.ModelSupports{Tools: true, Multiturn: true}},
		func(_ context.Context, r *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			if len(r.Tools) < 5 {
				t.Errorf("%d tools", len(r.Tools))
			}
			results := ""
			for _, m := range r.Messages {
				for _, p := range m.Content {
					if p.IsToolResponse() {
						results += fmt.Sprint(p.ToolResponse.Output)
					}
				}
			}
			parts := []*ai.Part{ai.NewTextPart("It is on Friday.")}
			if results == "" {
				parts = []*ai.Part{
					ai.NewToolRequestPart(&ai.ToolRequest{Name: "read_file", Ref: "1", Input: map[string]any{"absolute_path": "note.txt"}}),
					ai.NewToolRequestPart(&ai.ToolRequest{Name: "write_file", Ref: "2", Input: map[string]any{"file_path": "new.txt", "content": "x"}}),
				}
			} else if !strings.Contains(results, "on Friday") || !strings.Contains(results, "requires approval") {
				t.Errorf("results %q", results)
			}
			return &ai.ModelResponse{Request: r, FinishReason: ai.FinishReasonStop, Message: &ai.Message{Role: ai.RoleModel, Content: parts}}, nil
		})
	answer, err := genkit.Generate(t.Context(), g, ai.WithModel(model), ai.WithPrompt("When?"), ai.WithTools(tools...))
	if err != nil || answer.Text() != "It is on Friday." {
		t.Errorf("%+v, %v", answer, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the denied call wrote a file")
	}
}
