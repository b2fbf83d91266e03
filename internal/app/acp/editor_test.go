package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// helper keeps and sandboxes the commands of the tests.
var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = builtin.Main()
	if word := os.Getenv(serverVar); word != "" {
		if err := greeter(word).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(plainadze.Run(func(path string) { helper = builtin.Helper(proc.HelperAt(path)) }, m.Run))
}

// editor is a client for tests.
type editor struct {
	t         *testing.T
	dir, home string
	vars      map[string]string
	out       *io.PipeWriter
	messages  chan message // responses
	ended     chan error

	mu      sync.Mutex
	last    int
	updates []map[string]any
	changed chan struct{} // holds a token after an update
	asked   []string      // methods of requests to the editor
	answers map[string]func(params map[string]any) any
}

// open starts a server. There is no model yet.
func open(t *testing.T) *editor {
	t.Helper()
	e := &editor{
		t: t, dir: project.Canonical(t.TempDir()), home: project.Canonical(t.TempDir()), messages: make(chan message, 100), ended: make(chan error, 1),
		changed: make(chan struct{}, 1), answers: map[string]func(map[string]any) any{},
	}
	e.vars = map[string]string{"ADZE_HOME": e.home, "ADZE_LOCAL_MODELS": "off"}
	if err := os.WriteFile(filepath.Join(e.home, "settings.json"), []byte(`{"tools":{"trial":"off"}}`), 0o600); err != nil { // questions are about commands
		t.Fatal(err)
	}
	e.start()
	return e
}

// model sets what the model answers. It must come before the first session.
func (e *editor) model(answers ...openaitest.Answer) {
	e.t.Helper()
	server := openaitest.Serve(e.t, openaitest.Script{Answers: answers})
	e.vars["OPENAI_BASE_URL"], e.vars["OPENAI_MODEL"] = server.URL, "m"
}

func (e *editor) start() {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	e.out = toServer
	env := project.Env{Home: e.home, Helper: helper, HasUser: true, Version: "test", Getenv: func(name string) string { return e.vars[name] }}
	go func() {
		err := Serve(context.Background(), Options{
			In: in, Out: out, Version: "test",
			Directory: env.Directory, Doctor: func(context.Context, string) string { return "model: none" },
			Open: func(s Start) (*session.Session, error) {
				own := env
				own.Tell = s.Tell
				return session.Open(own, session.Options{Dir: s.Dir, AddDirs: s.AddDirs, Record: s.Record, Editor: s.Write, Place: "an editor"})
			},
		})
		out.Close()
		e.ended <- err
	}()
	go e.read(fromServer)
	e.t.Cleanup(e.close)
}

// close closes the editor's end. The server must end by itself.
func (e *editor) close() {
	e.out.Close()
	select {
	case err := <-e.ended:
		e.ended <- err
		if err != nil {
			e.t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		e.t.Error("the server goes on without an editor")
	}
}

func (e *editor) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			close(e.messages)
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			e.t.Errorf("%v: %s", err, line)
			continue
		}
		var params map[string]any
		_ = json.Unmarshal(m.Params, &params)
		switch {
		case m.Method == nil:
			e.messages <- m
		case len(m.ID) > 0:
			go e.answer(m, params)
		case *m.Method == "session/update":
			e.mu.Lock()
			e.updates = append(e.updates, params["update"].(map[string]any))
			e.mu.Unlock()
			select {
			case e.changed <- struct{}{}:
			default:
			}
		}
	}
}

// answer answers a request of the server.
func (e *editor) answer(m message, params map[string]any) {
	e.mu.Lock()
	e.asked = append(e.asked, *m.Method)
	f := e.answers[*m.Method]
	e.mu.Unlock()
	if f == nil {
		e.write(outgoing{Version: "2.0", ID: m.ID, Error: &rpcError{Code: codeNoMethod, Message: "unknown"}})
		return
	}
	e.write(outgoing{Version: "2.0", ID: m.ID, Result: f(params)})
}

func (e *editor) write(m any) {
	b, err := json.Marshal(m)
	if err != nil {
		e.t.Error(err)
	}
	_, _ = e.out.Write(append(b, '\n')) // a server that has ended reads nothing
}

// on says how the editor answers a request.
func (e *editor) on(method string, f func(params map[string]any) any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[method] = f
}

