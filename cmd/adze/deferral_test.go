package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The first request is much smaller when the 242 tools of a server are deferred.
func TestDeferralMakesRequestsSmall(t *testing.T) {
	t.Parallel()
	size := func(setting string) (tools, system int) {
		home := t.TempDir()
		text := `{"mcpServers":{"office":{"command":"mcpserver","env":{"MANY":"1"}}},` + setting + `}`
		if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{{Text: "done"}}})
		dir := t.TempDir()
		for _, c := range []struct{ args, want string }{
			{"mcp tools office", "office__echo"}, // waits for the server, as long as that takes
			{"-p go --model m", "done"},
		} {
			cmd := exec.Command("adze", strings.Fields(c.args)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+home, "ADZE_HOME="+home, "OPENAI_BASE_URL="+server.URL)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Fatalf("%v: %s", err, out)
			}
		}
		var body struct {
			Messages []struct{ Content string }
			Tools    []json.RawMessage
		}
		requests := server.Requests()
		if err := json.Unmarshal([]byte(requests[len(requests)-1].Body), &body); err != nil {
			t.Fatal(err)
		}
		for _, d := range body.Tools {
			tools += len(d)
		}
		return tools, len(body.Messages[0].Content)
	}
	tools, system := size(`"tools":{"toolSearch":{"enabled":false}}`)
	heldTools, heldSystem := size(`"tools":{"toolSearch":{"enabled":true}}`)
	t.Logf("declared: %d bytes of declarations, %d of system prompt; held back: %d and %d", tools, system, heldTools, heldSystem)
	if heldTools+heldSystem > (tools+system)/4 {
		t.Errorf("%d bytes, of %d", heldTools+heldSystem, tools+system)
	}
}
