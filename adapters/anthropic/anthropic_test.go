package anthropic_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/adze-dev/adze"
	adapter "github.com/adze-dev/adze/adapters/anthropic"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// The SDK's tool runner: a model reads a file and an image, and is denied to write one.
func TestToolRunner(t *testing.T) {
	dir := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"note.txt": []byte("The demo is on Friday.\n"), "a.png": picture.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		content, reason := []any{map[string]any{"type": "text", "text": "It is on Friday."}}, "end_turn"
		if requests++; requests == 1 {
			content, reason = []any{use("1", "read_file", map[string]any{"absolute_path": "note.txt"}),
				use("2", "write_file", map[string]any{"file_path": "new.txt", "content": "x"}),
				use("3", "read_file", map[string]any{"absolute_path": "a.png"})}, "tool_use"
		} else if text := string(body); !strings.Contains(text, "on Friday") || !strings.Contains(text, "requires approval") ||
			!strings.Contains(text, `"is_error":true`) || !strings.Contains(text, `"media_type":"image/png"`) {
			t.Errorf("the second request lacks the results: %s", text)
		}
		answer, _ := json.Marshal(map[string]any{"id": "x", "type": "message", "role": "assistant", "model": "m", "content": content,
			"stop_reason": reason, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1}})
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	a, err := adze.New(adze.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	tools, err := adapter.Tools(a.Executor(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	client := anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		MaxIterations: 5,
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{
			anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("When?")),
		}},
	})
	message, err := runner.RunToCompletion(t.Context())
	if err != nil || requests != 2 || len(message.Content) != 1 || message.Content[0].Text != "It is on Friday." {
		t.Errorf("%+v, %v, %d requests", message, err, requests)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the denied call wrote a file")
	}
}

func use(id, name string, input any) any {
	return map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}
}
