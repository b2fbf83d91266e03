package proc

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// project returns a directory with something of everything that is built every day.
func project(t *testing.T) (dir string, env []string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "project")
	for name, text := range map[string]string{
		"go.mod":  "module example.test/project\n\ngo 1.21\n",
		"main.go": "package main\n\nfunc main() { println(\"built\") }\n",
		// A test with its own server, as most have.
		"main_test.go":             "package main\n\nimport (\n\t\"net\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestServer(t *testing.T) {\n\tl, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tgo l.Accept()\n\tif _, err := net.Dial(\"tcp\", l.Addr().String()); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif err := os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
		"Makefile":                 "out: main.go\n\tcp main.go out\n\tchmod 600 out\n\ttouch -t 202001010000 out\n",
		"dep/package.json":         `{"name":"dep","version":"1.0.0"}`,
		"package.json":             `{"name":"project","version":"1.0.0","dependencies":{"dep":"file:dep"}}`,
		"package-lock.json":        `{"name":"project","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"project","version":"1.0.0","dependencies":{"dep":"file:dep"}},"dep":{"version":"1.0.0"},"node_modules/dep":{"resolved":"dep","link":true}}}`,
		".github/workflows/ci.yml": "on: push\n",
	} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home := os.Getenv("HOME")
	if _, err := os.Stat(home); err != nil {
		home = filepath.Join(base, "home")
		os.MkdirAll(home+"/.cache", 0o755)
	}
	env = append(Environ([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, nil), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOPROXY=off")
	git := exec.Command("git", "init", "-q", dir)
	git.Env = env
	if text, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, text)
	}
	return dir, env
}

// A sandbox that breaks what users do all day is turned off.
func TestWorkInWorkspace(t *testing.T) {
	needsLayers(t)
	t.Parallel()
	r := opened(t, Options{})
	dir, env := project(t)
	protected := func(path string) bool { return strings.HasSuffix(path, ".github/workflows") }
	const npm = "npm ci --offline --no-audit --no-fund --loglevel=error && test -e node_modules/dep/package.json"
	for _, c := range []struct{ needs, line, again string }{ // again: with bubblewrap
		{"git", "git add . && git commit -qm first && git switch -qc other && git tag v1 && git gc -q && git status --short", "git commit -q --allow-empty -m again && git gc -q"},
		{"git", "git worktree add -q sub && cd sub && echo x > y && git add y && git commit -qm second", ""},
		{"make", "make && make -B", "make -B"},
		{"go", "", "go build -o app . && ./app"}, // TestRealWork does it without bubblewrap
		{"go", "", "go test -count=1 ."},
		{"npm", "", npm},
	} {
		name, _, _ := strings.Cut(cmp.Or(c.line, c.again), " &&")
		t.Run(name, func(t *testing.T) {
			if why := missing(c.needs); why != "" {
				t.Skip(why)
			}
			if os.Getenv("HOME") == "/nonexistent" && (c.needs == "go" || c.needs == "npm") {
				t.Skip("without a cache this takes a minute, and it was done as root")
			}
			for _, without := range []sandbox.Layers{0, sandbox.Landlock, sandbox.Namespaces} {
				if c.line == "" {
					break
				}
				spec := places.For(sandbox.Workspace, []string{dir}, nil, env, protected)
				spec.Without = without
				o := run(t, r, Command{Line: c.line, Dir: dir, Env: env, Sandbox: spec})
				if o.Exit != 0 {
					t.Errorf("without %v: exit %d: %s (%s)", without, o.Exit, o.Output, o.Suspect)
				}
				if c.needs != "make" {
					break // once is enough
				}
			}
			if c.again == "" {
				return
			}
			t.Run("bubblewrap", func(t *testing.T) {
				needsBubblewrap(t)
				spec := places.For(sandbox.Workspace, []string{dir}, nil, env, protected)
				spec.Bubblewrap = true
				if o := run(t, r, Command{Line: c.again, Dir: dir, Env: env, Sandbox: spec}); o.Exit != 0 {
					t.Errorf("exit %d: %s (%s)", o.Exit, o.Output, o.Suspect)
				}
			})
		})
	}
	r.Close()
	for _, name := range []string{".adze", ".qwen", ".mcp.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
}
