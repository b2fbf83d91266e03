package session

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// group returns hooks of an event in settings: a group with a command.
func group(event string, fields map[string]any, command string) string {
	fields["hooks"] = []any{map[string]any{"type": "command", "command": command}}
	raw, _ := json.Marshal(map[string]any{event: []any{fields}})
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), "{"), "}")
}

// called runs one call in a session with these settings, in yolo mode.
func called(t *testing.T, d *desk, hooks, name, args string) tool.Outcome {
	t.Helper()
	d.settle(t, `{"hooks":{`+hooks+`},"tools":{"approvalMode":"yolo"}}`)
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.Executor.Batch(t.Context())
	b.Add(tool.Call{ID: "1", Name: name, Args: json.RawMessage(args)})
	return b.Wait()[0]
}

// A formatter hook on Edit used to miss what commands change: anthropics/claude-code issue 87575.
func TestHooksByEffect(t *testing.T) {
	// It formats the files, and notes how often it ran and with what.
	format := `in=$(cat); printf '%s\n' "$in" >> ../log; case $in in *'"files":["'*) f=${in#*'"files":["'}; f=${f%%'"'*}; ` +
		`sed -i s/b/B/ "$f" ;; esac`
	say := `echo '{"decision":"block","reason":"check it"}'`
	sed, edit := `{"command":"sed -i s/a/b/ src/x.go"}`, `{"file_path":"FILE","content":"b\n"}`
	effects := func(matcher string) map[string]any { return map[string]any{"matcher": matcher, "effects": true} }
	glob := func(matcher string) map[string]any { return map[string]any{"matcher": matcher} }
	for _, tt := range []struct {
		name, hooks, tool, args string
		content, result         string // of the file; in the result
		runs                    int
	}{
		{"by name", group("PostToolUse", glob("Edit|Write"), format), "run_shell_command", sed, "b\n", "", 0},
		{"effects", group("PostToolUse", effects("Edit|Write"), format), "run_shell_command", sed, "B\n", "", 1},
		{"effects of a failed call", group("PostToolUse", effects("Edit"), format), "run_shell_command", `{"command":"sed -i s/a/b/ src/x.go; false"}`, "B\n", "", 1},
		{"no effects of a failed call", group("PostToolUse", effects("*"), format), "run_shell_command", `{"command":"false"}`, "a\n", "", 0},
		{"effects of an edit", group("PostToolUse", effects("Edit|Write"), format), "write_file", edit, "B\n", "", 1},
		{"a glob", group("FilesChanged", glob("src/**/*.go"), format), "run_shell_command", sed, "B\n", "", 1},
		{"braces", group("FilesChanged", glob("*.{ts,go}"), format), "write_file", edit, "B\n", "", 1},
		{"several globs", group("FilesChanged", glob("*.ts|*.go"), format), "write_file", edit, "B\n", "", 1},
		{"all", group("FilesChanged", glob(""), format), "run_shell_command", sed, "B\n", "", 1},
		{"another glob", group("FilesChanged", glob("*.ts"), format), "run_shell_command", sed, "b\n", "", 0},
		{"deleted", group("FilesChanged", glob("*.go"), format), "run_shell_command", `{"command":"rm src/x.go"}`, "", "", 1},
		{"nothing changed", group("FilesChanged", glob("*.go"), format), "run_shell_command", `{"command":"cat src/x.go"}`, "a\n", "", 0},
		{"a problem", group("FilesChanged", glob("*.go"), say), "run_shell_command", sed, "b\n", "[hook] A hook reports a problem with this call: check it", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			file := filepath.Join(d.dir, "src", "x.go")
			if tt.tool != "write_file" { // which writes over no file that wasn't read
				put(t, file, "a\n")
			}
			o := called(t, d, tt.hooks, tt.tool, strings.Replace(tt.args, "FILE", file, 1))
			got, _ := os.ReadFile(file)
			if string(got) != tt.content || !strings.Contains(o.Result.Text(), tt.result) {
				t.Errorf("got %q, result %q", got, o.Result.Text())
			}
			log, _ := os.ReadFile(filepath.Join(d.dir, "..", "log"))
			if runs := strings.Count(string(log), `"hook_event_name"`); runs != tt.runs ||
				runs > 0 && !strings.Contains(string(log), `"changes":{"list":[{"path":"`+file) {
				t.Errorf("ran %d times, want %d: %s", runs, tt.runs, log)
			}
			os.Remove(filepath.Join(d.dir, "..", "log"))
		})
	}
}

