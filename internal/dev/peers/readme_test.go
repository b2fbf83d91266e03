package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/fenced"
)

// printed returns the blocks of a page that a test of this package runs.
func printed(t *testing.T, page, test, language string) []string {
	t.Helper()
	blocks, err := fenced.Read(filepath.Join("..", "..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, b := range blocks {
		if b.Language == language && strings.HasSuffix(b.Note, "tested by "+test+" in internal/dev/peers") {
			found = append(found, b.Text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s for %s", page, language, test)
	}
	return found
}

// shell runs lines of bash in a directory, with adze, node and the agents in PATH and nothing but loopback to reach.
func (p *program) shell(dir, script string) string {
	p.t.Helper()
	bin, err := filepath.Abs("node_modules/.bin")
	if err != nil {
		p.t.Fatal(err)
	}
	path := strings.Join([]string{filepath.Dir(p.path), filepath.Dir(node(p.t)), bin, os.Getenv("PATH")}, string(os.PathListSeparator))
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	nowhere := "http://127.0.0.1:9"
	cmd.Env = append(os.Environ(), "HOME="+p.home, "ADZE_HOME=", "CODEX_HOME=", "PATH="+path, "HTTP_PROXY="+nowhere, "HTTPS_PROXY="+nowhere, "NO_PROXY=127.0.0.1,localhost",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

// The README's commands add Adze to other agents, which then connect to it; the guide's files do the same.
func TestReadmeClients(t *testing.T) {
	p := adze(t)
	for _, lines := range printed(t, "README.md", "TestReadmeClients", "sh") {
		p.shell(p.dir, lines)
	}
	if out := p.shell(p.dir, "claude mcp list"); !strings.Contains(out, "adze: adze mcp serve") || !strings.Contains(out, "Connected") {
		t.Errorf("Claude Code doesn't connect:\n%s", out)
	}
	if out := p.shell(p.dir, "codex mcp list"); !strings.Contains(out, "mcp serve") || !strings.Contains(out, "enabled") {
		t.Errorf("Codex doesn't list it:\n%s", out)
	}
	config := printed(t, "docs/guide.md", "TestReadmeClients", "toml")[0]
	if err := os.WriteFile(filepath.Join(p.home, ".codex", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.shell(p.dir, "codex mcp list"); !strings.Contains(out, "--cwd /home/me/app") {
		t.Errorf("Codex doesn't read the guide's file:\n%s", out)
	}
	dir := filepath.Join(p.home, ".qwen")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(printed(t, "docs/guide.md", "TestReadmeClients", "json")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	cli, err := filepath.Abs("node_modules/@qwen-code/sdk/dist/cli/cli.js")
	if err != nil {
		t.Fatal(err)
	}
	if out := p.shell(p.dir, "node "+cli+" mcp list"); !strings.Contains(out, "adze mcp serve") || !strings.Contains(out, "Connected") {
		t.Errorf("Qwen Code doesn't connect:\n%s", out)
	}
}

// The README's server is added and starts, here from the package that is installed.
func TestReadmeServer(t *testing.T) {
	p := adze(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var out string
	for _, lines := range printed(t, "README.md", "TestReadmeServer", "sh") {
		out += p.shell(here, lines)
	}
	out += p.shell(here, "adze mcp tools memory")
	if !strings.Contains(out, "memory") || !strings.Contains(out, "create_entities") {
		t.Errorf("the server doesn't work:\n%s", out)
	}
}
