package acp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A whole task: the editor sees the thought, the calls with diff and place, and is asked; a later load replays it.
func TestEdit(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("a.txt", "one\ntwo\nthree\n")
	e.model(
		openaitest.Answer{Thought: "hm", Text: "I look.", Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path})}},
		openaitest.Answer{Calls: []openaitest.Call{call("c2", "edit", map[string]any{"file_path": path, "old_string": "two", "new_string": "2"})}},
		openaitest.Answer{Text: "Done."},
		openaitest.Answer{Text: "Again.", Expect: []string{"Done."}},
	)
	e.initialize(`{}`)
	id := e.session()
	e.choose("once")
	if reason := e.say(id, "change it"); reason != "end_turn" {
		t.Error(reason)
	}
	if got := e.content("a.txt"); got != "one\n2\nthree\n" {
		t.Error(got)
	}
	if usage := e.of("usage_update"); len(usage) != 3 {
		t.Errorf("3 answers have %d updates of usage: %v", len(usage), usage)
	}
	want := `session_info_update change it
agent_thought_chunk hm
agent_message_chunk I look.
tool_call toolCallId=c1 kind=read title=ReadFile status=pending
tool_call_update toolCallId=c1 kind=read title=read a.txt at a.txt
tool_call_update toolCallId=c1 status=in_progress
tool_call_update toolCallId=c1 status=completed content
tool_call toolCallId=c2 kind=edit title=Edit status=pending
tool_call_update toolCallId=c2 kind=edit title=edit a.txt diff at a.txt
tool_call_update toolCallId=c2 status=in_progress
tool_call_update toolCallId=c2 status=completed diff
agent_message_chunk Done.`
	if diff := cmp.Diff(want, e.story()); diff != "" {
		t.Error(diff)
	}
	e.call("session/close", map[string]any{"sessionId": id})
	e.forget()
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	want = `user_message_chunk change it
agent_thought_chunk hm
agent_message_chunk I look.
tool_call toolCallId=c1 kind=read title=read a.txt status=completed content at a.txt
tool_call toolCallId=c2 kind=edit title=edit a.txt status=completed diff at a.txt
agent_message_chunk Done.`
	if diff := cmp.Diff(want, e.story()); diff != "" {
		t.Error(diff)
	}
	if reason := e.say(id, "and again"); reason != "end_turn" {
		t.Error(reason)
	}
}

// An answer is saved as the rule that its option names, and "no" denies.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, ran, rule string }{
		{"once", "made", ""},
		{"always", "made", "Shell(touch made)"},
		{"no", "", ""},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "touch made"})}}, openaitest.Answer{Text: "ok"})
			e.initialize(`{}`)
			id := e.session()
			var offered string
			e.on("session/request_permission", func(params map[string]any) any {
				for _, o := range list(params["options"]) {
					offered += o["kind"].(string) + ":" + o["name"].(string) + "\n"
				}
				return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": tt.answer}}
			})
			e.say(id, "go")
			if want := "allow_once:Allow once\nallow_always:Always allow Shell(touch made)\nreject_once:No\n"; offered != want {
				t.Error(offered)
			}
			_, err := os.Stat(filepath.Join(e.dir, "made"))
			if (err == nil) != (tt.ran != "") {
				t.Error(err)
			}
			if saved := e.content(".adze/settings.json"); strings.Contains(saved, "Shell(touch made)") != (tt.rule != "") {
				t.Error(saved)
			}
		})
	}
}

// A file with unsaved changes in the editor is not edited; the model gets the reason.
func TestUnsaved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, shown, want string }{
		{"saved", "one\r\n", "2\n"}, // the kind of line endings doesn't count
		{"unsaved", "one more\n", "one\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			path := e.file("a.txt", "one\n")
			expect := "unsaved changes in the editor"
			if tt.name == "saved" {
				expect = "a.txt"
			}
			e.model(
				openaitest.Answer{Calls: []openaitest.Call{call("c0", "read_file", map[string]any{"absolute_path": path})}},
				openaitest.Answer{Calls: []openaitest.Call{call("c1", "edit", map[string]any{"file_path": path, "old_string": "one", "new_string": "2"})}},
				openaitest.Answer{Text: "ok", Expect: []string{expect}})
			e.initialize(`{"fs":{"readTextFile":true}}`)
			e.choose("once")
			e.on("fs/read_text_file", func(map[string]any) any { return map[string]any{"content": tt.shown} })
			e.say(e.session(), "go")
			if got := e.content("a.txt"); got != tt.want {
				t.Error(got)
			}
			if asked := slices.Contains(e.asked, "session/request_permission"); asked != (tt.name == "saved") {
				t.Errorf("the user was asked: %v", asked)
			}
		})
	}
}

