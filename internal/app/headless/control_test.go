package headless_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// Each request has a response, also one that can't be used, and the run continues.
func TestControlRequests(t *testing.T) {
	server := openaitest.Serve(t, openaitest.Script{Models: []string{"m", "other"}, Answers: []openaitest.Answer{{Text: "ok", Usage: &openaitest.Usage{Input: 900, Output: 100, Cached: 300}}}})
	p := start(t, setup{url: server.URL})
	for _, c := range []struct{ request, want string }{
		{`{"subtype":"initialize","hooks":null}`, `"can_handle_can_use_tool":true`},
		{`{"subtype":"initialize","hooks":[],"agents":null}`, `"session_id":"5e551011-0000-4000-8000-000000000001"`},
		{`{"subtype":"initialize","hooks":{"PreToolUse":[]}}`, `"can_handle_hook_callback":true`},
		{`{"subtype":"initialize","hooks":[{"event":"Never","callback_id":"1"}]}`, `error: initialize: hooks: unknown or unsupported event "Never" (expected SessionStart, `},
		{`{"subtype":"initialize","hooks":[{"event":"Stop"}]}`, `error: initialize: hooks: expected [{"event": `},
		{`{"subtype":"initialize","hooks":{"Stop":{}}}`, `error: initialize: hooks: expected [{"event": `},
		{`{"subtype":"initialize","hooks":7}`, `error: initialize: hooks: expected [{"event": `},
		{`{"subtype":"initialize","effort":"HIGH"}`, `"effort_status":{"applied":true,"effort":"high","override":null}`},
		{`{"subtype":"initialize","effort":"huge"}`, `error: initialize: effort: expected low, medium, high, xhigh, max, got "huge"`},
		{`{"subtype":"initialize","timeout":{"canUseTool":0}}`, `error: initialize: timeout.canUseTool: expected milliseconds`},
		{`{"subtype":"initialize","agents":[{"name":"x","systemPrompt":"y"}]}`, `error: initialize: agents[0].description: expected a text`},
		{`{"subtype":"initialize","agents":7}`, `error: initialize: `},
		{`{"subtype":"initialize","mcpServers":{"x":7}}`, `error: initialize: mcpServers.x: expected an object`},
		{`{"subtype":"initialize","mcpServers":{"x":{"args":7}}}`, `error: initialize: mcpServers.x: args`},
		{`{"subtype":"initialize","sdkMcpServers":{"x":7}}`, `error: initialize: sdkMcpServers.x: expected an object`},
		{`{"subtype":"set_permission_mode","mode":"plan"}`, `"mode":"plan","status":"updated"`},
		{`{"subtype":"set_permission_mode","mode":"acceptEdits"}`, `"mode":"auto-edit"`},
		{`{"subtype":"set_permission_mode","mode":"auto_edit"}`, `"mode":"auto-edit"`},
		{`{"subtype":"set_permission_mode","mode":"auto"}`, `"mode":"auto-edit"`},
		{`{"subtype":"set_permission_mode","mode":"bypassPermissions"}`, `"mode":"yolo"`},
		{`{"subtype":"set_permission_mode","mode":"default"}`, `"mode":"default"`},
		{`{"subtype":"set_permission_mode","mode":"wild"}`, `error: set_permission_mode: mode: invalid approval mode "wild" (expected plan, default, auto-edit or yolo)`},
		{`{"subtype":"set_permission_mode","mode":7}`, `error: set_permission_mode: mode must be a string, got a JSON number`},
		{`{"subtype":"set_effort","effort":"low"}`, `{"applied":true,"effort":"low","override":null,"subtype":"set_effort"}`},
		{`{"subtype":"set_effort","effort":""}`, `error: set_effort: effort: expected low`},
		{`{"subtype":"set_effort","effort":7}`, `error: set_effort: effort must be a string, got a JSON number`},
		{`{"subtype":"set_model","model":" "}`, `error: set_model: model: expected the name of a model`},
		{`{"subtype":"set_model"}`, `error: set_model: model: expected the name of a model`},
		{`{"subtype":"supported_commands"}`, `{"commands":["agents","background","clear","compress","context","cost","diff","doctor","effort",`},
		{`{"subtype":"mcp_server_status"}`, `{"errors":{},"status":{},"subtype":"mcp_server_status"}`},
		{`{"subtype":"mcp_message","server_name":"x","message":{}}`, `error: mcp_message: server_name: unknown MCP server "x"`},
		{`{"subtype":"mcp_message"}`, `error: mcp_message: expected server_name and message`},
		{`{"subtype":"get_context_usage"}`, `"isEstimated":true`},
		{`{"subtype":"get_context_usage","show_details":7}`, `error: get_context_usage: show_details must be true or false, got a JSON number`},
		{`{"subtype":"get_available_models"}`, `"id":"other"`},
		{`{"subtype":"continue_last_turn"}`, `error: continue_last_turn: nothing to continue`},
		{`{"subtype":"hook_callback"}`, `error: unknown control request "hook_callback"`},
		{`{}`, `error: control_request: request: expected an object with a subtype`},
		{`null`, `error: control_request: request: expected an object with a subtype`},
	} {
		r := p.request(c.request)
		got := asJSON(r["response"])
		if r["subtype"] == "error" {
			got = "error: " + r["error"].(string)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.request, got, c.want)
		}
	}
	// A program may send a prompt without waiting for the response to initialize.
	p.user("go")
	p.failed("error_during_execution", "initialize:")
	p.succeed(`{"subtype":"initialize"}`)
	p.user("go")
	p.succeeded("ok")
	usage := p.succeed(`{"subtype":"get_context_usage","show_details":true}`)
	if usage["totalTokens"] != 1000.0 || usage["modelName"] != "m" || usage["isEstimated"] != false ||
		usage["contextWindowSize"] != 128000.0 || len(usage["builtinTools"].([]any)) < 10 || usage["breakdown"].(object)["cachedTokens"] != 300.0 || usage["breakdown"].(object)["autocompactBuffer"] != 19200.0 {
		t.Error(asJSON(usage))
	}
	if r := p.request(`{"subtype":"initialize"}`); !strings.Contains(asJSON(r), "must come before the first user message") {
		t.Error(r)
	}
	if body := string(server.Requests()[len(server.Requests())-1].Body); !strings.Contains(body, `"reasoning_effort":"low"`) {
		t.Errorf("no effort in %s", body)
	}
}

