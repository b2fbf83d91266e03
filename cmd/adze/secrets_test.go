package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// madeUp are tokens that no service knows, in parts: other programs that look for secrets shouldn't report them.
var madeUp = []string{"ghp_" + "Zk3wXq8Rt1Vb6Nn0Ls4Ky7Hj2Gd5Pm40a8xK", "glpat-" + "x7Yk2Qw9Rt4Zn1Lp8Vb3"}

// A token in a file doesn't reach the model or the journal. An edit around it is byte-exact, a command with its
// placeholder fails, and what the user types is sent with a warning and masked in the journal.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "config.yml")
	content := "name: a\r\ntoken: " + madeUp[0] + "\r\nsize: 1\r\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var requests []string
	placeholder := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, string(body))
		if found := regexp.MustCompile(`token: (\[secret:github-token:[a-z0-9]{4}-[0-9]+\])`).FindSubmatch(body); found != nil {
			placeholder = string(found[1])
		}
		calls := []struct {
			name string
			args map[string]any
		}{
			{"read_file", map[string]any{"absolute_path": file}},
			{"edit", map[string]any{"file_path": file, "old_string": "token: " + placeholder + "\nsize: 1", "new_string": "token: " + placeholder + "\nsize: 2"}},
			{"run_shell_command", map[string]any{"command": "echo " + placeholder}},
			{"run_shell_command", map[string]any{"command": "cat config.yml"}},
		}
		w.Header().Set("Content-Type", "application/json")
		message := quoted("done")
		if n := len(requests) - 1; n < len(calls) {
			args, _ := json.Marshal(calls[n].args)
			text, _ := json.Marshal(string(args))
			message = fmt.Appendf(nil, `{"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, n, calls[n].name, text)
		}
		fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}]}`, message)
	}))
	defer server.Close()
	run := func(args ...string) string {
		cmd := exec.Command("adze", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "ADZE_HOME="+home, "OPENAI_BASE_URL="+server.URL+"/v1", "ADZE_LOCAL_MODELS=off")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out.String())
		}
		return out.String()
	}
	out := run("-p", "use "+madeUp[1]+" and change the size", "--model", "m", "--yolo")
	if !strings.Contains(out, "your message contains a secret (gitlab-token)") {
		t.Error("no warning:", out)
	}
	if len(requests) != 5 || placeholder == "" {
		t.Fatalf("%d requests, %q\n%s", len(requests), placeholder, out)
	}
	if !strings.Contains(requests[0], madeUp[1]) || strings.Contains(strings.Join(requests, ""), madeUp[0]) {
		t.Error("what the user typed must be sent, and what is in the file must not")
	}
	if !strings.Contains(requests[3], "It can only be used to edit the file that contains the secret") {
		t.Error("a command with a placeholder:", requests[3])
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != strings.Replace(content, "size: 1", "size: 2", 1) {
		t.Errorf("%q %v", text, err)
	}
	all := out
	journals, err := filepath.Glob(filepath.Join(home, "sessions", "*", "journal.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatal(journals, err)
	}
	text, err := os.ReadFile(journals[0])
	if all += string(text); err != nil || !strings.Contains(all, "[secret:gitlab-token:") {
		t.Error("journal:", err)
	}
	for _, secret := range madeUp {
		if strings.Contains(all, secret) {
			t.Errorf("output or journal contain %s", secret)
		}
	}
}
