package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

// A conversation over the Messages API: two calls at once, an image in a result, and signed thinking that goes back. The
// server rejects thinking if anything before it has changed.
func TestAnthropicConversation(t *testing.T) {
	t.Parallel()
	h, dir := house{t.TempDir()}, t.TempDir()
	note, picture := filepath.Join(dir, "a.txt"), filepath.Join(dir, "p.png")
	for path, data := range map[string]string{note: "hello from a", picture: smallPNG} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(id, path string) anthropictest.Call {
		args, err := json.Marshal(map[string]string{"absolute_path": path})
		if err != nil {
			t.Fatal(err)
		}
		return anthropictest.Call{ID: id, Name: "read_file", Args: args}
	}
	s := anthropictest.Serve(t, anthropictest.Script{Key: "sk-ant-right", Bound: true, Answers: []anthropictest.Answer{
		{Thought: "Two files.", Signature: "sig1", Calls: []anthropictest.Call{read("toolu_1", note), read("toolu_2", picture)}, Expect: []string{`"effort":"high"`}},
		{Signature: "sig2", Redacted: "hidden", Calls: []anthropictest.Call{read("toolu_3", note)}, Expect: []string{"sig1", "hello from a", `"media_type":"image/png"`}},
		{Text: "All is read.", Expect: []string{"sig1", "sig2", "hidden"}},
	}})
	run := func(key string) (string, error) {
		cmd := h.command("-p", "Read them.", "--model", "claude-x", "--effort", "high")
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+s.URL, "ANTHROPIC_API_KEY="+key)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("sk-ant-right"); err != nil || !strings.Contains(out, "All is read.") {
		t.Errorf("%v: %s", err, out)
	}
	out, err := run("sk-ant-wrong-key")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 41 || !strings.Contains(out, s.URL+"/v1/messages: status 401") ||
		!strings.Contains(out, "Check the API key in ANTHROPIC_API_KEY.") || strings.Contains(out, "sk-ant-wrong-key") {
		t.Errorf("%v: %s", err, out)
	}
}

// smallPNG is a picture of one pixel.
const smallPNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
