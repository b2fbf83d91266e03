package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

func made(id, name string, args string) openaitest.Call {
	return openaitest.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// A client on the protocol's SDK: every message is valid, and each part of the protocol does what it says.
func TestEditorSDK(t *testing.T) {
	p := adze(t)
	file := filepath.Join(p.dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.settings(filepath.Join(p.home, "settings.json"), object{"tools": object{"trial": "off"}, "permissions": object{"deny": []string{"Edit(/denied.txt)"}}})
	quoted := string(raw(t, file))
	edit := func(id, old, now string) openaitest.Call {
		return made(id, "edit", `{"file_path":`+quoted+`,"old_string":"`+old+`","new_string":"`+now+`"}`)
	}
	server := openaitest.Serve(t, openaitest.Script{Models: []string{"m", "other"}, Answers: []openaitest.Answer{
		{Thought: "hm", Calls: []openaitest.Call{made("c1", "read_file", `{"absolute_path":`+quoted+`}`)}},
		{Calls: []openaitest.Call{edit("c2", "one", "two")}}, {Text: "edited"},
		{Calls: []openaitest.Call{edit("c3", "two", "three")}}, {Text: "not edited", Expect: []string{"unsaved changes in the editor"}},
		{When: "delegate it", Absent: []string{"Make it."}, Calls: []openaitest.Call{made("c4", "task", `{"description":"look","prompt":"Make it."}`)}},
		{When: "Make it.", Absent: []string{"delegate it"}, Calls: []openaitest.Call{made("c1", "run_shell_command", `{"command":"touch made"}`)}},
		{When: "Make it.", Absent: []string{"delegate it"}, Text: "made it"},
		{Text: "delegated", Expect: []string{"made it"}},
		{Calls: []openaitest.Call{made("c5", "ask_user_question", `{"questions":[{"question":"Which?","header":"Color","options":[{"label":"red"},{"label":"blue"}]}]}`)}},
		{Text: "asked", Expect: []string{"blue"}},
		{Calls: []openaitest.Call{made("c6", "todo_write", `{"todos":[{"content":"one","status":"pending","id":"1"}]}`)}}, {Text: "planned"},
		{Thought: "all", Text: "Now all.", Calls: []openaitest.Call{
			made("d1", "grep_search", `{"pattern":"two"}`), made("d2", "list_directory", `{"path":`+string(raw(t, p.dir))+`}`),
			made("d3", "glob", `{"pattern":"*.txt"}`), made("d4", "read_file", `{"absolute_path":"/no/such/file"}`),
			made("d5", "run_shell_command", `{"command":"rm -rf /no/such/file"}`), made("d6", "edit", `{"file":1}`), made("d7", "nothing", `{}`),
			made("d8", "write_file", `{"file_path":`+string(raw(t, filepath.Join(p.dir, "new.txt")))+`,"content":"new\n"}`),
			made("d9", "write_file", `{"file_path":`+string(raw(t, filepath.Join(p.dir, "denied.txt")))+`,"content":"x"}`),
			made("d10", "todo_write", `{"todos":[{"content":"one","status":"completed","id":"1"}]}`),
		}}, {Text: "did it"},
		{Calls: []openaitest.Call{made("c7", "run_shell_command", `{"command":"echo beg\"\"un; sleep 98765"}`)}},
	}})
	p.env = append(p.env, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
	cmd := exec.Command(node(t), "fixture/acp.mjs", p.path, p.dir)
	cmd.Env, cmd.Stderr = p.env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Checked int
		Invalid []string
		Asked   []string
		Wrote   []string
		Results map[string]any
		Live    []map[string]any
		Replay  []map[string]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, bad := range got.Invalid {
		t.Error(bad)
	}
	if got.Checked < 50 {
		t.Errorf("only %d messages were checked", got.Checked)
	}
	want := map[string]any{
		"version": 1.0, "edit": "end_turn", "unsaved": "end_turn", "subagent": "end_turn", "form": "end_turn", "todos": "end_turn", "task": "end_turn",
		"during": 1.0, "planned": 2.0, "cancelled": "cancelled", "after": 0.0, "listed": []any{"edit it"}, "exit": 0.0,
		"replayed": []any{"agent_message_chunk", "agent_thought_chunk", "plan", "tool_call", "user_message_chunk"},
	}
	if diff := cmp.Diff(want, got.Results); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got.Live, got.Replay); diff != "" {
		t.Errorf("the replay differs from the live session: %s", diff)
	}
	if len(got.Live) < 20 {
		t.Errorf("%v", got.Live)
	}
	asked := strings.Join(got.Asked, "\n")
	for _, part := range []string{"c2: Allow once | Always allow Edit(/a.txt) | No", "/c1: Allow once", "form: "} {
		if !strings.Contains(asked, part) {
			t.Errorf("no question %q in\n%s", part, asked)
		}
	}
	if text, _ := os.ReadFile(file); string(text) != "two\n" {
		t.Errorf("%q", text)
	}
}

// acpx runs it as its users do.
func TestAcpx(t *testing.T) {
	p := adze(t)
	cli, err := filepath.Abs("acpx/node_modules/acpx/dist/cli.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cli); err != nil {
		t.Skip("acpx isn't installed: make test-acpx does")
	}
	server := openaitest.Serve(t, openaitest.Script{Models: []string{"m", "other"}, Repeat: true, Answers: []openaitest.Answer{
		{When: "touch approved", Calls: []openaitest.Call{made("c1", "run_shell_command", `{"command":"touch approved"}`)}}, {When: "touch approved", Text: "approved"},
		{When: "touch denied", Calls: []openaitest.Call{made("c1", "run_shell_command", `{"command":"touch denied"}`)}}, {When: "touch denied", Text: "was denied"},
		{When: "run it", Calls: []openaitest.Call{made("c1", "run_shell_command", `{"command":"touch begun; sleep 98764"}`)}},
		{When: "second prompt", Expect: []string{"first prompt"}, Text: "the second answer"},
		{When: "first prompt", Text: "the first answer"},
		{When: "other prompt", Absent: []string{"first prompt"}, Text: "the other answer"},
	}})
	p.env = append(p.env, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off", "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command(node(t), append([]string{cli, "--cwd", p.dir, "--agent", p.path + " acp", "--ttl", "60"}, args...)...)
		cmd.Env, cmd.Dir = p.env, p.dir
		return cmd
	}
	run := func(want string, args ...string) {
		t.Helper()
		out, err := start(args...).CombinedOutput()
		if args[0] == "--deny-all" {
			err = nil // acpx reports a denial by its exit code
		}
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("acpx %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	}
	run("approved", "--approve-all", "exec", "touch approved")
	run("was denied", "--deny-all", "exec", "touch denied")
	if !has("approved") || has("denied") {
		t.Error("the answers did not count")
	}
	run("", "sessions", "new", "--name", "one")
	run("", "sessions", "new", "--name", "two")
	defer func() {
		_ = start("sessions", "close", "one").Run()
		_ = start("sessions", "close", "two").Run()
	}()
	run("the first answer", "prompt", "-s", "one", "first prompt")
	run("plan", "set-mode", "plan", "-s", "one")
	// acpx accepts the models that it knows: on a busy machine the agent learns them from the server after the session began.
	for began := time.Now(); start("set", "model", "other", "-s", "one").Run() != nil && time.Since(began) < time.Minute; {
	}
	run("other", "set", "model", "other", "-s", "one")
	run("the other answer", "prompt", "-s", "two", "other prompt")
	kill(t, p)
	run("the second answer", "prompt", "-s", "one", "second prompt")

	long := start("--approve-all", "prompt", "-s", "two", "run it")
	if err := long.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the command begins", func() bool { return has("begun") })
	run("", "cancel", "-s", "two")
	if err := long.Wait(); err != nil {
		t.Log(err) // acpx reports a cancelled prompt by its exit code
	}
}

// kill ends every agent of this test.
func kill(t *testing.T, p *program) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, path := range all {
		line, _ := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if string(line) == p.path+"\x00acp\x00" && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no agent runs")
	}
}
