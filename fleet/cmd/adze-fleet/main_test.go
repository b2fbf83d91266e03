package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
)

// asProgram makes the test binary the program.
const asProgram = "ADZE_FLEET_AS_PROGRAM"

// onSmallDisk is a directory that has its own disk, which is soon full.
const onSmallDisk = "FLEET_SMALL_DISK"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		mountSmall(os.Getenv(onSmallDisk))
		os.Exit(run())
	}
	if text := os.Getenv(asNode); text != "" {
		node(text)
	}
	builtin.Main()
	os.Exit(m.Run())
}

// machine is a home directory with a repository, and the model.
type machine struct {
	t     *testing.T
	dir   string
	repo  string
	model *scripted
	vars  []string
	queue *exec.Cmd // the server, if there is one
}

const secretKey = "sk-very-secret-key-12345"

func newMachine(t *testing.T, model *scripted) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, dir: dir, repo: filepath.Join(dir, "repo"), model: model}
	m.git("init", "--quiet", m.repo)
	if err := os.WriteFile(filepath.Join(m.repo, "README"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.git("-C", m.repo, "add", ".")
	m.git("-C", m.repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first")
	return m
}

func (m *machine) git(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// command returns the program with arguments.
func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_BASE_URL") && !strings.HasPrefix(name, "ADZE_") && !strings.HasPrefix(name, "OPENAI_") {
			c.Env = append(c.Env, kv)
		}
	}
	c.Env = append(c.Env, asProgram+"=1", "HOME="+m.dir, "ADZE_HOME="+filepath.Join(m.dir, ".adze"), "ADZE_LOCAL_MODELS=off")
	if m.model != nil {
		c.Env = append(c.Env, "OPENAI_BASE_URL="+m.model.URL+"/v1", "OPENAI_API_KEY="+secretKey, "OPENAI_MODEL=scripted")
	}
	c.Env = append(c.Env, m.vars...)
	c.Dir = m.dir
	return c
}

// run runs the program, and returns what it printed and its exit code.
func (m *machine) run(args ...string) (stdout, stderr string, code int) {
	m.t.Helper()
	c := m.command(args...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	err := c.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return out.String(), problems.String(), exit.ExitCode()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return out.String(), problems.String(), 0
}

// tasks writes a file with n tasks of some calls each, and returns its path.
func (m *machine) tasks(name string, n, calls int) string {
	m.t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i := range n {
		id := fmt.Sprintf("t%d", i)
		if err := e.Encode(map[string]any{"id": id, "repo": "repo", "prompt": fmt.Sprintf("do %s %d %s", id, calls, m.effects())}); err != nil {
			m.t.Fatal(err)
		}
	}
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) effects() string { return filepath.Join(m.dir, "effects") }

// counted returns the lines of the file of effects, each with how often it is there.
func (m *machine) counted() map[string]int {
	raw, _ := os.ReadFile(m.effects())
	out := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}