// A form goes to an editor that can show one. Otherwise a single choice becomes options.
func TestForms(t *testing.T) {
	t.Parallel()
	ask := func(n int) openaitest.Call {
		var questions []any
		for i := range n {
			questions = append(questions, map[string]any{"question": "Which " + string(rune('A'+i)) + "?", "header": "Which", "options": []any{
				map[string]any{"label": "red", "description": "like fire"}, map[string]any{"label": "blue", "description": "like water"}}})
		}
		return call("c1", "ask_user_question", map[string]any{"questions": questions})
	}
	for _, tt := range []struct {
		name, capabilities, want, asked string
		questions                       int
	}{
		{"form", `{"elicitation":{"form":{}}}`, "blue", "elicitation/create", 2},
		{"choice", `{}`, "blue", "session/request_permission", 1},
		{"neither", `{}`, "can't show forms", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			e.model(openaitest.Answer{Calls: []openaitest.Call{ask(tt.questions)}}, openaitest.Answer{Text: "ok", Expect: []string{tt.want}})
			e.initialize(tt.capabilities)
			id := e.session()
			e.choose("choice-2")
			e.on("elicitation/create", func(params map[string]any) any {
				if params["toolCallId"] != "c1" || params["mode"] != "form" || params["sessionId"] != id {
					t.Error(params)
				}
				return map[string]any{"action": "accept", "content": map[string]any{"q1": "blue", "q2": "red"}}
			})
			e.say(id, "go")
			if got := strings.Join(e.asked, " "); got != tt.asked {
				t.Error(got)
			}
		})
	}
}

// A cancel stops the running command, and the prompt's response says so. The session continues.
func TestCancel(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "echo begun; sleep 1000"})}}, openaitest.Answer{Text: "ok"})
	e.initialize(`{}`)
	id := e.session()
	e.choose("once")
	e.begin("session/prompt", prompt(id, "go"))
	e.until("the command prints", func(all []map[string]any) bool {
		return slices.ContainsFunc(all, func(u map[string]any) bool {
			raw, _ := json.Marshal(u)
			return u["sessionUpdate"] == "tool_call_update" && strings.Contains(string(raw), "begun") && u["status"] == nil && u["title"] == nil
		})
	})
	if err := e.fails("session/prompt", prompt(id, "another")); err.Code != codeInvalidRequest || !strings.Contains(err.Message, "another prompt") {
		t.Error(err)
	}
	e.write(outgoing{Version: "2.0", Method: "session/cancel", Params: map[string]any{"sessionId": id}})
	if m := e.next(); string(m.Result) != `{"stopReason":"cancelled"}` {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	if reason := e.say(id, "and now"); reason != "end_turn" {
		t.Error(reason)
	}
}

// $/cancel_request ends a question that the user hasn't answered.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "touch made"})}})
	e.initialize(`{}`)
	id := e.session()
	asked, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	e.on("session/request_permission", func(map[string]any) any {
		close(asked)
		<-never
		return map[string]any{}
	})
	request := e.begin("session/prompt", prompt(id, "go"))
	<-asked
	e.write(outgoing{Version: "2.0", Method: "$/cancel_request", Params: map[string]any{"requestId": request}})
	if m := e.next(); m.Error == nil || m.Error.Code != codeCancelled {
		t.Errorf("%s %v", m.Result, m.Error)
	}
}