// What a hook changes counts to the call, also other files.
func TestHooksChangesCountToTheCall(t *testing.T) {
	d := newDesk(t)
	put(t, filepath.Join(d.dir, "a.go"), "a\n")
	o := called(t, d, group("FilesChanged", map[string]any{"matcher": "*.go"}, `cat >/dev/null; echo >> by-hook.go`),
		"run_shell_command", `{"command":"sed -i s/a/b/ a.go"}`)
	var paths []string
	for _, c := range o.Changes.List {
		paths = append(paths, filepath.Base(c.Path)+" "+string(c.Kind))
	}
	if want := []string{"a.go changed", "by-hook.go created"}; !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	if text, _ := os.ReadFile(filepath.Join(d.dir, "by-hook.go")); string(text) != "\n" {
		t.Errorf("the hook ran for its own change: %q", text)
	}
}

// What a hook changes after an edit used to make the list of the edit inexact: changes "during" the call.
func TestHooksAfterAnEdit(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		d := newDesk(t)
		d.settle(t, `{"tools":{"approvalMode":"yolo"},"hooks":{`+group("FilesChanged", map[string]any{"matcher": "*"}, `f=a; echo more >> $f.go`)+`}}`)
		var o *recording.Options
		if recorded {
			o = &recording.Options{}
		}
		s, _ := d.open(t, o)
		got := run(t, s, "write_file", map[string]any{"file_path": filepath.Join(d.dir, "a.go"), "content": "a\n"}).Changes
		if d.listed(got) != "created a.go +2 -0" || got.During || (got.Incomplete == "") != recorded {
			t.Errorf("recorded: %v: %s %+v %q", recorded, d.listed(got), got, d.told)
		}
		s.Close()
	}
}

// When a background command has ended, hooks and programs run for what it changed. What they change is undone with it,
// and rules that it broke are reported.
func TestHooksOfBackgroundCommands(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, openaitest.Answer{Text: "hello"})
	d.write(t, "locked/a", "1\n")
	d.write(t, "x.sh", "while ! [ -e '"+d.home+"/go' ]; do sleep 0.01; done; echo 1 > x.go; echo 2 > locked/a")
	d.settle(t, `{"permissions":{"deny":["Edit(/locked/**)"]},"tools":{"sandbox":"off","afterChange":[{"glob":"*.go","run":["sh","-c","echo formatted"]}]},`+
		`"hooks":{`+group("FilesChanged", map[string]any{"matcher": "*.go"}, `cat >> '`+d.home+`/log'; f=x; echo hook >> $f.go; `+
		`echo '{"decision":"block","reason":"check it"}'`)+`,`+
		hooking("PostToolUse", "Bash", `echo by name >> '`+d.home+`/log'`)+`}}`)
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	d.say(t, c, "hello")
	b := s.Executor.Batch(t.Context())
	b.Add(tool.Call{ID: "c1", Name: "run_shell_command", Args: []byte(`{"is_background":true,"command":"sh x.sh"}`)})
	if o := b.Wait()[0]; o.Error != nil {
		t.Fatal(o.Error)
	}
	put(t, filepath.Join(d.home, "go"), "")
	waittest.Until(t, "its end", func() bool { return len(s.Tools.Running()) == 0 })
	news := strings.Join(c.takeNews(t.Context()), "\n")
	for _, part := range []string{"was running: locked/a, x.go (new)", "A rule protects files that changed: locked/a (deny rule Edit(/locked/**)",
		"[afterChange] sh -c echo formatted\nformatted", "[hook] A hook reports a problem with this call: check it"} {
		if !strings.Contains(news, part) {
			t.Errorf("no %q in %q", part, news)
		}
	}
	log, _ := os.ReadFile(filepath.Join(d.home, "log"))
	if text := string(log); strings.Count(text, "by name") != 1 || strings.Count(text, "FilesChanged") != 1 || !strings.Contains(text, `"during":true`) ||
		!strings.Contains(text, `"tool_use_id":"c1"`) || !strings.Contains(text, `"files":["`+filepath.Join(d.dir, "x.go")+`"]`) {
		t.Errorf("%s", text)
	}
	d.holds(t, "x.go", "1\nhook\n")
	u, err := s.Effects.Undo(record.Selection{Call: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := u.Apply(t.Context()); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	d.holds(t, "locked/a", "1\n")
	if _, err := os.Stat(filepath.Join(d.dir, "x.go")); err == nil {
		t.Error("x.go exists")
	}
}

// Hooks by effect that misbehave are warnings: the call and its changes stay.
func TestBadEffectHooks(t *testing.T) {
	skipWindows(t)
	for name, tt := range map[string]struct{ hook, want string }{
		"never ends":    {`{"type":"command","command":"sleep 1000","timeout":100}`, "timed out after 100ms"},
		"crashes":       {`{"type":"command","command":"kill -SEGV $$"}`, "killed"},
		"100 MB":        {`{"type":"command","command":"head -c 100000000 /dev/zero"}`, "more than 1 MB"},
		"invalid JSON":  {`{"type":"command","command":"echo '{\"decision\":'; exit 1"}`, "exit code 1"},
		"no such file":  {`{"type":"command","command":"./none.sh"}`, "exit code 127"},
		"no connection": {`{"type":"http","url":"http://127.0.0.1:1/"}`, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			o := called(t, d, `"FilesChanged":[{"matcher":"*","hooks":[`+tt.hook+`]}]`, "run_shell_command", `{"command":"echo 1 > a"}`)
			if got := d.listed(o.Changes); o.Error != nil || got != "created a +1 -0" || strings.Contains(o.Result.Text(), "[hook]") {
				t.Errorf("%s %+v", got, o)
			}
			if told := strings.Join(d.told, "\n"); !strings.Contains(told, "warning: FilesChanged hook") || !strings.Contains(told, tt.want) || len(told) > 1000 {
				t.Errorf("%.2000s", told)
			}
		})
	}
}