// choose answers permission requests with an option.
func (e *editor) choose(id string) {
	e.on("session/request_permission", func(map[string]any) any {
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": id}}
	})
}

// begin sends a request and returns its ID.
func (e *editor) begin(method string, params any) int {
	e.mu.Lock()
	e.last++
	id := e.last
	e.mu.Unlock()
	raw, _ := json.Marshal(id)
	e.write(outgoing{Version: "2.0", ID: raw, Method: method, Params: params})
	return id
}

// next waits for a response.
func (e *editor) next() message {
	e.t.Helper()
	select {
	case m, ok := <-e.messages:
		if !ok {
			e.t.Fatal("the server has ended")
		}
		return m
	case <-time.After(2 * time.Minute):
		e.t.Fatal("no response")
	}
	return message{}
}

// call sends a request and returns the result.
func (e *editor) call(method string, params any) map[string]any {
	e.t.Helper()
	e.begin(method, params)
	m := e.next()
	if m.Error != nil {
		e.t.Fatalf("%s: %v", method, m.Error)
	}
	var result map[string]any
	if err := json.Unmarshal(m.Result, &result); err != nil {
		e.t.Fatal(err)
	}
	return result
}

// fails sends a request and returns the error.
func (e *editor) fails(method string, params any) *rpcError {
	e.t.Helper()
	e.begin(method, params)
	m := e.next()
	if m.Error == nil {
		e.t.Fatalf("%s: no error, but %s", method, m.Result)
	}
	return m.Error
}

// initialize begins the conversation with capabilities of the editor, as JSON.
func (e *editor) initialize(capabilities string) {
	e.t.Helper()
	e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(capabilities)})
}

// session opens a session in the editor's directory.
func (e *editor) session() string {
	e.t.Helper()
	return e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})["sessionId"].(string)
}

func prompt(id, text string) map[string]any {
	return map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// say sends a prompt and returns the stop reason.
func (e *editor) say(id, text string) string {
	e.t.Helper()
	return e.call("session/prompt", prompt(id, text))["stopReason"].(string)
}

// until waits until the updates so far are as expected.
func (e *editor) until(what string, ok func([]map[string]any) bool) {
	e.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		e.mu.Lock()
		done := ok(e.updates)
		e.mu.Unlock()
		if done {
			return
		}
		select {
		case <-e.changed:
		case <-limit:
			e.t.Fatalf("it didn't happen that %s", what)
		}
	}
}

// of returns the updates of a kind.
func (e *editor) of(kind string) []map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []map[string]any
	for _, u := range e.updates {
		if u["sessionUpdate"] == kind {
			out = append(out, u)
		}
	}
	return out
}

// story returns the updates in short: pieces of a message are joined.
func (e *editor) story() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	last := ""
	for _, u := range e.updates {
		kind := u["sessionUpdate"].(string)
		line := kind
		switch kind {
		case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
			text, _ := u["content"].(map[string]any)["text"].(string)
			if kind == last {
				out[len(out)-1] += text
				continue
			}
			line += " " + text
		case "tool_call", "tool_call_update":
			for _, key := range []string{"toolCallId", "kind", "title", "status"} {
				if v, ok := u[key].(string); ok {
					line += " " + key + "=" + v
				}
			}
			for _, c := range list(u["content"]) {
				line += " " + c["type"].(string)
			}
			for _, l := range list(u["locations"]) {
				line += " at " + filepath.Base(l["path"].(string))
			}
		case "current_mode_update":
			line += " " + u["currentModeId"].(string)
		case "session_info_update":
			line += " " + u["title"].(string)
		case "available_commands_update", "usage_update", "config_option_update":
			continue
		}
		last = kind
		out = append(out, line)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), e.dir, "DIR")
}

func list(v any) []map[string]any {
	var out []map[string]any
	all, _ := v.([]any)
	for _, one := range all {
		out = append(out, one.(map[string]any))
	}
	return out
}

// forget drops the updates so far.
func (e *editor) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = nil
}

func (e *editor) file(name, text string) string {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
	return path
}

func (e *editor) content(name string) string {
	b, _ := os.ReadFile(filepath.Join(e.dir, name))
	return string(b)
}

func call(id, name string, args any) openaitest.Call {
	raw, _ := json.Marshal(args)
	return openaitest.Call{ID: id, Name: name, Args: raw}
}