// Modes and models are set by either way, and yolo isn't offered.
func TestOptions(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model()
	e.initialize(`{}`)
	id := e.session()
	e.call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"})
	got := e.call("session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": "other"})
	var current []string
	for _, o := range list(got["configOptions"]) {
		current = append(current, o["id"].(string)+"="+o["currentValue"].(string))
	}
	if strings.Join(current, " ") != "mode=plan model=other effort=default" {
		t.Error(current)
	}
	e.call("session/set_config_option", map[string]any{"sessionId": id, "configId": "mode", "value": "auto-edit"})
	e.until("the editor gets the mode", func([]map[string]any) bool {
		return len(e.updates) > 0 && slices.ContainsFunc(e.updates, func(u map[string]any) bool { return u["currentModeId"] == "auto-edit" })
	})
	for _, p := range []map[string]any{
		{"configId": "mode", "value": "yolo"}, {"configId": "mode", "value": 1}, {"configId": "color", "value": "red"},
	} {
		p["sessionId"] = id
		if err := e.fails("session/set_config_option", p); err.Code != codeInvalidParams {
			t.Error(err)
		}
	}
	if err := e.fails("session/set_mode", map[string]any{"sessionId": id, "modeId": "yolo"}); err.Message != `modeId: expected plan, default, auto-edit, got "yolo"` {
		t.Error(err)
	}
}

// A server that doesn't list its models delays nothing. When it does, they get into the menu; later sessions have them at once.
func TestModelsComeLate(t *testing.T) {
	t.Parallel()
	list := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-list:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"},{"id":"late","object":"model"}]}`)
	}))
	defer server.Close()
	e := open(t)
	e.vars["OPENAI_BASE_URL"], e.vars["OPENAI_MODEL"] = server.URL, "m"
	e.initialize(`{}`)
	first := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})
	if got := modelNames(first); got != "m" {
		t.Errorf("before the list: %s", got)
	}
	close(list)
	e.until("the menu has the late model", func(updates []map[string]any) bool {
		return slices.ContainsFunc(updates, func(u map[string]any) bool { return modelNames(u) == "m late" })
	})
	if got := modelNames(e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})); got != "m late" {
		t.Errorf("in the next session: %s", got)
	}
}

// modelNames returns the models in the menus of a response or an update.
func modelNames(from map[string]any) string {
	var names []string
	for _, o := range list(from["configOptions"]) {
		if o["id"] == modelOption {
			for _, v := range list(o["options"]) {
				names = append(names, v["value"].(string))
			}
		}
	}
	return strings.Join(names, " ")
}

// A slash command is answered without the model.
func TestSlash(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model()
	e.initialize(`{}`)
	id := e.session()
	e.until("the commands are listed", func(all []map[string]any) bool {
		return slices.ContainsFunc(all, func(u map[string]any) bool { return u["sessionUpdate"] == "available_commands_update" })
	})
	e.say(id, "/mode plan")
	if story := e.story(); !strings.Contains(story, "current_mode_update plan") {
		t.Error(story)
	}
	e.say(id, "/context")
	ids := map[any]bool{} // one text had the ID of another, so editors joined them
	for _, u := range e.of("agent_message_chunk") {
		ids[u["messageId"]] = true
	}
	if len(ids) != 2 {
		t.Errorf("the texts of two commands have %d IDs", len(ids))
	}
	if err := e.fails("session/prompt", prompt(id, "/nonsense")); !strings.Contains(err.Message, "unknown command") {
		t.Error(err)
	}
}

// The to-do list is the editor's plan, also after a load.
func TestPlan(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "todo_write", map[string]any{"todos": []any{
		map[string]any{"id": "1", "content": "one", "status": "completed"}, map[string]any{"id": "2", "content": "two", "status": "pending"}}})}},
		openaitest.Answer{Text: "ok"})
	e.initialize(`{}`)
	id := e.session()
	plan := func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, u := range e.updates {
			if u["sessionUpdate"] == "plan" {
				raw, _ := json.Marshal(u["entries"])
				return string(raw)
			}
		}
		return ""
	}
	want := `[{"content":"one","priority":"medium","status":"completed"},{"content":"two","priority":"medium","status":"pending"}]`
	e.say(id, "go")
	if got := plan(); got != want {
		t.Error(got)
	}
	e.forget()
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	if got := plan(); got != want {
		t.Error(got, e.story())
	}
}
