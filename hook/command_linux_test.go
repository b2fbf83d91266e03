package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// run runs one hook for a call, and returns its result and the messages to the user.
func run(t *testing.T, h Hook) (Result, string) {
	t.Helper()
	var mu sync.Mutex
	var told []string
	r := Open(Options{Hooks: []Hook{h}, Dir: t.TempDir(), Helper: helper, Tell: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}, Environ: []string{"PATH=" + os.Getenv("PATH"), "GITHUB_TOKEN=hush", "OPENAI_API_KEY=hush", "PLAIN=yes"}})
	defer r.Close()
	got := r.Run(t.Context(), Input{Event: h.Event, ToolInput: []byte(`{"command":"a && b"}`)}, "run_shell_command", "Bash")
	return got, strings.Join(told, "\n")
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		event         Event
		verdict       Verdict
		reason        string // a part of it
	}{
		{"says nothing", "cat >/dev/null", PreToolUse, None, ""},
		{"doesn't read", "true", PreToolUse, None, ""},
		{"logs", "echo checking >&2", PreToolUse, None, ""},
		{"blocks", "echo 'not this' >&2; exit 2", PreToolUse, Deny, "not this"},
		{"blocks in color", `printf '\033[1;31mnot\033[0m \033]0;title\007this\007\000 \033]8;;x\033\\link\n' >&2; exit 2`, PreToolUse, Deny, "not this link"},
		{"blocks with JSON on stdout", `echo '{"reason":"json"}'; echo text >&2; exit 2`, PreToolUse, Deny, "json"},
		{"blocks with JSON on stderr", `echo '{"decision":"block","reason":"json"}' >&2; exit 2`, PreToolUse, Deny, "json"},
		{"blocks and allows", `echo '{"decision":"allow"}'; exit 2`, PreToolUse, Deny, ""},
		{"blocks with garbage", `echo '{"decision":"perhaps"}'; echo why >&2; exit 2`, PreToolUse, Deny, "why"},
		{"denies", `echo '{"decision":"deny","reason":"r"}'`, PreToolUse, Deny, "r"},
		{"denies on stderr", `echo '{"decision":"deny","reason":"r"}' >&2`, PreToolUse, Deny, "r"},
		{"denies and allows", `echo '{"decision":"deny","hookSpecificOutput":{"permissionDecision":"allow"}}'`, PreToolUse, Deny, ""},
		{"allows and denies", `echo '{"decision":"allow","hookSpecificOutput":{"permissionDecision":"deny"}}'`, PreToolUse, Deny, ""},
		{"approves", `echo '{"decision":"approve"}'`, PreToolUse, Allow, ""},
		{"stops", `echo '{"continue":false,"stopReason":"enough"}'`, PreToolUse, Deny, "enough"},
		{"answers a request", `echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'`, PermissionRequest, Allow, ""},
		{"denies a request", `echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m"}}}'`, PermissionRequest, Deny, "m"},
		{"fails", "echo broken >&2; exit 1", PreToolUse, Ask, "exit code 1: broken"},
		{"is missing", "/nonexistent/hook", PreToolUse, Ask, "exit code 127"},
		{"is killed", "kill -KILL $$", PreToolUse, Ask, "killed"},
		{"prints text", "echo fine", PreToolUse, Ask, "not the expected JSON object: fine"},
		{"prints half", `echo '{"decision":"allow"'`, PreToolUse, Ask, "not the expected JSON"},
		{"prints two", `echo '{"decision":"allow"}{"decision":"deny"}'`, PreToolUse, Ask, "not the expected JSON"},
		{"prints a list", `echo '[]'`, PreToolUse, Ask, "not the expected JSON"},
		{"says perhaps", `echo '{"decision":"perhaps"}'`, PreToolUse, Ask, `unknown decision "perhaps"`},
		{"has the wrong types", `echo '{"decision":true}'`, PreToolUse, Ask, "not the expected JSON"},
		{"prints 1 GB", "head -c 1073741824 /dev/zero", PreToolUse, Ask, "more than 1 MB"},
		{"prints 1 GB of log", "head -c 1073741824 /dev/zero >&2; exit 2", PreToolUse, Deny, ""},
		{"text after a call", "echo formatted", PostToolUse, None, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, told := run(t, Hook{Event: tt.event, Command: tt.command})
			if got.Verdict != tt.verdict || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got %v %.200q, want %v %q", got.Verdict, got.Reason, tt.verdict, tt.reason)
			}
			if failed := tt.verdict == Ask; failed != strings.Contains(told, "warning: PreToolUse hook ") {
				t.Errorf("the user was told %q", told)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hook Hook
		want Verdict
	}{
		{"never ends", Hook{Event: PreToolUse, Command: "sleep 1000", Timeout: 100 * time.Millisecond}, Ask},
		{"never ends, allow", Hook{Event: PreToolUse, Command: "sleep 1000", Timeout: 100 * time.Millisecond, OnFailure: FailureAllows}, None},
		{"never ends, block", Hook{Event: PreToolUse, Command: "sleep 1000", Timeout: 100 * time.Millisecond, OnFailure: FailureBlocks}, Deny},
		{"fails, block", Hook{Event: PermissionRequest, Command: "exit 1", OnFailure: FailureBlocks}, Deny},
		{"unsupported", Hook{Event: PreToolUse, Unsupported: "http"}, Ask},
		{"unsupported, block", Hook{Event: PreToolUse, Unsupported: "http", OnFailure: FailureBlocks}, Deny},
		{"decides nothing", Hook{Event: Stop, Command: "exit 1"}, None},
		{"blocks an end", Hook{Event: Stop, Command: "exit 2"}, Deny},
		{"not waited for", Hook{Event: PreToolUse, Command: "exit 2", Async: true}, None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := run(t, tt.hook); got.Verdict != tt.want {
				t.Errorf("got %v %q, want %v", got.Verdict, got.Reason, tt.want)
			}
		})
	}
}

// A hook gets the input, the project's directory and no credentials.
func TestWhatACommandGets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := Hook{
		Event: PreToolUse, Matcher: "Bash", Env: map[string]string{"OWN": "mine"},
		Command: `cat > '` + dir + `/input'; echo "$GITHUB_TOKEN$OPENAI_API_KEY/$PLAIN/$OWN/$([ "$CLAUDE_PROJECT_DIR" = "$PWD" ] && echo here)" > '` + dir + `/env'`,
	}
	if got, told := run(t, h); got.Verdict != None || told != "" {
		t.Fatalf("got %v %q %q", got.Verdict, got.Reason, told)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	if string(env) != "/yes/mine/here\n" {
		t.Errorf("environment %q", env)
	}
	input, _ := os.ReadFile(filepath.Join(dir, "input"))
	var in map[string]any
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatal(err)
	}
	if in["tool_name"] != "Bash" || in["hook_event_name"] != "PreToolUse" || !strings.Contains(string(input), `"tool_input":{"command":"a && b"}`) {
		t.Errorf("input %s", input)
	}
}

func BenchmarkNothing(b *testing.B) {
	r := Open(Options{Hooks: []Hook{{Event: PreToolUse, Command: "true"}}, Dir: b.TempDir(), Helper: helper})
	defer r.Close()
	for b.Loop() {
		r.Run(b.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{}`)}, "x")
	}
}
