package discover

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/waittest"
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
	path := script(t, greet+`trap '' TERM; mkfifo pipe; exec 3>pipe; (trap '' TERM; echo alive >&3; while :; do sleep 1; done) & wait`)
	found, err := Command{Discover: path + " list", Call: path, Dir: dir}.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Outcome)
	go func() { done <- call(t, ctx, found.Tools, "greet", `{"who":"x"}`) }()
	waittest.Until(t, "there is a pipe", func() bool { return exists(filepath.Join(dir, "pipe")) })
	pipe, err := os.Open(filepath.Join(dir, "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := io.ReadFull(pipe, make([]byte, len("alive\n"))); err != nil {
		t.Fatal("the child doesn't run:", err)
	}
	cancel()
	if o := <-done; o.Status != tool.StatusCancelled {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
	if _, err := io.Copy(io.Discard, pipe); err != nil { // until no process has it open
		t.Error(err)
	}
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

// Errors used to name Go types, and a quoting error was reported twice.
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

// A command's tools don't get the keys of this process.
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

func TestWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		err  string
	}{
		{line: "", want: nil},
		{line: "  a  b\tc\n", want: []string{"a", "b", "c"}},
		{line: `'a b' "c d" e\ f`, want: []string{"a b", "c d", "e f"}},
		{line: `a'b'"c"d`, want: []string{"abcd"}},
		{line: `'' ""`, want: []string{"", ""}},
		{line: `"a\"b\\c\d$HOME"`, want: []string{`a"b\c\d$HOME`}},
		{line: `'a\'`, want: []string{`a\`}},
		{line: "a\\\nb", want: []string{"ab"}},
		{line: `--x=$HOME *`, want: []string{"--x=$HOME", "*"}},
		{line: `'a`, err: "unclosed quote"},
		{line: `a\`, err: "trailing backslash"},
		{line: `a | b`, err: `"|" requires a shell`},
		{line: `a; b`, err: `";" requires a shell`},
	} {
		got, err := Words(c.line)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Words(%q): error %v, want %q", c.line, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("Words(%q): %v\n%s", c.line, err, diff)
		}
	}
}

// Quoted words are read back unchanged, also by bash.
func TestWordsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if testing.Short() {
		t.Skip("starts many shells")
	}
	piece := rapid.SampledFrom([]string{"a", "b c", "'x'", `"y"`, `"a\"b"`, `\ `, `\"`, ` `, "''", `""`, "é", `'\'`, `"\\"`})
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		got, err := Words(line)
		if err != nil {
			return
		}
		out, err := exec.Command(bash, "-c", `eval "set -- $1"; for w; do printf '<%s>' "$w"; done`, "-", line).Output()
		if err != nil {
			t.Fatalf("bash on %q: %v", line, err)
		}
		want := ""
		for _, w := range got {
			want += "<" + w + ">"
		}
		if string(out) != want {
			t.Fatalf("%q: bash says %s, Words %s", line, out, want)
		}
	})
}

func TestDeclarations(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]string // name to schema
		warnings int
		err      bool
	}{
		{name: "bare", in: `[{"name":"a","parametersJsonSchema":{"type":"object"}}]`, want: map[string]string{"a": `{"type":"object"}`}},
		{name: "grouped", in: `[{"function_declarations":[{"name":"a"},{"name":"b"}]},{"functionDeclarations":[{"name":"c"}]}]`,
			want: map[string]string{"a": `{"type":"object","properties":{}}`, "b": `{"type":"object","properties":{}}`, "c": `{"type":"object","properties":{}}`}},
		{name: "one group", in: `{"functionDeclarations":[{"name":"c"}]}`, want: map[string]string{"c": `{"type":"object","properties":{}}`}},
		{name: "gemini", in: `[{"name":"a","parameters":{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["STRING"]},"l":{"type":"ARRAY","items":{"type":["INTEGER","NULL"]}}}}}]`,
			want: map[string]string{"a": `{"properties":{"l":{"items":{"type":["integer","null"]},"type":"array"},"type":{"enum":["STRING"],"type":"string"}},"type":"object"}`}},
		{name: "strange entries", in: `[1,{"x":1},{"functionDeclarations":3},{"functionDeclarations":[{"y":1},4]},{"name":"a"}]`, warnings: 5,
			want: map[string]string{"a": `{"type":"object","properties":{}}`}},
		{name: "nothing", in: "  \n", err: true},
		{name: "no JSON", in: "hello", err: true},
		{name: "cut", in: `[{"name":"a"}`, err: true},
		{name: "empty", in: "[]", want: map[string]string{}},
	} {
		found, warnings, err := parseDeclarations([]byte(c.in))
		if (err != nil) != c.err {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if c.err {
			continue
		}
		got := map[string]string{}
		for _, d := range found {
			got[d.Name] = string(d.schema())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(warnings) != c.warnings {
			t.Errorf("%s: warnings %q\n%s", c.name, warnings, diff)
		}
	}
}

func FuzzDeclarations(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"name":"a","parameters":{"type":"OBJECT"}}]`, `{"function_declarations":[{"name":"x"}]}`, `[null]`, `"x"`,
		`[{"name":"a","parameters":{"items":{"items":[{"type":"X"}]},"type":["A",1]}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		found, _, err := parseDeclarations(in)
		if err != nil {
			return
		}
		for _, d := range found {
			if d.Name == "" || !json.Valid(d.schema()) {
				t.Fatalf("declaration %+v with schema %s", d, d.schema())
			}
		}
	})
}

