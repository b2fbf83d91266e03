package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

type served struct {
	IsError    bool
	Content    []struct{ Type, Text string }
	Structured json.RawMessage `json:"structuredContent"`
	Thrown     string
}

func (s served) text() string {
	var all []string
	for _, c := range s.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n") + s.Thrown
}

type clientReport struct {
	Asked    []struct{ Message string }
	Progress []struct{ Message string }
	Errors   []string
	Tools    []struct {
		Name        string
		Annotations struct {
			ReadOnlyHint, IdempotentHint bool
			DestructiveHint              *bool
			OpenWorldHint                *bool
		}
	}
	Inside, Outside, Declined, Written, Unknown, Shell, Cancelled, After served
	Ended                                                                int
}

// serveTo runs the TypeScript client against adze mcp serve in its own directory.
func serveTo(t *testing.T, p *program, canAsk string, serve ...string) clientReport {
	t.Helper()
	for name, text := range map[string]string{"sub/a.txt": "inside\n", "b.txt": "outside the root\n"} {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(node(t), append([]string{"fixture/client.mjs", p.dir, p.path, "mcp", "serve"}, serve...)...)
	cmd.Env = append(p.env, "CLIENT_CAN_ASK="+canAsk)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var r clientReport
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(r.Errors) > 0 {
		t.Errorf("what is no message: %v", r.Errors)
	}
	if r.Ended > 1000*slack {
		t.Errorf("it ended %d ms after stdin was closed", r.Ended)
	}
	t.Logf("it ended %d ms after stdin was closed", r.Ended)
	return r
}

const slack = 3 // on a busy machine

// A client that can ask: its root narrows the workspace, calls that require approval ask, progress comes, a cancel ends the
// command, and nothing is left when stdin closes.
func TestServeToClientThatCanAsk(t *testing.T) {
	r := serveTo(t, adze(t), "yes")
	if r.Inside.IsError || r.Inside.text() != "inside\n" {
		t.Errorf("%+v", r.Inside)
	}
	if !r.Outside.IsError || strings.Contains(r.Outside.text(), "outside the root") {
		t.Errorf("outside of the client's root: %+v", r.Outside)
	}
	if !r.Declined.IsError || !strings.Contains(r.Declined.text(), "permission denied: the MCP client declined the approval request") {
		t.Errorf("%+v", r.Declined)
	}
	if r.Written.IsError || r.Written.Structured != nil || !strings.Contains(r.Written.text(), "new.txt") {
		t.Errorf("%+v", r.Written)
	}
	if len(r.Asked) < 4 || !strings.HasPrefix(r.Asked[1].Message, "Write new.txt +1 −0\nNeeds approval: ") {
		t.Errorf("%+v", r.Asked)
	}
	if r.Shell.IsError || !strings.Contains(r.Shell.text(), "step 6") || len(r.Progress) < 3 {
		t.Errorf("%d steps of progress: %+v", len(r.Progress), r.Shell)
	}
	if r.Cancelled.Thrown == "" || r.After.text() != "inside\n" || !strings.Contains(r.Unknown.Thrown, "unknown tool") {
		t.Errorf("%+v, %+v, %+v", r.Cancelled, r.After, r.Unknown)
	}
	for _, left := range []string{"sleep 61.5", "sleep 62.5"} {
		waittest.Until(t, left+" is gone", func() bool { return !running(t, left) })
	}
	annotationsAreTrue(t, r)
}

// annotationsAreTrue compares the annotations of tools with what they do.
func annotationsAreTrue(t *testing.T, r clientReport) {
	t.Helper()
	seen := map[string]string{}
	for _, tl := range r.Tools {
		a := tl.Annotations
		if a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: %+v", tl.Name, a)
			continue
		}
		seen[tl.Name] = fmt.Sprintf("reads only %v, destroys %v, open world %v", a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint)
	}
	for name, want := range map[string]string{
		"read_file":         "reads only true, destroys false, open world false",
		"grep_search":       "reads only true, destroys false, open world false",
		"write_file":        "reads only false, destroys true, open world false",
		"edit":              "reads only false, destroys true, open world false",
		"run_shell_command": "reads only false, destroys true, open world true",
		"web_fetch":         "reads only false, destroys false, open world true",
		"web_search":        "reads only true, destroys false, open world true",
	} {
		if seen[name] != want {
			t.Errorf("%s: %s, want %s", name, seen[name], want)
		}
	}
	for _, personal := range []string{"ask_user_question", "task", "todo_write", "save_memory", "exit_plan_mode", "skill", "tool_search"} {
		if seen[personal] != "" {
			t.Errorf("%s is offered", personal)
		}
	}
}