// An http hook reaches a host that an allow rule names, with its port. 0.0.0.0 is this machine, but not a loopback
// address.
func TestHooksAtAllowedHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"decision":"block","reason":"the server says no"}`)
	}))
	defer server.Close()
	host := strings.Replace(strings.TrimPrefix(server.URL, "http://"), "127.0.0.1", "0.0.0.0", 1)
	for rules, want := range map[string]string{
		`{}`: "no allow rule names it: WebFetch(domain:" + host + ")",
		`{"allow":["WebFetch(domain:` + host + `)"]}`:                                          "the server says no",
		`{"allow":["WebFetch(domain:example.com)"]}`:                                           "no allow rule names it",
		`{"allow":["WebFetch(domain:` + host + `)"],"deny":["WebFetch(domain:` + host + `)"]}`: "no allow rule names it",
	} {
		d := newDesk(t)
		d.settle(t, `{"permissions":`+rules+`,"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"http://`+host+`/","onFailure":"block"}]}]}}`)
		s, _ := d.open(t, nil)
		o := run(t, s, "list_directory", map[string]any{"path": d.dir})
		if o.Error == nil || !strings.Contains(o.Error.Message, want) {
			t.Errorf("%s: %+v", rules, o.Error)
		}
		s.Close()
	}
}

// Hooks of failures, subagents, compactions and context files, and their inputs.
func TestHooksOfFurtherEvents(t *testing.T) {
	d := newDesk(t,
		openaitest.Answer{Calls: []openaitest.Call{
			call("1", "read_file", map[string]string{"absolute_path": "/nowhere"}),
			call("2", "run_shell_command", map[string]string{"command": "false"}),
			call("3", "write_file", map[string]string{"file_path": "/denied", "content": "x"}),
			call("4", "task", map[string]string{"description": "look", "prompt": "count files", "subagent_type": "explore"}),
		}},
		openaitest.Answer{When: "count files", Expect: []string{"[hook] be careful"}, Text: "3 files"},
		openaitest.Answer{Expect: []string{"[hook] read first", "[hook] denied is final"}, Text: "done"},
		openaitest.Answer{Text: "a summary"},
		openaitest.Answer{Status: 400, Raw: `{"error":{"message":"bad request"}}`},
	)
	log := filepath.Join(d.home, "log")
	note := `tee -a '` + log + `' >/dev/null; `
	say := func(text string) string {
		return note + `echo '{"hookSpecificOutput":{"additionalContext":"` + text + `"}}'`
	}
	put(t, filepath.Join(d.home, "AGENTS.md"), "Be kind.\n")
	d.settle(t, `{"permissions":{"deny":["Write(//denied)"]},"hooks":{`+strings.Join([]string{
		hooking("InstructionsLoaded", "session_start", note), hooking("PostToolUseFailure", "Read|Bash", say("read first")),
		hooking("PermissionDenied", "Write", say("denied is final")), hooking("SubagentStart", "", say("be careful")),
		hooking("PostCompact", "manual", note), hooking("StopFailure", "invalid_request", note),
	}, ",")+`}}`)
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	if got := d.say(t, c, "hello"); got != "done" {
		t.Errorf("answer %q", got)
	}
	if _, err := c.Compact(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), model.Text("again")); err == nil {
		t.Error("no error")
	}
	for _, part := range []string{
		`"hook_event_name":"InstructionsLoaded"`, `"memory_type":"User","load_reason":"session_start"`,
		`"tool_name":"Read"`, `"error":"read /nowhere`, `"is_interrupt":false`, `"tool_name":"Bash"`,
		`"hook_event_name":"PermissionDenied"`, `"reason":"`, `"hook_event_name":"SubagentStart"`,
		`"agent_type":"explore"`, `"trigger":"manual"`, `"compact_summary":"a summary"`,
		`"error":"invalid_request","error_details":"`,
	} {
		waittest.Until(t, "the log has "+part, func() bool {
			text, _ := os.ReadFile(log)
			return strings.Contains(string(text), part)
		})
	}
}