// Tools of common servers, with shortened descriptions.
const manyTools = `hub__create_issue: Create a new issue in a repository
hub__list_issues: List issues in a repository with filtering options
hub__get_issue: Get details of a specific issue
hub__add_issue_comment: Add a comment to an existing issue
hub__create_pull_request: Create a new pull request
hub__merge_pull_request: Merge a pull request
hub__get_pull_request_files: Get the list of files changed in a pull request
hub__search_code: Search for code across repositories
hub__search_repositories: Search for repositories
hub__create_branch: Create a new branch
hub__fork_repository: Fork a repository to your account or organization
hub__push_files: Push multiple files in a single commit
chat__post_message: Post a message to a channel
chat__reply_to_thread: Reply to a specific message thread
chat__list_channels: List public channels in the workspace
chat__get_users: Get a list of all users in the workspace
chat__add_reaction: Add a reaction emoji to a message
db__query: Run a read-only SQL query
db__execute: Run a SQL statement that changes data
db__describe_table: Show the columns of a table
db__list_tables: List all tables in the database
files__read_text_file: Read the complete contents of a file as text
files__move_file: Move or rename files and directories
files__directory_tree: Get a recursive tree view of files and directories as JSON
files__get_file_info: Retrieve detailed metadata about a file or directory
mail__send: Send an e-mail to one or more recipients
mail__search: Find e-mails in the mailbox
calendar__create_event: Create an event with a date and attendees
calendar__find_free_time: Find a time at which all attendees are free
browser__navigate: Navigate to a URL
browser__screenshot: Take a screenshot of the current page
browser__click: Click an element on the page
pay__create_invoice: Create an invoice for a customer
pay__refund_charge: Refund a charge that has previously been created
pay__list_customers: List customers
deploy__rollback: Roll a deployment back to an earlier version
deploy__logs: Show the logs of a deployment
weather__forecast: Weather forecast for a place
maps__directions: Directions between two places
cal_dav__delete_event: Delete an event`

// For questions in a model's words, the right tool is among the first five.
func TestRankRecall(t *testing.T) {
	var all []tool.Declaration
	for line := range strings.SplitSeq(manyTools, "\n") {
		name, about, _ := strings.Cut(line, ": ")
		all = append(all, tool.Declaration{Name: name, Description: about, Origin: "mcp:x"})
	}
	found, first := 0, 0
	queries := map[string]string{
		"open a new issue":              "hub__create_issue",
		"comment on an issue":           "hub__add_issue_comment",
		"issues of a repository":        "hub__list_issues",
		"merge pull request":            "hub__merge_pull_request",
		"files changed in a PR":         "hub__get_pull_request_files",
		"search code":                   "hub__search_code",
		"fork a repo":                   "hub__fork_repository",
		"send message to chat channel":  "chat__post_message",
		"emoji reaction":                "chat__add_reaction",
		"who are the users":             "chat__get_users",
		"sql query":                     "db__query",
		"columns of a table":            "db__describe_table",
		"rename a file":                 "files__move_file",
		"file metadata":                 "files__get_file_info",
		"send an e-mail":                "mail__send",
		"schedule a meeting event":      "calendar__create_event",
		"when is everybody free":        "calendar__find_free_time",
		"take screenshot":               "browser__screenshot",
		"open url in browser":           "browser__navigate",
		"invoice customer":              "pay__create_invoice",
		"refund":                        "pay__refund_charge",
		"roll back deployment":          "deploy__rollback",
		"deployment logs":               "deploy__logs",
		"weather":                       "weather__forecast",
		"how to get from A to B places": "maps__directions",
		"+event delete":                 "cal_dav__delete_event",
		"select:db__query, mail__send":  "mail__send",
	}
	for query, want := range queries {
		best := Rank(query, all, 5)
		at := slices.IndexFunc(best, func(d tool.Declaration) bool { return d.Name == want })
		if at >= 0 {
			found++
		} else {
			t.Logf("%q does not find %s", query, want)
		}
		if at == 0 {
			first++
		}
	}
	t.Logf("%d of %d among the five best, %d the best", found, len(queries), first)
	if found < len(queries)*9/10 {
		t.Error("less than nine of ten are found")
	}
}
