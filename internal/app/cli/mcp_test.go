package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
func TestApprovalAppliesToTheConnection(t *testing.T) {
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

// In protocol version 2026-07-28 an approval comes with a later request: what runs is what was shown, if the file is
// still as it was.
func TestApprovedEditOfAFileThatChanged(t *testing.T) {
	home := project.Canonical(t.TempDir())
	env := Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(string) string { return "" }, Dir: home, Home: home, Version: "test",
	}
	path := filepath.Join(home, "notes.txt")
	server := serve.New(serve.Options{Session: func(c serve.Client) (*tool.Executor, func(), error) {
		return openConnection(env, &options{}, home, c)
	}})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- server.Stdio(t.Context(), in, out) }()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("asked by the server")
		},
	}).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"", "someone else's text: one\n"} {
		if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"absolute_path": path}}); err != nil {
			t.Fatal(err)
		}
		p := &mcp.CallToolParams{Name: "edit", Arguments: map[string]any{"file_path": path, "old_string": "one", "new_string": "two"}}
		res, err := cs.CallTool(t.Context(), p)
		if err != nil || !res.NeedsInput() {
			t.Fatalf("%+v %v", res, err)
		}
		q := res.InputRequests["approval"].(*mcp.ElicitParams)
		shown, _ := q.Meta["anthropic/permissionDisplay"].(map[string]any)
		if shown["title"] != "Edit notes.txt +1 −1" || shown["displayName"] != "Edit" || !strings.HasPrefix(shown["description"].(string), "writes ") {
			t.Errorf("%v", q.Meta)
		}
		want := "two\n"
		if change != "" {
			want = change
			if err := os.WriteFile(path, []byte(change), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p.RequestState = res.RequestState
		p.InputResponses = mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "accept"}}
		res, err = cs.CallTool(t.Context(), p)
		if err != nil || res.IsError != (change != "") {
			t.Errorf("%+v %v", res.Content, err)
		}
		if text, _ := os.ReadFile(path); string(text) != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	cs.Close()
}

// A denial names what the server could be started with, the least first. It used to name the settings, which count for
// all uses of Adze, and no directory.
func TestDenialsNameTheFlag(t *testing.T) {
	edit := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/b/x"}}}}
	ask := edit
	ask.MustAsk = true
	for _, c := range []struct {
		r              tool.Request
		offer          []string
		flags, outside []string
		want           string
	}{
		{edit, []string{"Edit(//b/x)", "Edit"}, []string{"--approval-mode auto-edit"}, []string{"/b", "/c"},
			"run adze mcp serve with --rule 'Edit(//b/x)', or with --add-dir /b, or with --approval-mode auto-edit."},
		{edit, []string{"Shell(make:*)\nShell(go test)"}, nil, nil, "run adze mcp serve with --rule 'Shell(make:*)' --rule 'Shell(go test)'."},
		{edit, nil, nil, nil, "no rule and no flag allows this"},
		{ask, []string{"Edit"}, nil, []string{"/b"}, "no rule does"},
	} {
		if got := allowing(c.r, tool.Decision{Offer: c.offer}, c.flags, c.outside); !strings.HasPrefix(got, "Tell the user") || !strings.Contains(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := outsideOf([]string{"/a", "/b"}, []string{"/a", "/b/sub", "/c", "/"}); !slices.Equal(got, []string{"/c", "/"}) {
		t.Errorf("%v", got)
	}
}

// Clients show the instructions, or their beginning, in each session.
func TestInstructionsAreShort(t *testing.T) {
	dir := "/" + strings.Repeat("long/", 100)
	for _, dirs := range [][]string{{"/home/me/app"}, {dir, dir}} {
		text := instructions(dirs)
		if n := len([]rune(text)); n > 600 || n < 300 || !strings.Contains(text, dirs[0][:12]) {
			t.Errorf("%d characters: %s", n, text)
		}
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
