package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// inspect runs the command line of the MCP inspector, a client that we did not write.
func inspect(t *testing.T, args ...string) (out []byte, err error) {
	t.Helper()
	cmd := exec.Command(node(t), append([]string{module(t, "inspector/clients/launcher/build/index.js"), "--cli"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	if err != nil {
		t.Logf("the inspector said: %.2000s", stderr.String())
	}
	return out, err
}

type inspected struct {
	Tools []struct {
		Name        string
		Description string
		InputSchema json.RawMessage
		Annotations struct{ ReadOnlyHint bool }
	}
	Content    []struct{ Type, Text, MimeType string }
	IsError    bool
	Structured json.RawMessage `json:"structuredContent"`
}

func TestInspectorStdio(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdio := func(args ...string) inspected {
		t.Helper()
		return decode(t, append(append([]string{"-e", "ADZE_PEER=server"}, args...), self)...)
	}
	if list := stdio("--method", "tools/list"); len(list.Tools) != len(fixtureTools()) || len(list.Tools[0].InputSchema) == 0 {
		t.Errorf("%+v", list)
	}
	res := stdio("--method", "tools/call", "--tool-name", "test_simple_text")
	if res.IsError || len(res.Content) != 1 || !strings.HasPrefix(res.Content[0].Text, "This is a simple text") || res.Structured != nil {
		t.Errorf("%+v", res)
	}
	res = stdio("--method", "tools/call", "--tool-name", "test_multiple_content_types")
	if len(res.Content) != 3 || res.Content[1].MimeType != "image/png" {
		t.Errorf("%+v", res)
	}
}

func TestInspectorHTTP(t *testing.T) {
	node(t)
	const token = "a-token-for-the-inspector"
	address := serveFixture(t, token)
	args := []string{"--transport", "http", "--server-url", "http://" + address + "/mcp", "--header", "Authorization: Bearer " + token}
	if list := decode(t, append(args, "--method", "tools/list")...); len(list.Tools) != len(fixtureTools()) {
		t.Errorf("%+v", list)
	}
	if _, err := inspect(t, "--transport", "http", "--server-url", "http://"+address+"/mcp", "--method", "tools/list"); err == nil {
		t.Error("it was served without the token")
	}
}

func decode(t *testing.T, args ...string) inspected {
	t.Helper()
	began := time.Now()
	out, err := inspect(t, args...)
	var v inspected
	if jerr := json.Unmarshal(out, &v); err != nil || jerr != nil {
		t.Errorf("%v %v after %s: %.1000s", err, jerr, time.Since(began), out)
	}
	return v
}
