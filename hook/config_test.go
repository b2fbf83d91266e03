package hook

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMatches(t *testing.T) {
	shell := []string{"run_shell_command", "shell", "Bash", "Shell"}
	server := []string{"github__search", "mcp__github__search"}
	for _, tt := range []struct {
		matcher string
		names   []string
		want    string // "-": no match
	}{
		{"", shell, "run_shell_command"},
		{"*", shell, "run_shell_command"},
		{"Bash", shell, "Bash"},
		{"bash", shell, "Bash"},
		{"run_shell_command", shell, "run_shell_command"},
		{"Edit|Bash", shell, "Bash"},
		{"Edit | Bash", shell, "Bash"},
		{"Edit|Write", shell, "-"},
		{"Bas", shell, "-"},
		{"Ba.*", shell, "Bash"},
		{"^shell$", shell, "shell"},
		{".*", shell, "run_shell_command"},
		{"mcp__github", server, "mcp__github__search"},
		{"mcp__git", server, "-"},
		{"mcp__.*__search", server, "mcp__github__search"},
		{"github__search", server, "github__search"},
		{"(", shell, "run_shell_command"},
		{"startup|resume", []string{"resume"}, "resume"},
		{"manual", []string{"auto"}, "-"},
	} {
		name, ok := Matches(tt.matcher, tt.names)
		if !ok {
			name = "-"
		}
		if name != tt.want {
			t.Errorf("%q of %v: got %s, want %s", tt.matcher, tt.names, name, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	hooks, warnings, err := Parse([]byte(`{
		"PreToolUse": [
			{"matcher": "Bash", "sequential": true, "hooks": [
				{"type": "command", "command": "a", "timeout": 1500, "onFailure": "block", "env": {"A": "1"}, "name": "n", "description": "d", "statusMessage": "s"},
				{"command": "b", "timeout": 10},
				{"type": "agent", "url": "http://127.0.0.1:1/"}
			]},
			{"hooks": []}
		],
		"Stop": [{"hooks": [{"type": "function", "prompt": "Done?"}, {"type": "command", "command": "c", "async": true}]}],
		"PostToolBatch": [],
		"PermissionRequest": [{"matcher": "(", "hooks": [{"type": "function", "prompt": "ok?", "onFailure": "allow"}]}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Hook{
		{Event: PreToolUse, Matcher: "Bash", Sequential: true, Command: "a", Timeout: 1500 * time.Millisecond, OnFailure: FailureBlocks, Env: map[string]string{"A": "1"}, Name: "n"},
		{Event: PreToolUse, Matcher: "Bash", Sequential: true, Command: "b", Timeout: 10 * time.Second},
		{Event: PreToolUse, Matcher: "Bash", Sequential: true, Unsupported: "agent"},
		{Event: Stop, Command: "c", Async: true},
		{Event: PermissionRequest, Matcher: "(", Unsupported: "function", OnFailure: FailureAllows},
	}
	if diff := cmp.Diff(want, hooks); diff != "" {
		t.Error(diff)
	}
	for i, part := range []string{"read as seconds", `type "agent"`, "has no hooks", `type "function"`, "PostToolBatch: unknown or unsupported event", "not a valid regular expression", "counts as a failed hook"} {
		if i >= len(warnings) || !strings.Contains(warnings[i], part) {
			t.Errorf("warning %d of %q doesn't contain %q", i, warnings, part)
		}
	}
}

func TestParseEffects(t *testing.T) {
	hooks, warnings, err := Parse([]byte(`{
		"FilesChanged": [{"matcher": "*.{go,ts}", "before": true, "hooks": [{"type": "http", "url": "http://[::1]/", "timeout": 2}]}],
		"PostToolUse": [{"matcher": "Edit", "effects": true, "hooks": [{"type": "prompt", "prompt": "x"}]}, {"before": true, "hooks": [{"command": "x"}]}],
		"Stop": [{"effects": true, "hooks": [{"command": "x"}]}]
	}`))
	want := []Hook{
		{Event: FilesChanged, Matcher: "*.{go,ts}", Before: true, URL: "http://[::1]/", Timeout: 2 * time.Second},
		{Event: PostToolUse, Matcher: "Edit", Effects: true, Prompt: "x"}, {Event: PostToolUse, Command: "x"}, {Event: Stop, Command: "x"},
	}
	if diff := cmp.Diff(want, hooks); diff != "" || err != nil || len(warnings) != 2 {
		t.Errorf("%s %v %q", diff, err, warnings)
	}
}

func TestParseErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                    "hooks must be an object of events",
		`{"PreToolUse": {}}`:    "hooks.PreToolUse must be a list",
		`{"PreToolUse": ["x"]}`: "hooks.PreToolUse[0] must be an object",
		`{"PreToolUse": [{"matcher": 3, "hooks": [{}]}]}`:                                                                    "matcher can't be a number",
		`{"PreToolUse": [{"hooks": [{}]}]}`:                                                                                  "hooks.PreToolUse[0].hooks[0]: type is missing",
		`{"PreToolUse": [{"hooks": [{"type": "command"}]}]}`:                                                                 "command is missing",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": -1}]}]}`:                                  "timeout must be",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": "1"}]}]}`:                                 "timeout can't be a string",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "ignore"}]}]}`:                          "Expected one of: ask, allow, block",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "shell": "fish"}]}]}`:                                "Expected one of: bash, powershell",
		`{"PreToolUse": [{"hooks": [{"type": "http", "url": "ftp://localhost/"}]}]}`:                                         "url is not a valid http or https URL",
		`{"PreToolUse": [{"hooks": [{"type": "http", "url": "http://[::1]/", "timeout": 1e6}]}]}`:                            "timeout must be a number of seconds",
		`{"PreToolUse": [{"hooks": [{"type": "prompt"}]}]}`:                                                                  "prompt is missing",
		`{"FilesChanged": [{"matcher": "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "hooks": [{"command": "x"}]}]}`: "hooks.FilesChanged[0]: matcher: bad pattern",
	} {
		if _, _, err := Parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}

// A glob with an empty part, such as "*.go|", used to match every file.
func TestGlobs(t *testing.T) {
	for matcher, want := range map[string]string{
		"": "a.go b.ts .x c/d.go", "*": "a.go b.ts .x c/d.go", "|": "a.go b.ts .x c/d.go", "*.go": "a.go c/d.go", "*.go|": "a.go c/d.go",
		"|*.ts||": "b.ts", " *.ts | .x ": "b.ts .x", "c/**": "c/d.go", "!*.go": "b.ts .x",
	} {
		var got []string
		for _, path := range []string{"a.go", "b.ts", ".x", "c/d.go"} {
			in := Input{Event: FilesChanged, Paths: []ChangedPath{{Path: "/w/" + path, Rel: path}}}
			if _, ok := (Hook{Event: FilesChanged, Matcher: matcher}).accepts(in, []string{"t"}); ok {
				got = append(got, path)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", matcher, got, want)
		}
	}
}
