package main

import (
	"context"
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

	"github.com/adze-dev/adze/builtin"
)

var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = builtin.Main()
	os.Exit(m.Run())
}

// A model on a scripted server reads a file, tries to delete it, and answers.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(path, []byte("The demo is on Friday.\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		message := `{"role":"assistant","content":null,"tool_calls":[
			{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"absolute_path\":\"` + filepath.ToSlash(path) + `\"}"}},
			{"id":"2","type":"function","function":{"name":"run_shell_command","arguments":"{\"command\":\"rm note.txt\"}"}}]}`
		if strings.Contains(string(body), "The demo is on Friday.") && strings.Contains(string(body), "requires approval") {
			message = `{"role":"assistant","content":"The demo is on Friday."}`
		}
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":%s}]}`, message)
	}))
	defer server.Close()
	client := openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	if err := run(context.Background(), os.Stdout, helper, client, "m", dir, "When is the demo?"); err != nil {
		fmt.Println(err)
	}
	_, err = os.Stat(path)
	fmt.Println("deleted:", err != nil)
	// Output:
	// read_file: success
	// run_shell_command: denied
	// The demo is on Friday.
	// deleted: false
}
