package adze_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// judged returns what the policy of an executor says about a command that isn't run.
func judged(t *testing.T, x *tool.Executor, command string) string {
	t.Helper()
	call := shell(command)
	shell, err := x.Registry.Lookup(call.Name)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := shell.Prepare(t.Context(), call.Args)
	if err != nil {
		return "error: " + err.Error()
	}
	return permission.Word(x.Policy(tool.Request{Call: call, Declaration: shell.Declaration(), Invocation: *inv}))
}

// The verdicts are those of the program: the same for every line of the corpora, in each mode.
func TestVerdicts(t *testing.T) {
	dir := project.Canonical(t.TempDir())
	every := 50
	if soak.On() {
		every = soak.OneIn(10)
	}
	allowed := 0
	for _, mode := range permission.Modes() {
		a := opened(t, adze.Dir(dir), adze.Mode(mode), adze.Deny("Read(~/.ssh/**)"))
		home := t.TempDir()
		program, err := session.Open(project.Env{
			Home: os.Getenv("HOME"), Helper: helper, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home}[name] },
		}, session.Options{Dir: dir, Flags: []settings.Flag{
			{Name: "mode", Key: "tools.approvalMode", Value: string(mode)},
			{Name: "deny", Key: "permissions.deny", List: []string{"Read(~/.ssh/**)"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		for _, file := range []string{"attacks.txt", "harmless.txt", "everyday.txt"} {
			for i, l := range bashlab.ReadLines(t, "permission/testdata/"+file) {
				if i%every != 0 {
					continue
				}
				line := strings.ReplaceAll(strings.TrimPrefix(l.Text, "!"), "⏎", "\n")
				got, want := judged(t, a.Executor(t.Context()), line), judged(t, program.Executor, line)
				if got != want {
					t.Errorf("%s, %s:%d: %s, the program says %s: %s", mode, file, l.Number, got, want, line)
				}
				if got == "allow" {
					if allowed++; file == "attacks.txt" && mode != permission.Yolo {
						t.Errorf("%s, %s:%d: allowed: %s", mode, file, l.Number, line)
					}
				}
			}
		}
	}
	if allowed == 0 {
		t.Error("nothing was allowed")
	}
}

// What programs got wrong with the packages: each is denied, or an error.
func TestProbes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the sandbox")
	}
	home, dir := project.Canonical(t.TempDir()), project.Canonical(t.TempDir())
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":./bin:"+os.Getenv("PATH"))
	t.Setenv("BIRDSEYE_TOKEN", "ghp_"+strings.Repeat("aB3", 12))
	for path, text := range map[string]string{
		filepath.Join(home, ".ssh/id"): "SECRETWORD\n", filepath.Join(dir, ".env"): "TOKEN=SECRETWORD\n",
		filepath.Join(dir, "bin/ls"): "#!/bin/sh\necho x >~/x\necho x >x\ncat ~/.ssh/id .env\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string][]adze.Option{
		"without options": nil,
		"deny rule":       {adze.Deny("Read(~/.ssh/**)"), adze.Mode(permission.AutoEdit)},
		"plan":            {adze.Mode(permission.Plan)},
	}
	for name, options := range ways {
		a := opened(t, append(options, adze.Dir(dir))...)
		read, _ := json.Marshal(map[string]string{"absolute_path": filepath.Join(home, ".ssh/id")})
		outside, _ := json.Marshal(map[string]string{"file_path": filepath.Join(home, "x"), "content": "x"})
		for _, c := range []tool.Call{
			shell("cat ~/.ssh/id"), shell("cat .env"), shell("ls"), shell("env"), shell("echo x >" + home + "/x"),
			{Name: "read_file", Args: read}, {Name: "write_file", Args: outside}, {Name: "no_such_tool"},
		} {
			o := a.Call(t.Context(), c)
			if text := o.Result.Text(); strings.Contains(text, "SECRETWORD") || strings.Contains(text, "ghp_") {
				t.Errorf("%s: %s %s: %s", name, c.Name, c.Args, text)
			}
		}
		if exists(filepath.Join(home, "x")) {
			t.Errorf("%s: written outside", name)
		}
		own := filepath.Join(dir, "x")
		if exists(own) && name != "deny rule" { // auto-edit keeps what commands write in the workspace
			t.Errorf("%s: the workspace's own ls wrote a file", name)
		}
		os.Remove(own)
	}
}

// A canceled call returns at once, with its command killed. After Close there are no more calls.
func TestCanceledCall(t *testing.T) {
	dir := t.TempDir()
	a := opened(t, adze.Dir(dir), adze.Mode(permission.Yolo))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if o := a.Call(ctx, shell("sleep 1000")); o.Status != tool.StatusCancelled || time.Since(began) > time.Minute {
		t.Errorf("%s after %v", o.Status, time.Since(began))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if o := a.Call(t.Context(), shell("touch x")); o.Status == tool.StatusSuccess || exists(filepath.Join(dir, "x")) {
		t.Errorf("%+v", o)
	}
}
