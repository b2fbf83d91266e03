package genai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adze-dev/adze"
	adapter "github.com/adze-dev/adze/adapters/genai"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// A chat of the SDK: a model reads a file, and is denied to write one.
func TestChat(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("The demo is on Friday.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"name":"read_file"`) {
			t.Error("the request doesn't declare read_file")
		}
		parts := []any{map[string]any{"text": "It is on Friday."}}
		if requests++; requests == 1 {
			parts = []any{call("read_file", map[string]any{"absolute_path": "note.txt"}),
				call("write_file", map[string]any{"file_path": "new.txt", "content": "x"})}
		} else if text := string(body); !strings.Contains(text, "on Friday") || !strings.Contains(text, `{"error":"`) ||
			!strings.Contains(text, "requires approval") {
			t.Errorf("the second request lacks the results: %s", text)
		}
		answer, _ := json.Marshal(map[string]any{"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP"}}})
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	a, err := adze.New(adze.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	x := a.Executor(t.Context())
	tools, err := adapter.Tools(x)
	if err != nil {
		t.Fatal(err)
	}
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	chat, err := client.Chats.Create(t.Context(), "m", &genai.GenerateContentConfig{Tools: tools}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := chat.SendMessage(t.Context(), genai.Part{Text: "When?"})
	for err == nil && len(answer.FunctionCalls()) > 0 && requests < 5 {
		answer, err = chat.Send(t.Context(), adapter.Respond(t.Context(), x, answer.FunctionCalls())...)
	}
	if err != nil || answer.Text() != "It is on Friday." || requests != 2 {
		t.Errorf("%+v, %v, %d requests", answer, err, requests)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the denied call wrote a file")
	}
}

func call(name string, args any) any {
	return map[string]any{"functionCall": map[string]any{"name": name, "args": args}}
}
