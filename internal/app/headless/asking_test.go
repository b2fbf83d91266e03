package headless_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// writing starts with a model that writes a.txt and then expects something in the next request.
func writing(t *testing.T, settings string, expect ...string) *program {
	t.Helper()
	dir := project.Canonical(t.TempDir())
	server := openaitest.Serve(t, says(
		calls("write_file", object{"file_path": filepath.Join(dir, "a.txt"), "content": "one"}),
		openaitest.Answer{Expect: expect, Text: "ok"}))
	return start(t, setup{url: server.URL, dir: dir, settings: settings})
}

// inDir replaces $DIR by the workspace.
func (p *program) inDir(text string) string {
	path := asJSON(p.dir)
	return strings.ReplaceAll(text, "$DIR", path[1:len(path)-1])
}

func (p *program) file(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// The program approves, denies or rewrites a call. Whatever else it does is a denial.
func TestCanUseTool(t *testing.T) {
	for _, c := range []struct {
		name, response string
		expect         string // in the next request to the model
		file, other    string // what a.txt and b.txt have in the end
	}{
		{"allow", `{"behavior":"allow"}`, "", "one", ""},
		{"allow as it is", `{"behavior":"allow","updatedInput":{"content":"one","file_path":"$DIR/a.txt"}}`, "", "one", ""},
		{"other content", `{"behavior":"allow","updatedInput":{"file_path":"$DIR/a.txt","content":"two"}}`, "the user edited this call", "two", ""},
		{"other file", `{"behavior":"allow","updatedInput":{"file_path":"$DIR/b.txt","content":"two"}}`, "the user edited this call", "", "two"},
		{"invalid input", `{"behavior":"allow","updatedInput":{"file_path":"$DIR/b.txt"}}`, "content", "", ""},
		// An empty object replaced the arguments, and the approved call failed.
		{"empty input", `{"behavior":"allow","updatedInput":{}}`, "", "one", ""},
		{"input that is no object", `{"behavior":"allow","updatedInput":"x"}`, "", "one", ""},
		{"deny", `{"behavior":"deny","message":"use b.txt"}`, "use b.txt", "", ""},
		{"nothing", `{}`, `(expected allow or deny)`, "", ""},
		{"no object", `"yes"`, "answer can't be read", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := writing(t, "", c.expect)
			p.user("go")
			whole, r := p.asked("can_use_tool")
			if r["tool_name"] != "write_file" || r["tool_use_id"] != "call_0" || r["blocked_path"] != nil ||
				asJSON(r["input"]) != p.inDir(`{"content":"one","file_path":"$DIR/a.txt"}`) || len(r["permission_suggestions"].([]any)) != 2 {
				t.Errorf("asked %v", r)
			}
			p.respond(whole, p.inDir(c.response))
			p.succeeded("ok")
			if p.file("a.txt") != c.file || p.file("b.txt") != c.other {
				t.Errorf("a.txt %q, b.txt %q", p.file("a.txt"), p.file("b.txt"))
			}
			if n := len(p.all("control_request")); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// Deny rules count for what the program writes into a call.
func TestUpdatedInputIsJudged(t *testing.T) {
	p := writing(t, `{"permissions":{"deny":["Write(b.txt)"]}}`, "Write(b.txt)")
	p.user("go")
	whole, _ := p.asked("can_use_tool")
	p.respond(whole, p.inDir(`{"behavior":"allow","updatedInput":{"file_path":"$DIR/b.txt","content":"two"}}`))
	p.succeeded("ok")
	if p.file("b.txt") != "" || len(p.all("result")[0]["permission_denials"].([]any)) != 1 {
		t.Errorf("written: %q", p.file("b.txt"))
	}
}

// A denial can stop the prompt.
func TestDenyAndInterrupt(t *testing.T) {
	p := writing(t, "", "don't")
	p.user("go")
	whole, _ := p.asked("can_use_tool")
	p.respond(whole, `{"behavior":"deny","message":"don't","interrupt":true}`)
	p.failed("error_during_execution", "interrupted")
	p.user("again")
	p.succeeded("ok")
}

// A question that can't be answered denies the call: an error, no answer in time, stdin that is closed before or after.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name, expect string
		act          func(p *program)
	}{
		{"error", "no one is here", func(p *program) {
			p.user("go")
			whole, _ := p.asked("can_use_tool")
			p.send(`{"type":"control_response","response":{"subtype":"error","request_id":` + asJSON(whole["request_id"]) + `,"error":"no one is here"}}`)
		}},
		{"error object", "no one is here", func(p *program) {
			p.user("go")
			whole, _ := p.asked("can_use_tool")
			p.send(`{"type":"control_response","response":{"subtype":"error","request_id":` + asJSON(whole["request_id"]) + `,"error":{"message":"no one is here"}}}`)
		}},
		{"too late", "didn't answer within 1ms", func(p *program) {
			p.succeed(`{"subtype":"initialize","timeout":{"canUseTool":1}}`)
			p.user("go")
			whole, _ := p.asked("can_use_tool")
			withdrawn := p.until("a cancel", func(m object) bool { return m["type"] == "control_cancel_request" })
			if withdrawn["request_id"] != whole["request_id"] {
				p.t.Errorf("%v, %v", whole, withdrawn)
			}
			p.respond(whole, `{"behavior":"allow"}`)
		}},
		{"closed while open", "stdin is closed", func(p *program) {
			p.user("go")
			p.asked("can_use_tool")
			p.in.Close()
		}},
		{"closed before", "stdin is closed", func(p *program) {
			p.user("go")
			p.in.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := writing(t, "", c.expect)
			c.act(p)
			p.succeeded("ok")
			if p.file("a.txt") != "" {
				t.Error("the file was written")
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An interrupt withdraws an open question.
func TestInterruptWhileAsked(t *testing.T) {
	p := writing(t, "")
	p.user("go")
	whole, _ := p.asked("can_use_tool")
	p.send(`{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}`)
	// The question is withdrawn beside the run, so the cancel may come after the result.
	for seen := map[any]bool{}; !seen["control_cancel_request"] || !seen["result"]; {
		m := p.until("a cancel and a result", func(m object) bool {
			return m["type"] == "control_cancel_request" || m["type"] == "result"
		})
		seen[m["type"]] = true
		if m["type"] == "result" && m["subtype"] != "error_during_execution" || m["type"] != "result" && m["request_id"] != whole["request_id"] {
			t.Errorf("%v", m)
		}
	}
	p.user("again")
	p.succeeded("ok")
}

// A change of the mode answers an open question.
func TestModeAnswersQuestion(t *testing.T) {
	p := writing(t, "")
	p.user("go")
	p.asked("can_use_tool")
	p.send(`{"type":"control_request","request_id":"m","request":{"subtype":"set_permission_mode","mode":"auto-edit"}}`)
	p.succeeded("ok")
	if p.file("a.txt") != "one" {
		t.Error("not written")
	}
}

// The program answers questions of the model, by number or by text, and approves plans.
func TestQuestionsOfTheModel(t *testing.T) {
	ask := object{"questions": []object{
		{"question": "Which color?", "header": "Color", "options": []object{{"label": "red", "description": ""}, {"label": "blue", "description": ""}}},
		{"question": "Which sizes?", "header": "Size", "multiSelect": true, "options": []object{{"label": "S", "description": ""}, {"label": "L", "description": ""}}},
	}}
	for _, c := range []struct{ answers, want string }{
		{`{"0":"red","1":"L"}`, `**Color**: red\n**Size**: L`},
		{`{"Which color?":"blue","Size":["S","L"]}`, `**Color**: blue\n**Size**: S; L`},
		{`{"q1":"green"}`, `**Color**: green\n**Size**: (no answer)`},
		{`{"unknown":"x"}`, `no answers came back`},
		{`7`, `no answers came back`},
	} {
		server := openaitest.Serve(t, says(calls("ask_user_question", ask), openaitest.Answer{Expect: []string{c.want}, Text: "ok"}))
		p := start(t, setup{url: server.URL})
		p.user("go")
		whole, r := p.asked("can_use_tool")
		if !strings.Contains(asJSON(r["form"]), "Which color?") {
			t.Errorf("asked %v", r)
		}
		p.respond(whole, `{"behavior":"allow","updatedInput":{"questions":`+asJSON(ask["questions"])+`,"answers":`+c.answers+`}}`)
		p.succeeded("ok")
	}
	server := openaitest.Serve(t, says(calls("exit_plan_mode", object{"plan": "Do it."}), openaitest.Answer{Expect: []string{"The user approved the plan"}, Text: "ok"}))
	p := start(t, setup{url: server.URL, settings: `{"tools":{"approvalMode":"plan"}}`})
	p.user("go")
	whole, _ := p.asked("can_use_tool")
	p.respond(whole, `{"behavior":"allow","updatedInput":{"plan":"Do it."}}`)
	p.succeeded("ok")
	if mode := p.session.Policy.Mode().String(); mode != "default" {
		t.Error(mode)
	}
}

// Programs answer questions in turn, so there is one at a time, in the order of the calls.
func TestOneQuestionAtATime(t *testing.T) {
	dir := project.Canonical(t.TempDir())
	write := func(id string) openaitest.Call {
		return openaitest.Call{ID: id, Name: "write_file", Args: json.RawMessage(asJSON(object{"file_path": filepath.Join(dir, id), "content": id}))}
	}
	server := openaitest.Serve(t, says(openaitest.Answer{Calls: []openaitest.Call{write("1"), write("2"), write("3")}}, openaitest.Answer{Text: "ok"}))
	p := start(t, setup{url: server.URL, dir: dir})
	p.user("go")
	for i, id := range []string{"1", "2", "3"} {
		whole, r := p.asked("can_use_tool")
		p.succeed(`{"subtype":"supported_commands"}`)
		if n := len(p.all("control_request")); r["tool_use_id"] != id || n != i+1 {
			t.Errorf("asked %v, %d questions so far", r, n)
		}
		p.respond(whole, `{"behavior":"allow"}`)
	}
	p.succeeded("ok")
	if got := p.file("1") + p.file("2") + p.file("3"); got != "123" {
		t.Error(got)
	}
}
