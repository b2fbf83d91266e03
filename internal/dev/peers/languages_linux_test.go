package peers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gopls is the version that Go 1.26 can build.
const gopls = "golang.org/x/tools/gopls@v0.23.0"

// languageProject is a project with what a language server knows about it.
type languageProject struct {
	Server string
	Files  map[string]string
	Steps  []struct {
		Tool string // "": code
		Args object
		Has  []string // of the result
	}
}

// The tool code with real language servers: each finds what languages.json says, and errors follow edits.
func TestLanguageServers(t *testing.T) {
	text, err := os.ReadFile("languages.json")
	if err != nil {
		t.Fatal(err)
	}
	var projects []languageProject
	if err := json.Unmarshal(text, &projects); err != nil {
		t.Fatal(err)
	}
	node(t)
	path := languagePrograms(t)
	for _, project := range projects {
		t.Run(project.Server, func(t *testing.T) { project.run(t, path) })
	}
}

// languagePrograms makes a PATH with the language servers. The sandbox lets a server read the prefix of a global
// installation, with bin and lib/node_modules, so node_modules becomes one.
func languagePrograms(t *testing.T) string {
	t.Helper()
	prefix, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(prefix, "bin")
	for _, dir := range []string{bin, filepath.Join(prefix, "lib/node_modules")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"node": "../node/bin/node", "typescript-language-server": "../.bin/typescript-language-server",
		"pyright-langserver": "../.bin/pyright-langserver", "bash-language-server": "../.bin/bash-language-server",
		"yaml-language-server": "../.bin/yaml-language-server", "vscode-json-language-server": "../.bin/vscode-json-language-server",
	} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	install := exec.Command("go", "install", gopls)
	own := t.TempDir()
	install.Env = append(os.Environ(), "GOBIN="+own, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin + ":" + own + ":" + os.Getenv("PATH")
}

// run makes the calls of a project in one session.
func (p languageProject) run(t *testing.T, path string) {
	a := adze(t)
	a.env = append(a.env, "PATH="+path)
	for name, text := range p.Files {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(a.home, "settings.json")); err != nil { // of adze: it turns sandboxes off
		t.Fatal(err)
	}
	session := a.command("tool", "run", "--yolo")
	in, err := session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	defer session.Wait()
	defer in.Close()
	results := bufio.NewReader(out)
	call := func(name string, args object) (status, text string) {
		line, err := json.Marshal(object{"name": name, "args": args})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		answer, err := results.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var o struct {
			Status     string
			LLMContent any // several texts if there are diagnostics
		}
		if err := json.Unmarshal([]byte(answer), &o); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		return o.Status, fmt.Sprint(o.LLMContent)
	}
	for _, step := range p.Steps {
		name := step.Tool
		if name == "" {
			name = "code"
		}
		for _, key := range []string{"absolute_path", "file_path"} {
			if file, ok := step.Args[key].(string); ok {
				step.Args[key] = filepath.Join(a.dir, file)
			}
		}
		status, text := call(name, step.Args)
		for deadline := time.Now().Add(2 * time.Minute); strings.HasPrefix(text, "No answer yet") && time.Now().Before(deadline); {
			time.Sleep(200 * time.Millisecond) // not synchronization: the time between two questions
			status, text = call(name, step.Args)
		}
		for _, part := range step.Has {
			if !strings.Contains(text, part) {
				t.Errorf("%s %v: %q is missing: %s", name, step.Args, part, text)
			}
		}
		if status != "success" {
			t.Errorf("%s %v: %s %s", name, step.Args, status, text)
		}
	}
}