// running reports whether a process with this command line runs.
func running(t *testing.T, line string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Skip("there is no /proc")
	}
	for _, path := range all {
		raw, _ := os.ReadFile(path) // it may have ended
		if strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " ")) == line {
			return true
		}
	}
	return false
}

// A client that can't ask gets the rule that would have allowed the call.
func TestServeToClientThatCannotAsk(t *testing.T) {
	r := serveTo(t, adze(t), "no")
	for _, s := range []served{r.Outside, r.Declined, r.Written} {
		if !s.IsError || !strings.Contains(s.text(), "this MCP client can't show approval requests") || !strings.Contains(s.text(), "run adze mcp serve with --rule ") {
			t.Errorf("%+v", s)
		}
	}
}

// A client's further directories are usable if the user started the server with them. Otherwise the denial names the flag:
// a client can't widen the workspace.
func TestServeToClientWithSeveralRoots(t *testing.T) {
	p := adze(t)
	other := filepath.Join(filepath.Dir(p.dir), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "b.txt"), []byte("outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "CLIENT_ROOTS="+string(raw(t, []string{p.dir, other})))
	r := serveTo(t, p, "no", "--approval-mode", "auto-edit")
	for _, s := range []served{r.Inside, r.Written} {
		if !s.IsError || !strings.Contains(s.text(), ", or with --add-dir "+other) {
			t.Errorf("%+v", s)
		}
	}
	r = serveTo(t, p, "no", "--approval-mode", "auto-edit", "--add-dir", other)
	if r.Inside.IsError || !strings.Contains(r.Inside.text(), "1:outside") || r.Written.IsError {
		t.Errorf("%+v %+v", r.Inside, r.Written)
	}
}

// The inspector, a client that we did not write, against the real program.
func TestInspectorAgainstAdze(t *testing.T) {
	p := adze(t)
	if err := os.WriteFile(filepath.Join(p.dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := []string{p.path, "mcp", "serve", "--cwd", p.dir}
	e := []string{"-e", "ADZE_HOME=" + p.home}
	list := decode(t, append(append(append([]string{}, e...), "--method", "tools/list"), serve...)...)
	var declared []struct {
		Name, Description string
		Schema            json.RawMessage `json:"parametersJsonSchema"`
	}
	if err := json.Unmarshal([]byte(p.must("tool", "list", "--json")), &declared); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, d := range declared {
		known[d.Name] = d.Description + "\n" + sortedJSON(t, d.Schema)
	}
	if len(list.Tools) < 8 {
		t.Errorf("%d tools", len(list.Tools))
	}
	for _, tl := range list.Tools {
		if got := tl.Description + "\n" + sortedJSON(t, tl.InputSchema); got != known[tl.Name] {
			t.Errorf("%s is not as adze tool list has it:\n%s\n%s", tl.Name, got, known[tl.Name])
		}
	}
	call := append(append([]string{}, e...), "--tool-arg", "absolute_path="+filepath.Join(p.dir, "a.txt"), "--method", "tools/call", "--tool-name", "read_file")
	if res := decode(t, append(call, serve...)...); res.IsError || len(res.Content) != 1 || res.Content[0].Text != "hello\n" || res.Structured != nil {
		t.Errorf("%+v", res)
	}
	overHTTP(t, p)
}

// sortedJSON is JSON with the keys of objects in order.
func sortedJSON(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Error(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// overHTTP does the same over HTTP, with the token, and checks that requests without it are rejected.
func overHTTP(t *testing.T, p *program) {
	t.Helper()
	const token = "a-token-of-enough-characters"
	cmd := p.command("mcp", "serve", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "ADZE_MCP_TOKEN="+token)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for scan := bufio.NewScanner(stderr); address == "" && scan.Scan(); {
		_, address, _ = strings.Cut(scan.Text(), "Serving MCP at ")
	}
	if list := decode(t, "--transport", "http", "--server-url", address, "--header", "Authorization: Bearer "+token, "--method", "tools/list"); len(list.Tools) < 8 {
		t.Errorf("%+v", list)
	}
	for name, edit := range map[string]func(*http.Request){
		"no token":     func(r *http.Request) { r.Header.Del("Authorization") },
		"other host":   func(r *http.Request) { r.Host = "evil.example" },
		"other origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		edit(req)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 401 && resp.StatusCode != 403 {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	cmd.Process.Signal(os.Interrupt)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		t.Error("it does not exit")
	}
}
