package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/adze-dev/adze"
	adapter "github.com/adze-dev/adze/adapters/openai"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// A model reads a file, and is denied to write one.
func TestLoop(t *testing.T) {
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
		message := map[string]any{"role": "assistant", "content": "It is on Friday."}
		if requests++; requests == 1 {
			message = map[string]any{"role": "assistant", "tool_calls": []any{
				call("1", "read_file", `{"absolute_path":"note.txt"}`), call("2", "write_file", `{"file_path":"new.txt","content":"x"}`)}}
		} else if text := string(body); !strings.Contains(text, "on Friday") || !strings.Contains(text, "requires approval") {
			t.Errorf("the second request lacks the results: %s", text)
		}
		answer, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion", "model": "m",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}}})
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	text, err := loop(t, dir, openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none")))
	if err != nil || text != "It is on Friday." || requests != 2 {
		t.Errorf("%q, %v, %d requests", text, err, requests)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the denied call wrote a file")
	}
}

func call(id, name, args string) any {
	return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}
}

// loop is the loop of a program with the SDK.
func loop(t *testing.T, dir string, client openai.Client) (string, error) {
	a, err := adze.New(adze.Dir(dir))
	if err != nil {
		return "", err
	}
	defer a.Close()
	x := a.Executor(t.Context())
	params := openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("When?")}}
	if params.Tools, err = adapter.Tools(x); err != nil {
		return "", err
	}
	for range 5 {
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			return "", err
		}
		if len(answer.Choices) != 1 {
			return "", fmt.Errorf("%d choices", len(answer.Choices))
		}
		message := answer.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, nil
		}
		params.Messages = append(params.Messages, adapter.Respond(t.Context(), x, message)...)
	}
	return "", errors.New("no answer")
}
