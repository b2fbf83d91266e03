package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

// Claude Code speaks 2026-07-28: Adze's question is the result of a call, a program that drives Claude Code answers it, and
// Claude Code calls again with the answer.
func TestClaudeAnswersInALaterRequest(t *testing.T) {
	for action, want := range map[string]string{"accept": "new.txt", "decline": "the MCP client declined the approval request"} {
		t.Run(action, func(t *testing.T) {
			p := adze(t)
			file := filepath.Join(p.dir, "new.txt")
			s := anthropictest.Serve(t, anthropictest.Script{Key: "a-key", Answers: []anthropictest.Answer{
				{Calls: []anthropictest.Call{{ID: "toolu_0", Name: "mcp__adze__write_file", Args: raw(t, object{"file_path": file, "content": "new\n"})}}},
				{Text: "All is done.", Expect: []string{want}},
			}})
			asked := driveClaude(t, p, s.URL, action)
			if asked.Title != "Write new.txt +1 −0" || asked.Name != "WriteFile" || !strings.HasPrefix(asked.Description, "writes ") {
				t.Errorf("%+v", asked)
			}
			if !strings.Contains(string(asked.Schema), "only this once") {
				t.Errorf("the process is the session, so a rule may be offered: %s", asked.Schema)
			}
			if _, err := os.Stat(file); (err == nil) != (action == "accept") {
				t.Errorf("%s: %v", action, err)
			}
		})
	}
}

// elicitation is what a program that drives Claude Code is asked.
type elicitation struct {
	Subtype, Title, Description string
	Name                        string          `json:"display_name"`
	Schema                      json.RawMessage `json:"requested_schema"`
}

// driveClaude runs Claude Code as its SDK does, and answers the question.
func driveClaude(t *testing.T, p *program, url, action string) (asked elicitation) {
	t.Helper()
	config := filepath.Join(p.home, "mcp.json")
	p.settings(config, object{"mcpServers": object{"adze": object{"command": p.path, "args": []string{"mcp", "serve"}}}})
	cmd := agentCommand(t, p, []string{
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=a-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, "claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--mcp-config", config, "--strict-mcp-config",
		"--allowedTools", "mcp__adze")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	send := func(v object) { fmt.Fprintf(in, "%s\n", raw(t, v)) }
	send(object{"type": "control_request", "request_id": "1", "request": object{"subtype": "initialize"}})
	send(object{"type": "user", "message": object{"role": "user", "content": "Do it."}})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		var m struct {
			Type, Result string
			ID           string `json:"request_id"`
			Request      elicitation
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			continue
		}
		switch {
		case m.Type == "control_request" && m.Request.Subtype == "elicitation":
			asked = m.Request
			send(object{"type": "control_response", "response": object{
				"subtype": "success", "request_id": m.ID, "response": object{"action": action, "content": object{}},
			}})
		case m.Type == "result":
			if m.Result != "All is done." {
				t.Errorf("%.2000s", lines.Text())
			}
			return asked
		}
	}
	t.Error("there was no result")
	return asked
}
