package acp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// Whatever version is asked for, version 1 is answered.
func TestVersions(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, v := range []int{0, 1, 99} {
		if got := e.call("initialize", map[string]any{"protocolVersion": v}); got["protocolVersion"] != 1.0 {
			t.Errorf("version %d: %v", v, got)
		}
	}
}

// Invalid requests get an error with the next step, and the connection continues.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model()
	if err := e.fails("session/new", map[string]any{"cwd": e.dir}); err.Code != codeInvalidRequest || !strings.Contains(err.Message, "initialize") {
		t.Error(err)
	}
	e.initialize(`{}`)
	id := e.session()
	file := e.file("file", "")
	for _, tt := range []struct {
		method, params string
		code           int
		text           string
	}{
		{"session/nonsense", `{}`, codeNoMethod, `unknown method "session/nonsense"`},
		{"session/new", `{"cwd":"sub","mcpServers":[]}`, codeInvalidParams, `cwd: expected an absolute path, got "sub"`},
		{"session/new", `{"mcpServers":[]}`, codeInvalidParams, `cwd: expected an absolute path, got ""`},
		{"session/new", `{"cwd":"` + file + `","mcpServers":[]}`, codeInvalidParams, "cwd: not a directory: " + file},
		{"session/new", `{"cwd":"/","additionalDirectories":["x"],"mcpServers":[]}`, codeInvalidParams, "additionalDirectories[0]: expected an absolute path"},
		{"session/new", `{"cwd":"/","mcpServers":[{"name":"x"}]}`, codeInvalidParams, "mcpServers[0]: expected a command or a url"},
		{"session/new", `{"cwd":7}`, codeInvalidParams, "params: cwd must be a string, got a JSON number"},
		{"session/new", `[]`, codeInvalidParams, "params: it must be an object, got a JSON array"},
		{"session/new", `{"cwd":"/","mcpServers":{}}`, codeInvalidParams, "params: mcpServers must be a list, got a JSON object"},
		{"session/prompt", `{"sessionId":"x","prompt":[{"type":"text","text":"hi"}]}`, codeNotFound, `no open session "x"`},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[]}`, codeInvalidParams, "prompt: expected at least one block"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"audio","data":""}]}`, codeInvalidParams, "audio isn't supported"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"image","data":"%"}]}`, codeInvalidParams, "prompt[0]: expected an image"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"resource"}]}`, codeInvalidParams, "prompt[0].resource: expected"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"dance"}]}`, codeInvalidParams, `got "dance"`},
		{"session/load", `{"sessionId":"x","cwd":"/","mcpServers":[]}`, codeNotFound, `no recorded session "x"`},
		{"session/resume", `{"sessionId":"` + id + `","cwd":"/nowhere"}`, codeInvalidParams, "cwd: not a directory"},
		{"session/delete", `{"sessionId":"x"}`, codeNotFound, "no recorded session"},
		{"session/close", `{"sessionId":"x"}`, codeNotFound, "no open session"},
		{"session/list", `{"cursor":"x"}`, codeInvalidParams, "cursor: expected"},
		{"session/list", `{"cwd":"x"}`, codeInvalidParams, "cwd: expected an absolute path"},
	} {
		if err := e.fails(tt.method, json.RawMessage(tt.params)); err.Code != tt.code || !strings.Contains(err.Message, tt.text) {
			t.Errorf("%s %s: %d %s", tt.method, tt.params, err.Code, err.Message)
		}
	}
}

// Lines that aren't messages.
func TestBadLines(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, tt := range []struct {
		line string
		code int
		id   string
	}{
		{"nonsense", codeParse, "null"},
		{`{"jsonrpc":"2.0"}`, codeInvalidRequest, "null"},
		{`[1]`, codeInvalidRequest, "null"},
		{`{"jsonrpc":"3.0","id":8,"method":"initialize","params":{}}`, codeInvalidRequest, "8"}, // it was accepted
		{`{"id":8,"method":"initialize","params":{}}`, codeInvalidRequest, "8"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"initialize","params":{}}`, codeInvalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"x":"` + strings.Repeat("x", 20<<20) + `"}}`, codeInvalidRequest, "7"},
	} {
		if _, err := e.out.Write([]byte(tt.line + "\n")); err != nil {
			t.Fatal(err)
		}
		if m := e.next(); m.Error == nil || m.Error.Code != tt.code || string(m.ID) != tt.id && tt.id != "null" {
			t.Errorf("%.40s: %s %v", tt.line, m.ID, m.Error)
		}
	}
	for _, ignored := range []string{"", `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`, `{"jsonrpc":"2.0","method":"$/x"}`} {
		if _, err := e.out.Write([]byte(ignored + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	e.initialize(`{}`)
}

// A request with the ID of one that isn't answered yet is an error without an ID: it used to get a second response with
// this ID, so that an editor took it for that of the first.
func TestUsedID(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "touch made"})}}, openaitest.Answer{Text: "ok"})
	asked, answered := make(chan bool), make(chan bool)
	e.on("session/request_permission", func(map[string]any) any {
		close(asked)
		<-answered
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "once"}}
	})
	e.initialize(`{}`)
	session := e.session()
	id, _ := json.Marshal(e.begin("session/prompt", prompt(session, "go")))
	<-asked
	for _, method := range []string{"session/prompt", "session/new"} {
		e.write(outgoing{Version: rpcVersion, ID: id, Method: method, Params: prompt(session, "again")})
		if m := e.next(); string(m.ID) == string(id) || m.Error == nil || m.Error.Code != codeInvalidRequest || !strings.Contains(m.Error.Message, "in use") {
			t.Errorf("%s: %s %v", method, m.ID, m.Error)
		}
	}
	close(answered)
	if m := e.next(); string(m.ID) != string(id) || m.Error != nil {
		t.Errorf("%s %v", m.ID, m.Error)
	}
}

// Without a model the editor gets auth_required with the text of adze doctor. Once there is one, it can continue.
func TestNoModel(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.initialize(`{}`)
	params := map[string]any{"cwd": e.dir, "mcpServers": []any{}}
	for range 2 {
		if err := e.fails("session/new", params); err.Code != codeAuthRequired || !strings.Contains(err.Message, "model: none") {
			t.Error(err)
		}
		if err := e.fails("authenticate", map[string]any{"methodId": "setup"}); err.Code != codeAuthRequired {
			t.Error(err)
		}
	}
	e.model()
	e.call("authenticate", map[string]any{"methodId": "setup"})
	e.session()
}

// The parts of a prompt: an image, a file by its link, a text of the editor.
func TestPromptBlocks(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("a file.txt", "the content of the file\n")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(picture.Bytes())
	e.model(openaitest.Answer{Text: "ok", Expect: []string{"Look at @", "the content of the file", "unsaved text", "the selection", data}})
	e.vars["OPENAI_MODEL"] = "gpt-4o" // one that reads images
	e.initialize(`{}`)
	id := e.session()
	uri := "file://" + strings.ReplaceAll(path, " ", "%20")
	e.call("session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "text", "text": "Look at "},
		map[string]any{"type": "resource_link", "uri": uri, "name": "a file.txt"},
		map[string]any{"type": "text", "text": " and at "},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "zed:///the selection", "text": "unsaved text @nowhere"}},
		map[string]any{"type": "image", "mimeType": "image/png", "data": data},
	}})
}

// Blocks without whitespace between them stay apart, and linked files are attached. They used to be joined:
// compare@/w/notes.txt@/w/main.go.
func TestPromptBlocksAreSeparate(t *testing.T) {
	text := func(s string) content { return content{Type: "text", Text: &s} }
	link := func(path string) content { return content{Type: "resource_link", URI: "file://" + path} }
	for _, c := range []struct {
		blocks []content
		want   string
	}{
		{[]content{text("compare"), link("/w/notes.txt"), link("/w/main.go")}, "compare @/w/notes.txt @/w/main.go"},
		{[]content{text("first"), text("second")}, "first\nsecond"},
		{[]content{text("see "), link("/w/a b"), text(" now")}, `see @/w/a\ b now`},
		{[]content{link("/w/a"), text("explain")}, "@/w/a explain"},
	} {
		if p, err := readPrompt(c.blocks); err != nil || p.text != c.want {
			t.Errorf("got %q, %v, want %q", p.text, err, c.want)
		}
	}
	e := open(t)
	one, two := e.file("one.txt", "the first content\n"), e.file("two.txt", "the second content\n")
	e.model(openaitest.Answer{Text: "ok", Expect: []string{"the first content", "the second content"}})
	e.initialize(`{}`)
	e.call("session/prompt", map[string]any{"sessionId": e.session(), "prompt": []any{
		map[string]any{"type": "text", "text": "compare"}, map[string]any{"type": "resource_link", "uri": "file://" + one, "name": "one"},
		map[string]any{"type": "resource_link", "uri": "file://" + two, "name": "two"},
	}})
}

// A subagent's question names a call that the editor knows.
func TestSubagentAsks(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(
		openaitest.Answer{When: "begin", Calls: []openaitest.Call{call("c1", "task", map[string]any{"description": "look", "prompt": "Make it."})}},
		openaitest.Answer{When: "begin", Text: "ok"},
		openaitest.Answer{When: "Make it.", Absent: []string{"begin"}, Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "touch made"})}},
		openaitest.Answer{When: "Make it.", Absent: []string{"begin"}, Text: "made"},
	)
	e.initialize(`{}`)
	id := e.session()
	e.on("session/request_permission", func(params map[string]any) any {
		asked := params["toolCall"].(map[string]any)["toolCallId"].(string)
		known := false
		e.mu.Lock()
		for _, u := range e.updates {
			known = known || u["sessionUpdate"] == "tool_call" && u["toolCallId"] == asked
		}
		e.mu.Unlock()
		if !known || asked == "c1" {
			t.Errorf("the question is about call %q", asked)
		}
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "once"}}
	})
	e.say(id, "begin")
	if _, err := os.Stat(filepath.Join(e.dir, "made")); err != nil {
		t.Error(err, e.story())
	}
}

// A session keeps the ID that was given out, even if it is closed before its first prompt.
func TestLoadEmpty(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Text: "one"}, openaitest.Answer{Text: "two", Expect: []string{"first"}})
	e.initialize(`{}`)
	id := e.session()
	for range 2 {
		e.call("session/close", map[string]any{"sessionId": id})
		e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	}
	if all := list(e.call("session/list", map[string]any{})["sessions"]); len(all) != 0 {
		t.Error(all)
	}
	e.say(id, "first")
	e.call("session/close", map[string]any{"sessionId": id})
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	e.say(id, "second")
}

// Two sessions at once, listed, resumed and deleted.
func TestSessions(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(openaitest.Answer{Text: "one", When: "first"}, openaitest.Answer{Text: "two", When: "second"}, openaitest.Answer{Text: "three", When: "third"})
	e.initialize(`{}`)
	a, b := e.session(), e.session()
	e.say(a, "first")
	e.say(b, "second")
	ids := func() (out string) {
		for _, s := range list(e.call("session/list", map[string]any{"cwd": e.dir})["sessions"]) {
			out += s["title"].(string) + " "
		}
		return out
	}
	if got := ids(); got != "second first " && got != "first second " {
		t.Error(got)
	}
	e.call("session/resume", map[string]any{"sessionId": a, "cwd": e.dir}) // it is open: it is closed first
	e.say(a, "third")
	e.call("session/delete", map[string]any{"sessionId": a})
	if got := ids(); got != "second " {
		t.Error(got)
	}
	if err := e.fails("session/prompt", prompt(a, "fourth")); err.Code != codeNotFound {
		t.Error(err)
	}
}
