package discover

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
)

const greet = `
if [ "$1" = list ]; then
  echo '[{"name":"greet","description":"Greets.","parameters":{"type":"OBJECT","properties":{"who":{"type":"STRING"}},"required":["who"]}},{"name":"greet"}]'
  echo 'one moment' >&2
  exit
fi
`

// call runs one call of a discovered tool with a policy that allows everything.
func call(t testing.TB, ctx context.Context, tools []tool.Tool, name, args string) tool.Outcome {
	t.Helper()
	r := &tool.Registry{}
	if err := r.Set(tools[0].Declaration().Origin, tools); err != nil {
		t.Fatal(err)
	}
	x := &tool.Executor{Registry: r, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	b := x.Batch(ctx)
	b.Add(tool.Call{Name: name, Args: json.RawMessage(args)})
	return b.Wait()[0]
}

func TestDiscoverAndCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := script(t, greet+`echo "$1 $2 in $PWD: $(cat)"; echo "careful" >&2`)
	c := Command{Discover: "'" + path + "' list", Call: path + " --flag", Dir: dir}
	found, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stderr: one moment", "greet is declared more than once; using the first declaration"}, found.Warnings); diff != "" {
		t.Error(diff)
	}
	d := found.Tools[0].Declaration()
	want := tool.Declaration{
		Name: "greet", DisplayName: "greet", Description: "Greets.", Kind: tool.Other, Origin: "command",
		Parameters: json.RawMessage(`{"properties":{"who":{"type":"string"}},"required":["who"],"type":"object"}`),
	}
	elsewhere := Command{Call: path, Dir: dir}
	if want.Fingerprint = c.fingerprint(want); want.Fingerprint == elsewhere.fingerprint(want) {
		t.Error("what runs it is not in the fingerprint")
	}
	if diff := cmp.Diff(want, d); diff != "" || len(found.Tools) != 1 {
		t.Fatal(diff)
	}
	o := call(t, t.Context(), found.Tools, "greet", `{"who":"you"}`)
	real, _ := filepath.EvalSymlinks(dir)
	if got, want := o.Result.Text(), "--flag greet in "+real+": {\"who\":\"you\"}\n\nStderr:\ncareful"; o.Status != tool.StatusSuccess || got != want {
		t.Errorf("%s: %q, want %q", o.Status, got, want)
	}
	if o := call(t, t.Context(), found.Tools, "greet", `{}`); o.Error == nil || o.Error.Type != tool.InvalidParams {
		t.Errorf("without its argument: %+v", o.Error)
	}
}

func TestFailedCall(t *testing.T) {
	t.Parallel()
	path := script(t, greet+`echo half; echo broken >&2; if [ "$1" = kill ]; then kill -9 $$; fi; exit 3`)
	for _, c := range []struct{ call, want, code string }{
		{path, "greet failed: exit code 3", "Stdout: half\nStderr: broken\nError: (none)\nExit Code: 3\nSignal: (none)"},
		{path + " kill", "greet failed: killed by signal killed", "Stdout: half\nStderr: broken\nError: (none)\nExit Code: (none)\nSignal: killed"},
	} {
		found, err := Command{Discover: path + " list", Call: c.call, Dir: t.TempDir()}.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := call(t, t.Context(), found.Tools, "greet", `{"who":"x"}`)
		if o.Error == nil || o.Error.Type != FailedCommand || o.Error.Message != c.want || !strings.Contains(o.Result.Text(), c.code) {
			t.Errorf("%+v\n%s", o.Error, o.Result.Text())
		}
	}
}

// Cancellation kills the whole process group, including children that ignore SIGTERM.
func TestCancelEndsTheGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := script(t, greet+`trap '' TERM; (trap '' TERM; while :; do echo alive > beat; sleep 0.02; done) & wait`)
	found, err := Command{Discover: path + " list", Call: path, Dir: dir}.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Outcome)
	go func() { done <- call(t, ctx, found.Tools, "greet", `{"who":"x"}`) }()
	beat := filepath.Join(dir, "beat")
	eventually(t, "the child runs", func() bool { return exists(beat) })
	cancel()
	if o := <-done; o.Status != tool.StatusCancelled {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
	eventually(t, "the child is gone", func() bool {
		os.Remove(beat)
		time.Sleep(200 * time.Millisecond)
		return !exists(beat)
	})
}

