package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/gemini/geminitest"
)

// A conversation over the Gemini API: two calls at once, an image in a result, and signatures that are sent back. The model
// accepts no media in results: they follow, from then on. The server rejects a signature in another part than it came in.
func TestGeminiConversation(t *testing.T) {
	t.Parallel()
	h, dir := house{t.TempDir()}, t.TempDir()
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	note, picture := filepath.Join(dir, "a.txt"), filepath.Join(dir, "p.png")
	for path, data := range map[string]string{note: "hello from a", picture: string(pixel)} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(id, path, signature string) geminitest.Call {
		args, err := json.Marshal(map[string]string{"absolute_path": path})
		if err != nil {
			t.Fatal(err)
		}
		return geminitest.Call{ID: id, Name: "read_file", Args: args, Signature: signature}
	}
	const inside, beside = `"parts":[{"inlineData":{"mimeType":"image/png"`, `{"text":"From read_file:"},{"inlineData":{"mimeType":"image/png"`
	s := geminitest.Serve(t, geminitest.Script{Key: "AIza-right", Answers: []geminitest.Answer{
		{Thought: "Two files.", Calls: []geminitest.Call{read("x1", note, "c2lnMQ=="), read("x2", picture, "")}, Expect: []string{`"thinkingLevel":"HIGH"`}},
		{Expect: []string{"c2lnMQ==", "hello from a", inside}, Status: 400,
			Raw: `{"error":{"code":400,"message":"function_response.parts is not supported for this model.","status":"INVALID_ARGUMENT"}}`},
		{Expect: []string{"c2lnMQ==", "hello from a", beside}, Absent: []string{inside, "Two files."},
			Text: "Again.", Calls: []geminitest.Call{read("", note, "c2lnMg==")}},
		{Expect: []string{"c2lnMQ==", "c2lnMg==", beside}, Text: "All is read.", Signature: "c2lnMw=="},
	}})
	run := func(key string) (string, error) {
		cmd := h.command("-p", "Read them.", "--model", "gemini-x", "--effort", "high")
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "GEMINI_BASE_URL="+s.URL, "GEMINI_API_KEY="+key)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("AIza-right"); err != nil || !strings.Contains(out, "All is read.") {
		t.Errorf("%v: %s", err, out)
	}
	out, err := run("AIza-wrong-key")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 41 || !strings.Contains(out, s.URL+"/v1beta/models/gemini-x:streamGenerateContent: status 400") ||
		!strings.Contains(out, "Check the API key in GEMINI_API_KEY.") || strings.Contains(out, "AIza-wrong-key") {
		t.Errorf("%v: %s", err, out)
	}
}
