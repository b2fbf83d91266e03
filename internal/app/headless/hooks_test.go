package headless_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The hooks of a program decide about calls. One that fails makes the call ask.
func TestHookCallbacks(t *testing.T) {
	for _, c := range []struct {
		name, response string
		asks           bool   // the program is asked whether the call may run, and denies it
		expect         string // in the next request to the model
		file           string // what a.txt has in the end
	}{
		{"none", `{}`, true, "not now", ""},
		{"allow", `{"hookSpecificOutput":{"permissionDecision":"allow"}}`, false, "", "one"},
		{"deny", `{"decision":"block","reason":"use b.txt"}`, false, "denied by a hook: use b.txt", ""},
		{"rewrite", `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"file_path":"$DIR/a.txt","content":"two"}}}`, false, "a hook edited this call", "two"},
		{"garbage", `"yes"`, true, "not now", ""},
	} {
		for _, hooks := range []string{`[{"event":"PreToolUse","callback_id":"h1"}]`, `{"PreToolUse":[{"matcher":"Write","hookCallbackIds":["h1"]}]}`} {
			t.Run(c.name, func(t *testing.T) {
				p := writing(t, "", c.expect)
				p.succeed(`{"subtype":"initialize","hooks":` + hooks + `}`)
				p.user("go")
				whole, r := p.asked("hook_callback")
				in := r["input"].(object)
				if r["callback_id"] != "h1" || r["tool_use_id"] != "call_0" || in["hook_event_name"] != "PreToolUse" || in["tool_input"].(object)["content"] != "one" {
					t.Error(asJSON(r))
				}
				p.respond(whole, p.inDir(c.response))
				if c.asks {
					whole, _ := p.asked("can_use_tool")
					p.respond(whole, `{"behavior":"deny","message":"not now"}`)
				}
				p.succeeded("ok")
				if got := p.file("a.txt"); got != c.file {
					t.Errorf("a.txt has %q, want %q", got, c.file)
				}
			})
		}
	}
}

// A hook in settings answers before the program is asked.
func TestHooksInSettingsAnswerFirst(t *testing.T) {
	p := writing(t, `{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"echo '{\"decision\":\"allow\"}'"}]}]}}`)
	p.user("go")
	p.succeeded("ok")
	if got := p.file("a.txt"); got != "one" {
		t.Errorf("a.txt has %q", got)
	}
}

// A Stop hook of the program lets the model continue.
func TestStopCallback(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Text: "one"}, openaitest.Answer{Expect: []string{"requires you to continue: more"}, Text: "two"}))
	p := start(t, setup{url: server.URL, dir: project.Canonical(t.TempDir())})
	p.succeed(`{"subtype":"initialize","hooks":[{"event":"Stop","callback_id":"s"}]}`)
	p.user("go")
	whole, r := p.asked("hook_callback")
	if !strings.Contains(asJSON(r), `"stop_hook_active":false`) {
		t.Error(asJSON(r))
	}
	p.respond(whole, `{"decision":"block","reason":"more"}`)
	whole, r = p.asked("hook_callback")
	if !strings.Contains(asJSON(r), `"stop_hook_active":true`) {
		t.Error(asJSON(r))
	}
	p.respond(whole, `{}`)
	p.succeeded("two")
}
