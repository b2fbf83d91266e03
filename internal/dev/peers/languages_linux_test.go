package peers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
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
	program, err := goplsProgram()
	if err != nil {
		t.Fatal(err)
	}
	return bin + ":" + filepath.Dir(program) + ":" + os.Getenv("PATH")
}

// goplsProgram is gopls, built once, in a directory that TestMain removes.
var goplsProgram = sync.OnceValues(func() (path string, err error) {
	bin := filepath.Join(os.Getenv(ownDirectory), "bin")
	install := exec.Command("go", "install", gopls)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(bin, "gopls"), nil
})

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
	session := a.toolRun()
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
		text := session.answer(name, step.Args)
		for _, part := range step.Has {
			if !strings.Contains(text, part) {
				t.Errorf("%s %v: %q is missing: %s", name, step.Args, part, text)
			}
		}
	}
}

// toolRun is a session of adze tool run.
type toolRun struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func (p *program) toolRun() *toolRun {
	p.t.Helper()
	session := p.command("tool", "run", "--yolo")
	in, err := session.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := session.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		in.Close()
		session.Wait()
	})
	return &toolRun{p.t, in, bufio.NewReader(out)}
}

// call makes a call, which must succeed, and returns its result.
func (r *toolRun) call(name string, args object) string {
	r.t.Helper()
	line, err := json.Marshal(object{"name": name, "args": args})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		r.t.Fatal(err)
	}
	answer, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
	var o struct {
		Status     string
		LLMContent any // several texts if there are diagnostics
	}
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		r.t.Fatalf("%s: %v", answer, err)
	}
	text := fmt.Sprint(o.LLMContent)
	if o.Status != "success" {
		r.t.Errorf("%s: %s %s", line, o.Status, text)
	}
	return text
}

// answer makes a call until the language server is ready.
func (r *toolRun) answer(name string, args object) (text string) {
	r.t.Helper()
	waittest.Until(r.t, "the language server answers", func() bool {
		text = r.call(name, args)
		return !strings.HasPrefix(text, "No answer yet")
	})
	return text
}