// Lines that aren't messages are answered, with the ID of their request where it can be found.
func TestBadLines(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Text: "ok"}))
	p := start(t, setup{url: server.URL})
	for _, c := range []struct{ line, id, want string }{
		{`hello`, "", "invalid line: expected a JSON object with a type"},
		{`7`, "", "invalid line: expected a JSON object with a type: it must be an object, got a JSON number"},
		{`{"type":["x"]}`, "", "invalid line: expected a JSON object with a type: type must be a string, got a JSON array"},
		{`{"type":"control_request","request_id":"a7","request":{"subtype":`, "a7", "invalid line"},
		{`{"type":"odd","request_id":"b"}`, "b", `unknown type "odd" (expected user, control_request, control_response or control_cancel_request)`},
		{`{}`, "", `unknown type ""`},
		{`{"type":"control_request","request":{"subtype":"interrupt"}}`, "", "request_id is missing"},
		{`{"type":"control_request","request_id":"long","request":{"subtype":"` + strings.Repeat("x", 64<<20) + `"}}`, "long", "the line is longer than 64 MB"},
	} {
		p.send(c.line)
		r := p.until("an error", func(m object) bool { return m["type"] == "control_response" })["response"].(object)
		if r["subtype"] != "error" || r["request_id"] != c.id || !strings.Contains(r["error"].(string), c.want) {
			t.Errorf("%.200s: %v", c.line, r)
		}
	}
	p.send(`{"type":"system","subtype":"init"}`)
	p.send(`{"type":"control_response","response":{"subtype":"success","request_id":"none","response":{}}}`)
	p.send(`{"type":"control_cancel_request","request_id":"none"}`)
	p.send("")
	p.user("go")
	p.succeeded("ok")
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if n := len(p.all("control_response")); n != 8 {
		t.Errorf("%d responses", n)
	}
}

// A number as the ID of a request comes back as a number.
func TestNumberedRequest(t *testing.T) {
	p := start(t, setup{})
	p.send(`{"type":"control_request","request_id":7,"request":{"subtype":"supported_commands"}}`)
	p.until("a response", func(m object) bool {
		return m["type"] == "control_response" && m["response"].(object)["request_id"] == 7.0
	})
}

// set_model takes effect with the next request, and prompts that come after it wait for it.
func TestSetModel(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Expect: []string{`"model":"m"`}, Text: "one"}, openaitest.Answer{Expect: []string{`"model":"other"`, `"one"`}, Text: "two"},
		openaitest.Answer{Expect: []string{`"model":"m"`, `"two"`}, Text: "three"}))
	p := start(t, setup{url: server.URL})
	p.user("go")
	p.succeeded("one")
	for _, c := range []struct{ model, text string }{{"other", "two"}, {"m", "three"}} {
		p.send(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"set_model","model":%q}}`, c.model, c.model))
		p.user("go")
		if r := p.response(c.model); r["subtype"] != "success" {
			t.Fatal(r)
		}
		p.succeeded(c.text)
	}
	begins := p.all("system")
	if begins[0]["model"] != "m" || begins[1]["model"] != "other" || begins[2]["model"] != "m" {
		t.Errorf("%v", begins)
	}
}

// A model that is set before the first prompt is the one that answers it.
func TestSetModelFirst(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Expect: []string{`"model":"other"`}, Text: "one"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"set_model","model":"other"}`)
	p.user("go")
	p.succeeded("one")
}

// set_permission_mode counts for the calls after it: the model gets a note about plan mode, and nothing is asked in yolo mode.
func TestSetPermissionMode(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Text: "one"},
		openaitest.Answer{Expect: []string{"Plan mode is on"}, Text: "two"},
		calls("write_file", object{"file_path": "a.txt", "content": "x"}), openaitest.Answer{Text: "three"}))
	p := start(t, setup{url: server.URL})
	p.user("go")
	p.succeeded("one")
	p.succeed(`{"subtype":"set_permission_mode","mode":"plan"}`)
	p.user("go")
	p.succeeded("two")
	p.succeed(`{"subtype":"set_permission_mode","mode":"yolo"}`)
	p.user("go")
	p.succeeded("three")
	if len(p.all("control_request")) != 0 || p.all("system")[2]["permission_mode"] != "yolo" {
		t.Errorf("%v", p.seen)
	}
}

// A request that is being handled can be cancelled, and has one response. Here the list of models never comes.
func TestCancelRequest(t *testing.T) {
	url, bodies := hanging(t)
	p := start(t, setup{url: url})
	for _, cancel := range []string{`{"type":"control_cancel_request","request_id":"list"}`, `{"type":"control_cancel_request"}`} {
		n := len(bodies())
		p.send(`{"type":"control_request","request_id":"list","request":{"subtype":"get_available_models"}}`)
		waittest.Until(t, "the server has the request", func() bool { return len(bodies()) > n })
		p.send(cancel)
		if r := p.response("list"); r["subtype"] != "error" || r["error"] != "the request was cancelled" {
			t.Error(r)
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if n := len(p.all("control_response")); n != 2 {
		t.Errorf("%d responses", n)
	}
}