func TestCallDeadline(t *testing.T) {
	t.Parallel()
	path := script(t, greet+`sleep 600`)
	found, err := Command{Discover: path + " list", Call: path, Dir: t.TempDir(), Timeout: 100 * time.Millisecond}.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := call(t, t.Context(), found.Tools, "greet", `{"who":"x"}`)
	if o.Error == nil || o.Error.Type != tool.ExecutionTimeout || !strings.Contains(o.Error.Message, "timed out after 100ms") {
		t.Errorf("%+v", o.Error)
	}
}

func TestBrokenDiscovery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"fails", "echo no such file >&2; exit 7", "exit code 7; stderr: no such file"},
		{"never ends", "sleep 600", "timed out after 300ms"},
		{"prints no JSON", "echo hello; echo why >&2", "stderr: why"},
		{"floods", "yes", "printing more than 10 MB"},
		{"leaves a child", "echo '[]'; sleep 600 &", ""},
	} {
		began, wait := time.Now(), 5*time.Minute
		if c.name == "never ends" {
			wait = 300 * time.Millisecond
		}
		_, err := Command{Discover: script(t, c.body), Call: "x", Wait: wait}.Tools(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if took := time.Since(began); took > time.Minute { // it waited for the child
			t.Errorf("%s: took %s", c.name, took)
		}
	}
	if _, err := (Command{Discover: "x"}).Tools(t.Context()); !errors.Is(err, ErrNoCall) {
		t.Errorf("without a call command: %v", err)
	}
	_, err := Command{Discover: "no-such-command-of-ours", Call: "x"}.Tools(t.Context())
	if err == nil || !strings.Contains(err.Error(), "command \"no-such-command-of-ours\" not found in PATH") {
		t.Errorf("a missing command: %v", err)
	}
}

// What went wrong was told in words of Go, and a mistake in quoting as two.
func TestBrokenDiscoveryWords(t *testing.T) {
	dir := t.TempDir()
	plain, orphan := filepath.Join(dir, "plain"), filepath.Join(dir, "orphan")
	os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600)
	os.WriteFile(orphan, []byte("#!/no/such/interpreter\n"), 0o700)
	for _, c := range []struct{ discover, call, want string }{
		{"x 'y", "x", "invalid tools.toolDiscoveryCommand: parse command x 'y: unclosed quote"},
		{"x", "y | z", `invalid tools.toolCallCommand: parse command y | z: "|" requires a shell. Quote it, or use sh -c '…'`},
		{" ", "x", "invalid tools.toolDiscoveryCommand: empty command"},
		{plain, "x", "discover tools: " + plain + " is not executable. Run chmod +x on it"},
		{orphan, "x", "discover tools: " + orphan + ": file not found (or its #! interpreter is missing)"},
	} {
		if _, err := (Command{Discover: c.discover, Call: c.call}).Tools(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("%s, %s: %v", c.discover, c.call, err)
		}
	}
}

// The permission prompt shows where words end, and a text that is only on stderr starts without empty lines.
func TestWordsAreShownAsTheyAre(t *testing.T) {
	path := script(t, greet+`echo careful >&2`)
	found, err := Command{Discover: path + " list", Call: path + ` 'two words' ""`}.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inv, err := found.Tools[0].Prepare(t.Context(), json.RawMessage(`{"who":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if shown := inv.Confirm.Markdown(); !strings.Contains(shown, path+" 'two words' '' greet\n") {
		t.Error(shown)
	}
	if o := call(t, t.Context(), found.Tools, "greet", `{"who":"x"}`); o.Result.Text() != "Stderr:\ncareful" {
		t.Errorf("%q", o.Result.Text())
	}
}

// A command's tools never get to see the keys of this process.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret-secret")
	path := script(t, greet+`echo "key=$OPENAI_API_KEY"`)
	found, err := Command{Discover: path + " list", Call: path}.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o := call(t, t.Context(), found.Tools, "greet", `{"who":"x"}`); o.Result.Text() != "key=\n" {
		t.Error(o.Result.Text())
	}
}
