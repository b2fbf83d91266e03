package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

func TestMain(m *testing.M) {
	builtin.Main() // a keeper of commands is this binary too
	testscript.Main(programs{m}, map[string]func(){"adze": main, "brokenadze": brokenMain, "mcpserver": mcpServer, "badserver": badServer, "mcpclient": mcpClient, "dialunix": dialUnix, "kerneltest": withKernel, "sendraw": sendRaw, "reachout": reachOut})
}

// TestScripts runs script tests of the whole program, with its own home directory and a scripted model on loopback.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			removeRoot(t, env)
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("ADZE_HOME", filepath.Join(home, ".adze"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector sleeps a second at every exit otherwise
			if slices.Contains(raced, strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")) {
				env.Setenv("PATH", racedPath())
			}
			env.Setenv("ADZE_LOCAL_MODELS", "off") // other servers on this machine don't matter
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model":     func(ts *testscript.TestScript, neg bool, args []string) { serveModel(t, ts, args) },
			"envsubst":  expandFile,
			"site":      serveSite,
			"elsewhere": makeElsewhere,
			"listen":    listenUnix,
		},
		Condition: condition,
	})
}

// removeRoot removes the directory that has those of all stories. Package testscript only does so if every story runs.
func removeRoot(t *testing.T, env *testscript.Env) {
	t.Cleanup(func() { os.Remove(filepath.Dir(env.WorkDir)) })
}

// raced are the stories in which the program does several things at once: they run it with the race detector.
var raced = []string{"discovery", "hooks", "mcp_client", "mcp_serve", "session", "spill", "stream_input", "task", "undo_job", "web"}

// serveModel starts a scripted model: model SCRIPT.json. Its address goes into OPENAI_BASE_URL. At the end of the story
// the conversation must have been the script's.
func serveModel(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: model SCRIPT.json")
	}
	script, err := openaitest.Parse([]byte(ts.ReadFile(args[0])), map[string]string{"$WORK": ts.Getenv("WORK"), "$SITE": ts.Getenv("SITE")})
	ts.Check(err)
	server, err := openaitest.Start(script)
	ts.Check(err)
	ts.Setenv("OPENAI_BASE_URL", server.URL)
	ts.Defer(func() {
		server.Close()
		if err := server.Err(); err != nil {
			t.Errorf("%s: the conversation was not the script's: %v", ts.Name(), err)
		}
	})
}

// condition returns what stories can depend on beside the system.
func condition(name string) (bool, error) {
	switch name {
	case "elsewhere":
		return elsewhere() != "", nil
	case "layers": // every layer of the sandbox works
		return sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces), nil
	case "trials": // commands can be tried in a temp directory
		return canTry()
	case "observes": // refused writes can be observed
		_, err := (&sandbox.Spec{Mode: sandbox.ReadOnly, Observe: true}).Plan()
		return err == nil, nil
	}
	return false, fmt.Errorf("there is no condition %s", name)
}

func canTry() (bool, error) {
	dir, err := os.MkdirTemp("", "adze-try-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false, err
	}
	root := filepath.Join(dir, "ws")
	if err := os.Mkdir(root, 0o755); err != nil {
		return false, err
	}
	layers, err := trial.Open(trial.Options{State: filepath.Join(dir, "state"), Roots: []string{root}})
	if err != nil {
		return false, err
	}
	ok, _ := layers.Supported()
	return ok, layers.Close()
}

// makeElsewhere makes directories outside of temp directories, which sandboxed commands may write to: elsewhere NAME...
// Their paths go into variables.
func makeElsewhere(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		dir, err := os.MkdirTemp(elsewhere(), "adze-story-")
		ts.Check(err)
		ts.Defer(func() { os.RemoveAll(dir) })
		ts.Setenv(name, dir)
	}
}

// elsewhere returns a writable directory that isn't a temp directory, or "".
func elsewhere() string {
	for _, dir := range []string{"/run/lock", "/var/lib/misc"} {
		if probe, err := os.MkdirTemp(dir, "adze-story-"); err == nil {
			os.Remove(probe)
			return dir
		}
	}
	return ""
}

// expandFile replaces $WORK, and what elsewhere has set, in files: envsubst FILE...
func expandFile(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		for _, known := range []string{"WORK", "OUTSIDE", "ELSEWHERE", "SITE"} {
			text = strings.ReplaceAll(text, "$"+known, ts.Getenv(known))
		}
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
	}
}
