package configimport

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/settings"
)

// imports are settings of each agent as their documentation has them, with the changes and the omissions that follow.
var imports = map[string]struct {
	agent         string
	files         map[string]string
	changes, left []string
}{
	"claude": {"claude", map[string]string{
		".claude/settings.json": `{
  "permissions": {"allow": ["Bash(npm run test:*)", "Edit", "WebFetch(domain:go.dev)", "TodoWrite"], "ask": ["Bash(git push:*)"],
    "deny": ["Read(.env)", "WebFetch(domain:*.evil.example)", "mcp__github"], "defaultMode": "acceptEdits"},
  "model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}, "env": {"KEY": "sk-of-mine"}, "statusLine": {}}`,
		".claude.json": `{"numStartups": 3, "mcpServers": {
  "gh": {"type": "http", "url": "https://gh.example/mcp", "headers": {"Authorization": "Bearer value-of-mine"}},
  "key": {"command": "npx", "args": ["x", "--api-key", "value-of-mine"]}, "ask": {"command": "npx", "args": ["y"], "env": {"A": "${B}", "C": "value-of-mine"}}}}`,
	}, []string{
		`permissions.deny "Read(**/.env)"`, `permissions.deny "Read(**/.env/**)"`, `permissions.deny "Edit(**/.env)"`, `permissions.deny "Edit(**/.env/**)"`, `permissions.deny "WebFetch(domain:evil.example)"`,
		`permissions.deny "mcp__github"`, `permissions.ask "Shell(git push:*)"`, `permissions.allow "Shell(npm run test:*)"`, `permissions.allow "Edit(/**)"`,
		`hooks {"PreToolUse":[{"hooks":[],"matcher":"Bash"}]}`, `mcpServers.ask {"args":["y"],"command":"npx","env":{"A":"$B","C":"$C"}}`,
		`mcpServers.gh {"headers":{"Authorization":"Bearer $GH_AUTHORIZATION"},"type":"http","url":"https://gh.example/mcp"}`, `tools.approvalMode "auto-edit"`,
	}, []string{"permissions.allow WebFetch(domain:go.dev)", "permissions.allow TodoWrite", "model opus", "env", "statusLine", "mcpServers.key",
		"mcpServers.gh.headers.Authorization", "mcpServers.ask.env.C"}},
	"codex": {"codex", map[string]string{
		".codex/config.toml": "model = \"gpt-5.3-codex\"\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n[mcp_servers.docs]\nurl = \"https://d.example/mcp\"\n" +
			"bearer_token_env_var = \"DOCS_TOKEN\"\nenv_http_headers = { \"X-Key\" = \"DOCS_KEY\" }\n[mcp_servers.loc]\ncommand = \"node\"\nargs = [\"s.js\"]\nenabled_tools = [\"x\"]\n" +
			"startup_timeout_sec = 20\n[mcp_servers.loc.env]\nA = \"value-of-mine\"\n[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n",
		".codex/rules/default.rules": "# mine\nprefix_rule(pattern=[\"git\", \"status\"], decision=\"allow\")\nprefix_rule(\n    pattern = [\"rm\"],\n" +
			"    decision = \"forbidden\",\n    justification = \"no (really)\",\n)\nprefix_rule(pattern=[\"gh\", \"pr view\"], decision=\"prompt\")\n",
	}, []string{
		`permissions.deny "Shell(rm:*)"`, `permissions.ask "Shell(gh 'pr view':*)"`, `permissions.allow "Shell(git status:*)"`,
		`mcpServers.docs {"headers":{"Authorization":"Bearer $DOCS_TOKEN","X-Key":"$DOCS_KEY"},"httpUrl":"https://d.example/mcp"}`,
		`mcpServers.loc {"args":["s.js"],"command":"node","env":{"A":"$A"},"includeTools":["x"],"startup_timeout_sec":20}`, `model.name "gpt-5.3-codex"`, `tools.approvalMode "auto-edit"`,
	}, []string{"approval_policy", "hooks", "mcpServers.loc.env.A", "mcpServers.off"}},
	"codex with a rule that can't be read": {"codex", map[string]string{
		".codex/rules/default.rules": "prefix_rule(pattern=[\"git\"])\n", ".codex/rules/more.rules": "prefix_rule(pattern=[\"rm\", [\"-r\", \"-f\"]], decision=\"forbidden\")\n",
	}, nil, []string{`more.rules prefix_rule(pattern=["rm", ["-r", "-f"]], decision="forbidden")`, `default.rules "allow" git`}},
	"codex with comments": {"codex", map[string]string{
		".codex/rules/default.rules": "# prefix_rule(pattern=[\"rm\"], decision=\"allow\")\nprefix_rule(pattern=[\"sudo\"], decision=\"forbidden\") # never\n" +
			"prefix_rule(pattern=[\"git\",\n \"log\", # decision = \"prompt\"\n], decision = \"allow\")\nprefix_rule(\n  # decision = \"allow\"\n  pattern = [\n    \"npm\",\n  ],\n  decision = \"prompt\", # pattern = [\"x\"]\n)\n",
	}, []string{`permissions.deny "Shell(sudo:*)"`, `permissions.ask "Shell(npm:*)"`}, []string{`default.rules prefix_rule(pattern=["git",`}},
	"gemini": {"gemini", map[string]string{".gemini/settings.json": `{"tools": {"allowed": ["run_shell_command(git log)"], "exclude": ["web_fetch"], "confirmationRequired": ["write_file"]},
  "general": {"defaultApprovalMode": "auto_edit"}, "model": {"name": "gemini-3-pro"}, "hooks": {"BeforeTool": []},
  "mcpServers": {"s": {"httpUrl": "http://127.0.0.1:1/mcp", "trust": true}}}`}, []string{
		`permissions.deny "WebFetch"`, `permissions.ask "Edit"`, `permissions.allow "Shell(git log:*)"`, `mcpServers.s {"httpUrl":"http://127.0.0.1:1/mcp"}`,
		`model.name "gemini-3-pro"`, `tools.approvalMode "auto-edit"`,
	}, []string{"hooks", "mcpServers.s.trust"}},
	"gemini with policies": {"gemini", map[string]string{".gemini/settings.json": `{"tools": {"allowed": ["run_shell_command(git)"]}}`, ".gemini/policies/mine.toml": "[[rule]]\n"},
		nil, []string{"mine.toml", "tools.allowed run_shell_command(git)"}},
	"qwen": {"qwen", map[string]string{".qwen/settings.json": `{"permissions": {"allow": ["run_shell_command(git log *)"], "deny": ["Bash(rm:*)"]},
  "tools": {"approvalMode": "yolo"}, "model": {"name": "qwen3-coder-plus"}, "mcpServers": {"s": {"url": "http://127.0.0.1:1/sse"}}}`}, []string{
		`permissions.deny "Shell(rm:*)"`, `permissions.allow "Shell(git log *)"`, `mcpServers.s {"url":"http://127.0.0.1:1/sse"}`, `model.name "qwen3-coder-plus"`,
	}, []string{"tools.approvalMode yolo"}},
	// Qwen Code's older keys restrict, and a rule without a star is for all commands that begin with its words. What is
	// turned off there stays off.
	"qwen with older keys": {"qwen", map[string]string{".qwen/settings.json": `{"permissions": {"allow": ["Bash(git:*)", "Edit(README.md)"], "deny": ["Bash(git push)"]}, "tools": {"exclude": ["run_shell_command(rm)"]},
  "mcp": {"excluded": ["off"]}, "mcpServers": {"off": {"command": "x"}, "on": {"command": "y"}}, "hooks": {"Stop": []}, "disableAllHooks": true}`}, []string{
		`permissions.deny "Shell(git push:*)"`, `permissions.deny "Shell(rm:*)"`, `permissions.allow "Shell(git:*)"`, `permissions.allow "Edit(/README.md)"`, `mcpServers.on {"command":"y"}`,
	}, []string{"hooks", "mcpServers.off"}},
	"qwen with a list of tools": {"qwen", map[string]string{".qwen/settings.json": `{"permissions": {"allow": ["Bash(git:*)"]}, "tools": {"core": ["read_file"]}}`},
		nil, []string{"tools.core", "permissions.allow Bash(git:*)"}},
	"gemini with some servers and other policies": {"gemini", map[string]string{".gemini/settings.json": `{"policyPaths": ["/p.toml"], "tools": {"allowed": ["run_shell_command(git)"]},
  "mcp": {"allowed": ["on"]}, "mcpServers": {"off": {"command": "x"}, "on": {"command": "y"}}}`}, []string{`mcpServers.on {"command":"y"}`},
		[]string{"policyPaths", "tools.allowed run_shell_command(git)", "mcpServers.off"}},
	"claude without hooks": {"claude", map[string]string{".claude/settings.json": `{"disableAllHooks": true, "hooks": {"Stop": []}}`}, nil, []string{"hooks"}},
	"codex with profiles of files": {"codex", map[string]string{".codex/config.toml": "[permissions.work.filesystem]\n\"/secret\" = \"none\"\n",
		".codex/rules/a.rules": "prefix_rule(pattern=[\"cat\"], decision=\"allow\")\n"}, nil, []string{"permissions", `a.rules "allow" cat`}},
	"rules without counterparts": {"claude", map[string]string{".claude/settings.json": `{"permissions": {"deny": ["Bash(run_in_background:true)", "Agent(Plan)"],
  "allow": ["Bash", "Write", "mcp__*", "mcp__a__*"]}}`}, nil, []string{"permissions.deny Bash(run_in_background:true)", "permissions.deny Agent(Plan)", "permissions.allow Bash",
		"permissions.allow Write", "permissions.allow mcp__*", "permissions.allow mcp__a__*"}},
	"opencode": {"opencode", map[string]string{".config/opencode/opencode.jsonc": `{ // mine
  "model": "anthropic/claude-sonnet-4-5", "permission": {"bash": {"*": "ask", "git *": "allow", "git push *": "deny"}, "read": {"*.env": "deny"}, "webfetch": "ask"},
  "mcp": {"a": {"type": "local", "command": ["npx", "-y", "z"], "environment": {"T": "{env:TT}"}}, "b": {"type": "remote", "url": "https://b.example/mcp"}}}`}, []string{
		`permissions.deny "Shell(git push *)"`, `permissions.deny "Read(**/*.env)"`, `permissions.deny "Read(**/*.env/**)"`, `permissions.ask "WebFetch"`,
		`permissions.allow "Shell(git *)"`, `mcpServers.a {"args":["-y","z"],"command":"npx","env":{"T":"$TT"}}`, `mcpServers.b {"httpUrl":"https://b.example/mcp"}`, `model.name "claude-sonnet-4-5"`,
	}, []string{"permission bash * ask"}},
	"rules in the other order": {"opencode", map[string]string{"opencode.json": `{"permission": {"bash": {"git *": "allow", "*": "ask"}, "glob": "deny"}, "tools": {"write": false, "x_*": true}}`},
		[]string{`permissions.deny "Edit"`, `permissions.ask "Shell"`, `permissions.allow "Shell(git *)"`}, []string{"permission glob * deny"}},
	"an agent's own rules in opencode": {"opencode", map[string]string{"opencode.json": `{"permission": {"bash": "allow"}, "agent": {"plan": {"permission": {"bash": "deny"}}}}`},
		nil, []string{"agent", "permission bash * allow"}},
	"a token anywhere": {"claude", map[string]string{".claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"command": "curl -H ` + "AKIA" + "Q7ZP3MXK5VRT2WNB" + `"}]}]}}`},
		nil, []string{"hooks"}},
}

func TestImports(t *testing.T) {
	t.Parallel()
	for name, c := range imports {
		plan := planOf(t, c.agent, c.files, "")
		var changes, left []string
		for _, one := range plan.Changes {
			changes = append(changes, one.Key+" "+string(one.Value))
		}
		for _, one := range plan.Left {
			what, _, _ := strings.Cut(one, ": ")
			left = append(left, what)
		}
		slices.Sort(left)
		slices.Sort(c.left)
		if !slices.Equal(changes, c.changes) || !slices.Equal(left, c.left) {
			t.Errorf("%s: changes\n%s\nleft\n%s", name, strings.Join(changes, "\n"), strings.Join(plan.Left, "\n"))
		}
		if text := plan.String(); strings.Contains(text, "of-mine") || strings.Contains(text, "AKIA") {
			t.Errorf("%s: a value was copied: %s", name, text)
		}
		before := "{\n  // mine\n  \"unknown\": 1,\n  \"permissions\": {\"allow\": [\"Shell(make)\"]}\n}\n"
		text, err := plan.Apply("settings.json", []byte(before))
		if err != nil || !strings.Contains(string(text), "// mine\n  \"unknown\": 1") || !strings.Contains(string(text), "Shell(make)") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// What the user has set stays, and a second import changes nothing.
func TestImportKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	c := imports["claude"]
	current := `{"tools": {"approvalMode": "plan"}, "mcpServers": {"gh": {"command": "x"}}, "hooks": {}}`
	plan := planOf(t, "claude", c.files, current)
	for _, one := range plan.Changes {
		if slices.Contains([]string{"tools.approvalMode", "mcpServers.gh", "hooks"}, one.Key) {
			t.Errorf("%s is replaced", one.Key)
		}
	}
	once, err := plan.Apply("settings.json", []byte(current))
	if err != nil {
		t.Fatal(err)
	}
	twice, err := planOf(t, "claude", c.files, string(once)).Apply("settings.json", once)
	if err != nil || string(twice) != string(once) {
		t.Errorf("%v\n%s\n%s", err, once, twice)
	}
	if _, err := settings.Load(settings.Sources{}); err != nil {
		t.Error(err)
	}
}

func TestBadImports(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		".claude/settings.json": "{", ".codex/config.toml": "a = ", ".gemini/settings.json": "[1]", "opencode.json": strings.Repeat(" ", maxFile+1),
		".qwen/settings.json": `{"permissions": {"allow": 7, "deny": [7, "Bash(", "(", "\u0000"]}, "mcpServers": {"a": 7, "b": null}, "model": 7}`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		agent := map[string]string{".cl": "claude", ".co": "codex", ".ge": "gemini", "ope": "opencode", ".qw": "qwen"}[file[:3]]
		plan, err := Read(agent, dir, false, nil)
		if agent != "qwen" && (err == nil || !strings.Contains(err.Error(), path)) || agent == "qwen" && (err != nil || len(plan.Changes) > 0) {
			t.Errorf("%s: %v, %+v", file, err, plan)
		}
	}
}
