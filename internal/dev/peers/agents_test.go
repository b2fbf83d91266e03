package peers

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
	"github.com/adze-dev/adze/model/responses/responsestest"
)

// turn is one call that the scripted model makes through an agent, and what the next request to the model must have.
type turn struct {
	tool string
	args object
	want []string
}

// turns returns the calls of a conversation: a file, a search, a command that requires approval, an image.
func turns(t *testing.T, p *program, ran ...string) []turn {
	t.Helper()
	text, picture := filepath.Join(p.dir, "notes.txt"), filepath.Join(p.dir, "dot.png")
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{text: []byte("the needle is in the notes\n"), picture: dot.Bytes()} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []turn{
		{"read_file", object{"absolute_path": text}, []string{"the needle is in the notes"}},
		{"grep_search", object{"pattern": "need.e"}, []string{"1:the needle is in the notes"}},
		{"run_shell_command", object{"command": "touch made && printf %s- one two", "is_background": false}, ran},
		{"read_file", object{"absolute_path": picture}, []string{"image/png", base64.StdEncoding.EncodeToString(dot.Bytes())}},
	}
}

const ranText = "Output: one-two-"

// agent runs an agent's program in the directory, with nothing to reach but loopback, and gives what it said.
func agent(t *testing.T, p *program, env []string, name string, args ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules/.bin", name))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = p.dir
	nowhere := "http://127.0.0.1:9" // nothing but loopback may be reached
	cmd.Env = append([]string{
		"PATH=" + filepath.Dir(node(t)) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.home, "ADZE_HOME=" + p.home,
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
	}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withClaude has Claude Code make the calls, and fails if a request to the model lacks what a call gave.
func withClaude(t *testing.T, p *program, all []turn, serve ...string) {
	t.Helper()
	answers := make([]anthropictest.Answer, len(all)+1)
	var allowed []string
	for i, c := range all {
		name := "mcp__adze__" + c.tool
		allowed = append(allowed, name)
		answers[i].Thought, answers[i].Signature = fmt.Sprintf("Call %d.", i), fmt.Sprintf("signature%d", i)
		answers[i].Calls = []anthropictest.Call{{ID: fmt.Sprintf("toolu_%d", i), Name: name, Args: raw(t, c.args)}}
		answers[i].Faults = anthropictest.Faults{Split: 7, Chunk: 50}
		answers[i+1].Expect = c.want
	}
	answers[len(all)].Text = "All is done."
	s := anthropictest.Serve(t, anthropictest.Script{Key: "a-key", Answers: answers})
	config := filepath.Join(p.home, "mcp.json")
	p.settings(config, object{"mcpServers": object{"adze": object{"command": p.path, "args": append([]string{"mcp", "serve"}, serve...)}}})
	out := agent(t, p, []string{
		"ANTHROPIC_BASE_URL=" + s.URL, "ANTHROPIC_API_KEY=a-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, "claude", "-p", "Do it.", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", strings.Join(allowed, ","))
	if !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// withCodex has Codex make the calls, and fails if a request to the model lacks what a call gave.
func withCodex(t *testing.T, p *program, all []turn, serve ...string) {
	t.Helper()
	answers := make([]responsestest.Answer, len(all)+1)
	for i, c := range all {
		answers[i].Thought, answers[i].Encrypted = fmt.Sprintf("Call %d.", i), fmt.Sprintf("encrypted%d", i)
		answers[i].Calls = []responsestest.Call{{ID: fmt.Sprintf("call_%d", i), Namespace: "mcp__adze", Name: c.tool, Args: raw(t, c.args)}}
		answers[i].Faults = responsestest.Faults{Split: 7, Chunk: 50}
		answers[i+1].Expect = c.want
	}
	answers[len(all)].Text = "All is done."
	s := responsestest.Serve(t, responsestest.Script{Key: "a-key", Answers: answers})
	home := filepath.Join(p.home, "codex")
	args := raw(t, append([]string{"mcp", "serve", "--cwd", p.dir}, serve...))
	config := fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = %q
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[mcp_servers.adze]
command = %q
args = %s
default_tools_approval_mode = "approve"
`, s.URL, p.path, args)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out := agent(t, p, []string{"CODEX_HOME=" + home, "SCRIPTED_KEY=a-key"}, "codex", "exec", "--skip-git-repo-check", "Do it.")
	if !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// agents returns the programs whose models use Adze's tools.
func agents() map[string]func(t *testing.T, p *program, all []turn, serve ...string) {
	return map[string]func(*testing.T, *program, []turn, ...string){"claude-code": withClaude, "codex": withCodex}
}

// Claude Code and Codex send their models only structuredContent where a result has it. It had a status and a summary:
// the models saw no file, no match, no output and no image.
func TestAgentsSeeResults(t *testing.T) {
	for name, run := range agents() {
		t.Run(name, func(t *testing.T) {
			p := adze(t)
			run(t, p, turns(t, p, ranText), "--approval-mode", "yolo")
			if _, err := os.Stat(filepath.Join(p.dir, "made")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Neither agent shows an approval request without a terminal. The model learns that the client denied it, not the user, and
// what would allow it.
func TestAgentsWithoutAUserDeny(t *testing.T) {
	for name, run := range agents() {
		t.Run(name, func(t *testing.T) {
			p := adze(t)
			run(t, p, turns(t, p, "permission denied: the", "MCP client", "to permissions.allow in "+p.home, "add the rule "))
			if _, err := os.Stat(filepath.Join(p.dir, "made")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}
