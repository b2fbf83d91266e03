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
	script = "qwen() { node '" + filepath.Join(bin, "../@qwen-code/sdk/dist/cli/cli.js") + "' \"$@\"; }\n" +
		"opencode() { '" + filepath.Join(bin, opencode) + "' \"$@\"; }\n" + script
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

// The guide's lines, which the README has too, add Adze to other agents, whose models then use its tools: what they read
// reaches them, and so does what would allow what was denied. The guide's files do the same.
func TestReadmeClients(t *testing.T) {
	readme, guide := printed(t, "docs/guide.md", "TestReadmeClients", "sh"), printed(t, "docs/guide.md", "TestReadmeClients", "json")
	added := strings.Split(strings.Join(readme, "\n"), "\n")
	front, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range added {
		if strings.Contains(line, " mcp add ") && !strings.Contains(string(front), "`"+line+"`") {
			t.Errorf("README.md doesn't have the guide's line %q", line)
		}
	}
	for name, run := range map[string]func(*testing.T, *program, []turn, []string){
		"claude": withClaude, "codex": withCodex, "qwen": withQwen, "gemini": withGemini, "opencode": withOpencode,
	} {
		ways := map[string]func(p *program){"the commands": func(p *program) {
			for _, line := range added {
				if flag, ok := strings.CutPrefix(line, "codex exec -c '"); ok {
					flag, _, _ = strings.Cut(flag, "'")
					p.codex = []string{"-c", flag}
				} else if strings.HasPrefix(line, name+" ") {
					p.shell(p.dir, line)
				}
			}
		}}
		switch name {
		case "gemini":
			add := ways["the commands"]
			ways["the commands"] = func(p *program) {
				p.file(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}`)
				add(p)
			}
		case "codex":
			ways["the files"] = func(p *program) {
				config := printed(t, "docs/guide.md", "TestReadmeClients", "toml")[0]
				p.file(".codex/config.toml", strings.ReplaceAll(config, "/home/me/app", p.dir))
			}
		case "qwen":
			ways["the files"] = func(p *program) { p.file(".qwen/settings.json", guide[0]) }
		}
		for way, configure := range ways {
			t.Run(name+" as in "+way, func(t *testing.T) {
				p := adze(t)
				p.file(".adze/settings.json", `{"tools":{"trial":"off"}}`) // Codex passes no ADZE_HOME
				configure(p)
				run(t, p, turns(t, p, "permission denied: ", "run adze mcp serve with --rule ")[:3], nil)
			})
		}
	}
}

// The guide's line adds a server over HTTP.
func TestGuideHTTP(t *testing.T) {
	p := adze(t)
	line := printed(t, "docs/guide.md", "TestGuideHTTP", "sh")[0]
	port := freePort(t)
	cmd := p.command("mcp", "serve", "--http", "127.0.0.1:"+port)
	cmd.Env = append(cmd.Env, "ADZE_MCP_TOKEN=a-token-of-enough-characters")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	awaitListener(t, "127.0.0.1:"+port)
	p.shell(p.dir, "export ADZE_MCP_TOKEN=a-token-of-enough-characters\n"+strings.Replace(line, "8931", port, 1))
	if out := p.shell(p.dir, "claude mcp list"); !strings.Contains(out, port+"/mcp") || !strings.Contains(out, "Connected") {
		t.Errorf("Claude Code doesn't connect:\n%s", out)
	}
}

// file writes a file of the home directory.
func (p *program) file(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.home, path)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// The guide's server is added and starts, here from the package that is installed.
func TestReadmeServer(t *testing.T) {
	p := adze(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var out string
	for _, lines := range printed(t, "docs/guide.md", "TestReadmeServer", "sh") {
		out += p.shell(here, lines)
	}
	out += p.shell(here, "adze mcp tools memory")
	if !strings.Contains(out, "memory") || !strings.Contains(out, "create_entities") {
		t.Errorf("the server doesn't work:\n%s", out)
	}
}
