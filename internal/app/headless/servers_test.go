package headless_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// serve answers mcp_message requests for a server with one tool, echo, until a message matches.
func (p *program) serve(what string, match func(object) bool) object {
	p.t.Helper()
	return p.until(what, func(m object) bool {
		r, _ := m["request"].(object)
		if m["type"] != "control_request" || r["subtype"] != "mcp_message" {
			return match(m)
		}
		message := r["message"].(object)
		id, isCall := message["id"]
		result := object{}
		switch message["method"] {
		case "initialize":
			result = object{"protocolVersion": "2025-06-18", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "own", "version": "1"}}
		case "tools/list":
			result = object{"tools": []object{{"name": "echo", "description": "Echoes.", "inputSchema": object{"type": "object", "properties": object{"text": object{"type": "string"}}}}}}
		case "tools/call":
			text := message["params"].(object)["arguments"].(object)["text"]
			if text == "fail" {
				p.send(`{"type":"control_response","response":{"subtype":"error","request_id":` + asJSON(m["request_id"]) + `,"error":"the tool broke"}}`)
				return false
			}
			result = object{"content": []object{{"type": "text", "text": "echo: " + text.(string)}}}
		}
		if r["server_name"] != "own" {
			p.t.Errorf("server %v", r["server_name"])
		}
		response := object{"jsonrpc": "2.0", "id": 0, "result": object{}}
		if isCall {
			response = object{"jsonrpc": "2.0", "id": id, "result": result}
		}
		p.respond(m, asJSON(object{"mcp_response": response}))
		return match(m)
	})
}

func isResult(m object) bool { return m["type"] == "result" }

// A server in the program serves tools over mcp_message. They run without approval, and their errors reach the model.
func TestServerInTheProgram(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Expect: []string{`"own__echo"`}, Calls: []openaitest.Call{
			{ID: "1", Name: "own__echo", Args: json.RawMessage(`{"text":"hello"}`)}, {ID: "2", Name: "mcp__own__echo", Args: json.RawMessage(`{"text":"fail"}`)},
		}},
		openaitest.Answer{Expect: []string{"echo: hello", "the tool broke"}, Text: "ok"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"initialize","sdkMcpServers":{"own":{"type":"sdk","name":"own"}}}`)
	p.user("go")
	if r := p.serve("a result", isResult); r["result"] != "ok" {
		t.Error(r)
	}
	if status := p.succeed(`{"subtype":"mcp_server_status"}`)["status"].(object); status["own"] != "connected" {
		t.Error(status)
	}
	if servers := asJSON(p.all("system")[0]["mcp_servers"]); servers != `[{"name":"own","status":"connected"}]` {
		t.Error(servers)
	}
}

// A server's own message, such as a changed list of tools, is taken. Calls after stdin was closed fail, and the run ends.
func TestServerAfterClosedInput(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Text: "one"},
		openaitest.Answer{Calls: []openaitest.Call{{ID: "1", Name: "own__echo", Args: json.RawMessage(`{"text":"hello"}`)}}},
		openaitest.Answer{Expect: []string{"stdin is closed"}, Text: "two"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"initialize","sdkMcpServers":{"own":{}}}`)
	p.user("go")
	p.serve("a result", isResult)
	p.send(`{"type":"control_request","request_id":"n","request":{"subtype":"mcp_message","server_name":"own","message":{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}}}`)
	if r := p.response("n"); r["subtype"] != "success" {
		t.Error(r)
	}
	p.user("go")
	p.in.Close()
	p.succeeded("two")
	if err := p.wait(); err != nil {
		t.Error(err)
	}
}

// mcp.excluded counts for servers that a program brings.
func TestExcludedServer(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Absent: []string{"own__echo"}, Text: "ok"}))
	p := start(t, setup{url: server.URL, settings: `{"mcp":{"excluded":["own"]}}`})
	p.succeed(`{"subtype":"initialize","sdkMcpServers":{"own":{}}}`)
	p.user("go")
	p.succeeded("ok")
	if n := len(p.all("control_request")); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A server that Adze starts for the program: here one that can't be started is reported.
func TestServerForTheProgram(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Text: "ok"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"initialize","mcpServers":{"gone":{"command":"/no/such/program"}}}`)
	p.user("go")
	p.succeeded("ok")
	r := p.succeed(`{"subtype":"mcp_server_status"}`)
	if status := r["status"].(object)["gone"]; status != "disconnected" || !strings.Contains(asJSON(r["errors"]), "/no/such/program") {
		t.Error(asJSON(r))
	}
}

// A type of subagent that the program defines: the model sees it, and its calls are printed under the task.
func TestSessionAgents(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{When: "delegate", Expect: []string{"- poet: writes poems"}, Calls: []openaitest.Call{
			{ID: "t", Name: "task", Args: json.RawMessage(`{"description":"a poem","prompt":"Rhyme.","subagent_type":"poet"}`)},
		}},
		openaitest.Answer{When: "You only write poems.", Absent: []string{`"write_file"`}, Calls: []openaitest.Call{{ID: "l", Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)}}},
		openaitest.Answer{When: "You only write poems.", Text: "roses"},
		openaitest.Answer{Expect: []string{"roses"}, Text: "ok"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"initialize","agents":[{"name":"poet","description":"writes poems","systemPrompt":"You only write poems.",` +
		`"tools":["list_directory"],"level":"session","runConfig":{"max_turns":5,"max_time_minutes":5}}]}`)
	p.user("delegate")
	p.succeeded("ok")
	below := 0
	for _, m := range p.seen {
		if m["parent_tool_use_id"] == "t" {
			below++
		}
	}
	if agents := asJSON(p.all("system")[0]["agents"]); !strings.Contains(agents, `"poet"`) || below != 3 {
		t.Errorf("%s, %d messages of the subagent", agents, below)
	}
}

// A time limit of a subagent ends it with an error that the model reads.
func TestSessionAgentTime(t *testing.T) {
	server := openaitest.Serve(t, says(
		calls("task", object{"description": "a poem", "prompt": "Rhyme.", "subagent_type": "poet"}),
		openaitest.Answer{Expect: []string{"time limit reached"}, Text: "ok"}))
	p := start(t, setup{url: server.URL})
	p.succeed(`{"subtype":"initialize","agents":[{"name":"poet","description":"x","systemPrompt":"y","runConfig":{"max_time_minutes":1e-10}}]}`)
	p.user("go")
	p.succeeded("ok")
}
