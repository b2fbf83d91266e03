package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// A client's directories narrow the workspace and never widen it.
func TestRootsNarrow(t *testing.T) {
	dir := project.Canonical(t.TempDir())
	below := filepath.Join(dir, "a")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Dir(dir), link); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ roots, want []string }{
		{nil, nil},
		{[]string{dir}, nil},
		{[]string{filepath.Dir(dir)}, nil},
		{[]string{below}, []string{below}},
		{[]string{below, "/elsewhere"}, []string{below}},
		{[]string{below, dir}, nil},
		{[]string{"/elsewhere"}, nil},
		{[]string{link}, nil}, // leads out, above: it is the whole workspace, and not more
		{[]string{filepath.Join(dir, "..", "x")}, nil},
	} {
		if got := narrowed(dir, c.roots); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.roots, got, c.want)
		}
	}
}

// A saved approval of an MCP client's question used to apply once: the rule was lost.
func TestAYesForGoodHoldsForTheConnection(t *testing.T) {
	home := project.Canonical(t.TempDir())
	env := Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(string) string { return "" }, Dir: home, Home: home, Version: "test",
	}
	asked := 0
	x, done, err := openConnection(env, &options{}, home, serve.Client{CanAsk: true, Ask: func(_ context.Context, _ tool.Request, why tool.Decision) (tool.Decision, error) {
		asked++
		return tool.Decision{Verdict: tool.Allow, Remember: why.Offer[0]}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, name := range []string{"one", "two"} {
		b := x.Batch(t.Context())
		b.Add(tool.Call{ID: name, Name: "run_shell_command", Args: json.RawMessage(`{"command":"touch x"}`)})
		if o := b.Wait()[0]; o.Status != tool.StatusSuccess {
			t.Errorf("%+v", o)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestMCPUsage(t *testing.T) {
	for line, want := range map[string]string{
		"mcp":                         "no command given after 'adze mcp'",
		"mcp add x":                   "mcp add needs a command",
		"mcp add x --http h --sse s":  "mcp add needs a command",
		"mcp add --env A x b":         `expected --env K=V, got "A"`,
		"mcp add --env A=b x --sse y": "--env applies only to a command",
		"mcp add --scope all x y":     "expected user, project",
		"mcp serve now":               "usage: adze mcp serve",
		"mcp tools":                   "usage: adze mcp tools NAME",
	} {
		code, stdout, stderr := try(t, strings.Fields(line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("adze %s: exit %d, stdout %q, stderr %q; want exit 2 and %q", line, code, stdout, stderr, want)
		}
	}
	// What stood there before is not replaced without a word.
	env := Env{Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir(), Version: "test"}
	for _, want := range []string{"Added MCP server \"x\" in ", "Replaced MCP server \"x\" in "} {
		var out, err strings.Builder
		env.Args, env.Stdout, env.Stderr = []string{"mcp", "add", "x", "y"}, &out, &err
		if code := Run(t.Context(), env); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("exit %d, %q, %q", code, out.String(), err.String())
		}
	}
	// The flags of a server's command are its own.
	code, stdout, stderr := try(t, "mcp", "add", "x", "npx", "-y", "--json", "--", "pkg")
	if code != 0 || !strings.Contains(stdout, `"args":["-y","--json","--","pkg"]`) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}
