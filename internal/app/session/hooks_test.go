package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// settle writes the user's settings.
func (d *desk) settle(t *testing.T, text string) {
	t.Helper()
	put(t, filepath.Join(d.home, "settings.json"), text)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// hooking returns a hook in settings.
func hooking(event, matcher, command string) string {
	raw, _ := json.Marshal(map[string]any{event: []any{map[string]any{"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": command}}}}})
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), "{"), "}")
}

func TestHooksOnCalls(t *testing.T) {
	allow := `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`
	ask := `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look first"}}'`
	grant := `echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'`
	rewrite := func(command string) string {
		return `echo '{"hookSpecificOutput":{"permissionDecision":"allow","decision":{"behavior":"allow"},"updatedInput":` + command + `}}'`
	}
	deny := func(word string) string {
		return `if grep -q '` + word + `'; then echo 'no ` + word + `' >&2; exit 2; fi`
	}
	pre := func(command string) string { return hooking("PreToolUse", "Bash", command) }
	request := func(command string) string { return hooking("PermissionRequest", "Bash", command) }
	const touch, nobody = `{"command":"touch made"}`, "this session is non-interactive"
	for _, tt := range []struct {
		name, hooks, more, args string
		status                  tool.Status
		text                    string // in the result
		made                    string // a file; "": none
	}{
		{"no opinion", pre("true"), "", touch, tool.StatusDenied, nobody, ""},
		{"deny", pre(deny("touch")), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "denied by a hook: no touch", ""},
		{"deny by the wire name", hooking("PreToolUse", "run_shell_command", deny(`"tool_name":"run_shell_command"`)), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "denied by a hook", ""},
		{"told by the matcher's name", pre(deny(`"tool_name":"Bash"`)), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "denied by a hook", ""},
		{"another tool's hook", hooking("PreToolUse", "Edit", "exit 2"), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusSuccess, "", "made"},
		{"repaired arguments", pre(deny(`"is_background":true`)), `"tools":{"approvalMode":"yolo"}`, `{"command":"touch made","run_in_background":"true"}`, tool.StatusDenied, "denied by a hook", ""},
		{"allow", pre(allow), "", touch, tool.StatusSuccess, "", "made"},
		{"allow and a deny rule", pre(allow), `"permissions":{"deny":["Bash(touch:*)"]}`, touch, tool.StatusDenied, "deny rule", ""},
		{"allow in plan mode", pre(allow), `"tools":{"approvalMode":"plan"}`, touch, tool.StatusDenied, "plan", ""},
		{"ask in yolo mode", pre(ask), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "look first", ""},
		{"failure in yolo mode", pre("exit 1"), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "failed: exit code 1", ""},
		{"failure that is ignored", `"PreToolUse":[{"hooks":[{"type":"command","command":"exit 1","onFailure":"allow"}]}]`, `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusSuccess, "", "made"},
		{"failure that blocks", `"PreToolUse":[{"hooks":[{"type":"command","command":"exit 1","onFailure":"block"}]}]`, `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, "denied by a hook", ""},
		{"unsupported type", `"PreToolUse":[{"hooks":[{"type":"agent","prompt":"x"}]}]`, `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, `type "agent"`, ""},
		{"a host without a rule", `"PreToolUse":[{"hooks":[{"type":"http","url":"http://192.0.2.1:1/"}]}]`, `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusDenied, `no allow rule names it`, ""},
		{"turned off", pre("exit 2"), `"disableAllHooks":true,"tools":{"approvalMode":"yolo"}`, touch, tool.StatusSuccess, "", "made"},
		{"rewrite", pre(rewrite(`{"command":"touch other"}`)), "", touch, tool.StatusSuccess, "a hook edited this call", "other"},
		{"rewrite into what a rule denies", pre(rewrite(`{"command":"touch other"}`)), `"permissions":{"deny":["Bash(touch other)"]}`, touch, tool.StatusDenied, "deny rule", ""},
		{"rewrite into something invalid", pre(rewrite(`{"command":["x"],"mood":1}`)), "", touch, tool.StatusError, "mood", ""},
		{"grant", request(grant), "", touch, tool.StatusSuccess, "", "made"},
		{"grant in plan mode", request(grant), `"tools":{"approvalMode":"plan"}`, touch, tool.StatusDenied, "plan", ""},
		{"grant and a deny rule", request(grant), `"permissions":{"deny":["Bash(touch:*)"]}`, touch, tool.StatusDenied, "deny rule", ""},
		{"grant where a hook asks", request(grant) + "," + pre(ask), "", touch, tool.StatusDenied, "look first", ""},
		{"grant where a hook failed", request(grant) + "," + pre("exit 3"), "", touch, tool.StatusDenied, "exit code 3", ""},
		{"denied request", request("echo stop >&2; exit 2"), "", touch, tool.StatusDenied, "denied by a hook: stop", ""},
		{"failed request", request("exit 1"), "", touch, tool.StatusDenied, nobody, ""},
		{"granted rewrite", request(`if grep -q 'touch made'; then ` + rewrite(`{"command":"touch other"}`) + `; else ` + grant + `; fi`), "", touch, tool.StatusSuccess, "a hook edited this call", "other"},
		{"granted rewrite of a rewrite", request(`if grep -q 'touch made'; then ` + rewrite(`{"command":"touch other"}`) + `; else ` + rewrite(`{"command":"touch made"}`) + `; fi`), "", touch, tool.StatusDenied, "rewritten twice", ""},
		{"granted rewrite into what a hook denies", request(rewrite(`{"command":"touch other"}`)) + "," + pre(deny("other")), "", touch, tool.StatusDenied, "no other", ""},
		{"afterwards", hooking("PostToolUse", "Bash", `grep -q '"tool_response":' && echo '{"decision":"block","reason":"check it","hookSpecificOutput":{"additionalContext":"format it"}}'`), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusSuccess, "check it\n\n[hook] format it", "made"},
		{"context before", pre(`echo '{"hookSpecificOutput":{"additionalContext":"slowly"}}'`), `"tools":{"approvalMode":"yolo"}`, touch, tool.StatusSuccess, "[hook] slowly", "made"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			if tt.more != "" {
				tt.more = "," + tt.more
			}
			d.settle(t, `{"hooks":{`+tt.hooks+`}`+tt.more+`}`)
			s, err := d.try(&recording.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{ID: "1", Name: "run_shell_command", Args: json.RawMessage(tt.args)})
			o := b.Wait()[0]
			if text := o.Result.Text(); o.Status != tt.status || !strings.Contains(text, tt.text) {
				t.Errorf("got %s %q, want %s %q\ntold %q", o.Status, text, tt.status, tt.text, d.told)
			}
			for _, name := range []string{"made", "other"} {
				if _, err := os.Stat(filepath.Join(d.dir, name)); (err == nil) != (name == tt.made) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Arguments that the user edited used to run without PreToolUse hooks seeing them.
func TestHooksSeeWhatTheUserEdits(t *testing.T) {
	pre := func(command string) string { return hooking("PreToolUse", "Bash", command) }
	rewrite := `echo '{"hookSpecificOutput":{"updatedInput":{"command":"touch other"}}}'`
	for _, tt := range []struct {
		name, hooks string
		text        string // in the result
		made        string
	}{
		{"no opinion", pre("true"), "the user edited this call", "edited"},
		{"denied", pre(`if grep -q 'touch edited'; then echo 'not that' >&2; exit 2; fi`), "denied by a hook: not that", ""},
		{"asked, and the user has approved it", pre(`if grep -q 'touch edited'; then echo '{"decision":"ask","reason":"look first"}'; fi`), "the user edited this call", "edited"},
		{"rewritten", pre(`if grep -q 'touch edited'; then ` + rewrite + `; fi`), `New arguments: {"command":"touch other"}`, "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.settle(t, `{"hooks":{`+tt.hooks+`}}`)
			s, err := d.try(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			times := 0
			s.Executor.Ask = s.Asking(func(context.Context, *approval.Question) (tool.Decision, error) {
				if times++; times > 1 {
					return tool.Decision{Verdict: tool.Allow}, nil // what they edited, or the hook
				}
				return tool.Decision{Verdict: tool.Allow, Args: json.RawMessage(`{"command":"touch edited"}`)}, nil
			})
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{ID: "1", Name: "run_shell_command", Args: json.RawMessage(`{"command":"touch made"}`)})
			o := b.Wait()[0]
			if text := o.Result.Text(); !strings.Contains(text, tt.text) {
				t.Errorf("got %s %q, want %q", o.Status, text, tt.text)
			}
			for _, name := range []string{"made", "edited", "other"} {
				if _, err := os.Stat(filepath.Join(d.dir, name)); (err == nil) != (name == tt.made) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A PermissionRequest hook doesn't answer what only the user can answer, nor a question during a run.
func TestHooksDontAnswerForTheUser(t *testing.T) {
	d := newDesk(t)
	d.settle(t, `{"hooks":{`+hooking("PermissionRequest", "", `echo '{"decision":"allow"}'`)+`}}`)
	s, err := d.try(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	asked := errors.New("asked")
	ask := s.Asking(func(context.Context, *approval.Question) (tool.Decision, error) {
		return tool.Decision{}, asked
	})
	request := func(id string) tool.Request {
		return tool.Request{Call: tool.Call{ID: id, Args: []byte(`{}`)}, Declaration: tool.Declaration{Name: "toy"}}
	}
	policy := tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"}}
	if got, err := ask(t.Context(), request("1"), policy); err != nil || got.Verdict != tool.Allow {
		t.Errorf("got %+v, %v", got, err)
	}
	must, form := request("2"), request("3")
	must.MustAsk, form.Form = true, []byte(`{}`)
	s.hooks.Starts(tool.Call{ID: "4"})
	for _, r := range []tool.Request{must, form, request("4")} {
		if _, err := ask(t.Context(), r, policy); !errors.Is(err, asked) {
			t.Errorf("call %s: got %v", r.Call.ID, err)
		}
	}
}

// The events of a conversation, in their order, and the input of their hooks.
func TestHooksOfAConversation(t *testing.T) {
	d := newDesk(t,
		openaitest.Answer{Expect: []string{"[hook] begun", "[hook] be brief", "hello"}, Text: "one"},
		openaitest.Answer{Expect: []string{"A Stop hook requires you to continue: not yet"}, Text: "two"},
	)
	log := filepath.Join(d.home, "log")
	note := `tee -a '` + log + `' `
	events := []string{
		hooking("SessionStart", "startup", note+`>/dev/null; echo begun`),
		hooking("UserPromptSubmit", "", note+`>/dev/null; echo '{"hookSpecificOutput":{"additionalContext":"be brief"}}'`),
		hooking("Stop", "", note+`| grep -q '"stop_hook_active":true' || { echo 'not yet' >&2; exit 2; }`),
		hooking("SessionEnd", "", note+">/dev/null"),
	}
	d.settle(t, `{"hooks":{`+strings.Join(events, ",")+`}}`)
	s, c := d.open(t, &recording.Options{})
	if got := d.say(t, c, "hello"); got != "two" {
		t.Errorf("answer %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var in map[string]any
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		got = append(got, in["hook_event_name"].(string))
		if in["session_id"] != s.ID || in["cwd"] != d.dir || in["transcript_path"] != filepath.Join(d.home, "sessions", s.ID, "journal.jsonl") {
			t.Errorf("input %s", line)
		}
	}
	if want := "SessionStart UserPromptSubmit Stop Stop SessionEnd"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, part := range []string{`"source":"startup"`, `"prompt":"hello"`, `"last_assistant_message":"one"`, `"stop_hook_active":false`, `"reason":"other"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func TestHooksStopAPrompt(t *testing.T) {
	for _, tt := range []struct {
		name, hooks, want string
		answers           int
		turn              bool // as the terminal does it
	}{
		{"blocked", hooking("UserPromptSubmit", "", "echo private >&2; exit 2"), "the prompt was blocked by a hook: private", 0, false},
		{"blocked, turn", hooking("UserPromptSubmit", "", "echo private >&2; exit 2"), "the prompt was blocked by a hook: private", 0, true},
		{"stopped before", hooking("UserPromptSubmit", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 0, false},
		{"stopped before, turn", hooking("UserPromptSubmit", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 0, true},
		{"stopped by a call", hooking("PreToolUse", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 1, false},
		{"stopped by a call, turn", hooking("PreToolUse", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 1, true},
		{"stopped after a call", hooking("PostToolUse", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 1, false},
		{"stopped after a call, turn", hooking("PostToolUse", "", `echo '{"continue":false,"stopReason":"enough"}'`), "stopped by a hook: enough", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project.Canonical(t.TempDir())
			answer := openaitest.Answer{Calls: []openaitest.Call{call("1", "list_directory", map[string]string{"path": dir})}}
			d := newDesk(t, []openaitest.Answer{answer}[:tt.answers]...)
			d.dir = dir
			d.settle(t, `{"hooks":{`+tt.hooks+`}}`)
			s, c := d.open(t, &recording.Options{})
			defer s.Close()
			prompt := c.Run
			if tt.turn {
				prompt = c.Turn
			}
			if _, err := prompt(t.Context(), model.Text("hello")); err == nil || !errors.Is(err, project.ErrHook) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestStopHooksEnd(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "1"}, openaitest.Answer{Text: "2"}, openaitest.Answer{Text: "3"})
	d.settle(t, `{"stopHookBlockingCap":2,"hooks":{`+hooking("Stop", "", "exit 2")+`}}`)
	s, c := d.open(t, nil)
	defer s.Close()
	if answer, err := c.Turn(t.Context(), model.Text("hello")); err != nil || answer.Text != "3" || !strings.Contains(strings.Join(d.told, "\n"), "2 times in a row") {
		t.Errorf("got %+v %v, told %q", answer, err, d.told)
	}
}

// trust trusts the project.
func (d *desk) trust(t *testing.T) {
	t.Helper()
	f, err := project.Env{Home: d.home, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": d.home}[name] }}.Directory(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	items, err := f.Requests()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Grant(items); err != nil {
		t.Fatal(err)
	}
}

// Hooks of a project run only if the user trusts them and the files that they name.
func TestHooksOfAProject(t *testing.T) {
	for _, command := range []string{`"$CLAUDE_PROJECT_DIR"/check.sh`, `${QWEN_PROJECT_DIR}/check.sh --all`, `./check.sh`, `true && bash check.sh; true`, `"$GEMINI_PROJECT_DIR/check.sh"|| exit 2`} {
		t.Run(command, func(t *testing.T) {
			d := newDesk(t)
			d.settle(t, `{"tools":{"approvalMode":"yolo"}}`)
			script := filepath.Join(d.dir, "check.sh")
			put(t, script, "#!/bin/sh\ntouch '"+d.home+"/ran'\n")
			put(t, filepath.Join(d.dir, ".adze", "settings.json"), `{"disableAllHooks":true,"hooks":{`+hooking("PreToolUse", "", command)+`}}`)
			runs := func() bool {
				t.Helper()
				s, err := d.try(nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				b := s.Executor.Batch(t.Context())
				b.Add(tool.Call{Name: "list_directory", Args: []byte(`{"path":"."}`)})
				b.Wait()
				defer os.Remove(filepath.Join(d.home, "ran"))
				_, err = os.Stat(filepath.Join(d.home, "ran"))
				return err == nil
			}
			if runs() {
				t.Error("an untrusted hook ran")
			}
			d.trust(t)
			if !runs() {
				t.Error("a trusted hook didn't run")
			}
			put(t, script, "#!/bin/sh\ntouch '"+d.home+"/ran'\necho more\n")
			if runs() {
				t.Error("a hook whose file changed ran")
			}
		})
	}
}

func TestHooksThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	d.settle(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","comand":"x"}]}]}}`)
	if _, err := d.try(nil); !errors.Is(err, project.ErrRules) || !strings.Contains(err.Error(), "settings.json:1:10: hooks.PreToolUse[0].hooks[0]: command is missing") {
		t.Errorf("got %v", err)
	}
}

// lines returns those of a file with a part in them.
func lines(path, part string) int {
	text, _ := os.ReadFile(path)
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// Hooks that can't decide: subagents, compactions and prompts.
func TestHooksThatAreOnlyTold(t *testing.T) {
	answers := []openaitest.Answer{
		{Calls: []openaitest.Call{call("1", "task", map[string]string{"description": "look", "prompt": "look around", "subagent_type": "explore"})}},
		{Text: "seen"}, {Text: "done"},
		{Calls: []openaitest.Call{call("2", "run_shell_command", map[string]string{"command": "touch made"})}}, {Text: "made"},
	}
	answers = append(answers, slices.Repeat([]openaitest.Answer{{Text: "fine"}}, 12)...)
	d := newDesk(t, append(answers, openaitest.Answer{Text: "The user said a lot. " + strings.Repeat("Summary. ", 20)})...)
	log := filepath.Join(d.home, "log")
	note := `cat >> '` + log + `'; exit 2`
	d.settle(t, `{"hooks":{`+hooking("SubagentStop", "explore", note)+","+hooking("PreCompact", "manual", note)+","+hooking("Notification", "permission_prompt", note)+`}}`)
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	deny := s.Executor.Ask
	s.Executor.Ask = s.Asking(func(ctx context.Context, q *approval.Question) (tool.Decision, error) {
		return deny(ctx, q.Request, q.Why)
	})
	d.say(t, c, "delegate")
	if lines(log, `"hook_event_name":"SubagentStop"`) != 1 || lines(log, `"agent_type":"explore"`) != 1 || lines(log, `"last_assistant_message":"seen"`) != 1 {
		t.Error("no SubagentStop")
	}
	d.say(t, c, "ask")
	waittest.Until(t, "Notification", func() bool { return lines(log, `"notification_type":"permission_prompt"`) > 0 })
	for range 12 {
		d.say(t, c, "first "+strings.Repeat("x", 20_000))
	}
	if _, err := c.Compact(t.Context(), ""); err != nil || lines(log, `"trigger":"manual"`) != 1 {
		t.Errorf("no PreCompact: %v", err)
	}
}

// A model that edits the file of a hook, or adds it, doesn't run it.
func TestHooksWhoseFilesChange(t *testing.T) {
	for _, before := range []string{"exit 0", ""} {
		d := newDesk(t)
		d.settle(t, `{"tools":{"approvalMode":"yolo"},"hooks":{`+hooking("PreToolUse", "list_directory", "[ ! -e check.sh ] || sh check.sh")+`}}`)
		script := filepath.Join(d.dir, "check.sh")
		if before != "" {
			put(t, script, before)
		}
		s, err := d.try(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := func() tool.Outcome {
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{Name: "list_directory", Args: []byte(`{"path":"` + d.dir + `"}`)})
			return b.Wait()[0]
		}
		if o := list(); o.Status != tool.StatusSuccess {
			t.Errorf("got %s %q", o.Status, o.Result.Text())
		}
		put(t, script, "touch '"+d.home+"/ran'")
		o := list()
		if _, err := os.Stat(filepath.Join(d.home, "ran")); err == nil || o.Status != tool.StatusDenied || !strings.Contains(o.Result.Text(), "check.sh changed since the session began") {
			t.Errorf("got %s %q", o.Status, o.Result.Text())
		}
	}
}
