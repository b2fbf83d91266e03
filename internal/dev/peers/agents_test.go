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
	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/adze-dev/adze/model/openai/openaitest"
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
	out, err := agentCommand(t, p, env, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// opencode is the program in the package that opencode-ai chooses here, from node_modules/.bin: npm refuses a lock file
// that lacks one of opencode-ai's other packages, and some can't be had.
const opencode = "../opencode-linux-x64/bin/opencode"

func agentCommand(t *testing.T, p *program, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := filepath.Abs("node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, name)
	switch name {
	case "qwen": // the one in its SDK
		path, args = node(t), append([]string{filepath.Join(bin, "../@qwen-code/sdk/dist/cli/cli.js")}, args...)
	case "opencode":
		path = filepath.Join(bin, opencode)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = p.dir
	nowhere := "http://127.0.0.1:9" // nothing but loopback may be reached
	cmd.Env = append([]string{
		"PATH=" + strings.Join([]string{filepath.Dir(p.path), filepath.Dir(node(t)), os.Getenv("PATH")}, string(os.PathListSeparator)), "HOME=" + p.home,
		"ADZE_HOME=" + p.home, "HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
	}, env...)
	return cmd
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withClaude has Claude Code make the calls, and fails if a request to the model lacks what a call gave. Without flags for
// the server it is configured.
func withClaude(t *testing.T, p *program, all []turn, serve []string) {
	t.Helper()
	answers := make([]anthropictest.Answer, len(all)+1)
	for i, c := range all {
		name := "mcp__adze__" + c.tool
		answers[i].Thought, answers[i].Signature = fmt.Sprintf("Call %d.", i), fmt.Sprintf("signature%d", i)
		answers[i].Calls = []anthropictest.Call{{ID: fmt.Sprintf("toolu_%d", i), Name: name, Args: raw(t, c.args)}}
		answers[i].Faults = anthropictest.Faults{Split: 7, Chunk: 50}
		answers[i+1].Expect = c.want
	}
	answers[len(all)].Text = "All is done."
	s := anthropictest.Serve(t, anthropictest.Script{Key: "a-key", Answers: answers})
	args := []string{"-p", "Do it.", "--allowedTools", "mcp__adze"}
	if serve != nil {
		config := filepath.Join(p.home, "mcp.json")
		p.settings(config, object{"mcpServers": object{"adze": object{"command": p.path, "args": append([]string{"mcp", "serve"}, serve...)}}})
		args = append(args, "--mcp-config", config, "--strict-mcp-config")
	}
	out := agent(t, p, []string{
		"ANTHROPIC_BASE_URL=" + s.URL, "ANTHROPIC_API_KEY=a-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, "claude", args...)
	if !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// withCodex has Codex make the calls, and fails if a request to the model lacks what a call gave.
func withCodex(t *testing.T, p *program, all []turn, serve []string) {
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
	home := filepath.Join(p.home, ".codex")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	server, _ := os.ReadFile(filepath.Join(home, "config.toml")) // if it is configured
	if serve != nil {
		server = fmt.Appendf(nil, "[mcp_servers.adze]\ncommand = %q\nargs = %s\ndefault_tools_approval_mode = \"approve\"\n",
			p.path, raw(t, append([]string{"mcp", "serve", "--cwd", p.dir}, serve...)))
	}
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
%s`, s.URL, server)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out := agent(t, p, []string{"CODEX_HOME=" + home, "SCRIPTED_KEY=a-key"}, "codex", append(append([]string{"exec"}, p.codex...), "--skip-git-repo-check", "Do it.")...)
	if !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// withOpenAI has an agent that speaks OpenAI's chat API make the calls, and returns what it said. prefix is before the
// names of Adze's tools; more are answers to other requests.
func withOpenAI(t *testing.T, p *program, all []turn, prefix string, run func(url string) string, more ...openaitest.Answer) {
	t.Helper()
	answers := make([]openaitest.Answer, len(all)+1)
	for i, c := range all {
		answers[i].Calls = []openaitest.Call{{ID: fmt.Sprintf("call_%d", i), Name: prefix + c.tool, Args: raw(t, c.args)}}
		answers[i+1].Expect = c.want
	}
	answers[len(all)].Text = "All is done."
	s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: append(answers, more...)})
	if out := run(s.URL); !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// withQwen has Qwen Code make the calls. It must be configured.
func withQwen(t *testing.T, p *program, all []turn, _ []string) {
	t.Helper()
	withOpenAI(t, p, all, "mcp__adze__", func(url string) string {
		return agent(t, p, []string{"OPENAI_API_KEY=a-key", "OPENAI_BASE_URL=" + url, "OPENAI_MODEL=scripted"}, "qwen", "--auth-type", "openai", "Do it.")
	})
}

// withOpencode has opencode make the calls. It must be configured.
func withOpencode(t *testing.T, p *program, all []turn, _ []string) {
	t.Helper()
	withOpenAI(t, p, all, "adze_", func(url string) string {
		config := filepath.Join(p.home, "opencode.json")
		p.settings(config, object{"autoupdate": false, "share": "disabled", "provider": object{"scripted": object{
			"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url, "apiKey": "a-key"},
			"models": object{"scripted": object{"name": "scripted", "tool_call": true}},
		}}})
		return agent(t, p, []string{"OPENCODE_CONFIG=" + config}, "opencode", "run", "-m", "scripted/scripted", "Do it.")
	}, openaitest.Answer{When: "title generator", Text: "A title"})
}

// withGemini has Gemini CLI make the calls. It must be configured. Without --approval-mode yolo its headless mode has no
// tools with the its own names that change something.
func withGemini(t *testing.T, p *program, all []turn, _ []string) {
	t.Helper()
	answers := make([]geminitest.Answer, len(all)+1)
	for i, c := range all {
		answers[i].Calls = []geminitest.Call{{ID: fmt.Sprintf("call_%d", i), Name: "mcp_adze_" + c.tool, Args: raw(t, c.args)}}
		answers[i+1].Expect = c.want
	}
	answers[len(all)].Text = "All is done."
	s := geminitest.Serve(t, geminitest.Script{Key: "a-key", Answers: answers})
	out := agent(t, p, []string{"GEMINI_API_KEY=a-key", "GOOGLE_GEMINI_BASE_URL=" + s.URL}, "gemini", "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p", "Do it.")
	if !strings.Contains(out, "All is done.") {
		t.Error(out)
	}
}

// agents returns the programs whose models use Adze's tools.
func agents() map[string]func(t *testing.T, p *program, all []turn, serve []string) {
	return map[string]func(*testing.T, *program, []turn, []string){"claude-code": withClaude, "codex": withCodex}
}

// Claude Code and Codex send their models only structuredContent where a result has it. It had a status and a summary:
// the models saw no file, no match, no output and no image.
func TestAgentsSeeResults(t *testing.T) {
	for name, run := range agents() {
		t.Run(name, func(t *testing.T) {
			p := adze(t)
			run(t, p, turns(t, p, ranText), []string{"--approval-mode", "yolo"})
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
			run(t, p, turns(t, p, "permission denied: the", "MCP client", "run adze mcp serve with --rule "), []string{})
			if _, err := os.Stat(filepath.Join(p.dir, "made")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}
