package headless_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// helper keeps the commands of the tests.
var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = builtin.Main()
	os.Exit(leaktest.Run(m))
}

type object = map[string]any

// setup is what a program starts Adze with.
type setup struct {
	settings string
	dir      string // the workspace; "": a new one
	url      string // of the model's server; "": there is no model
	prompt   string
	partial  bool
	limits   session.Limits
	vars     map[string]string
}

// program drives a session over pipes.
type program struct {
	t        *testing.T
	dir      string
	session  *session.Session
	in       *io.PipeWriter
	out      *io.PipeReader
	messages chan object
	done     chan error
	seen     []object
	cancel   context.CancelFunc
}

// patience is how long a test waits for a message.
const patience = 2 * time.Minute

func start(t *testing.T, o setup) *program {
	t.Helper()
	home, dir := t.TempDir(), cmp.Or(o.dir, project.Canonical(t.TempDir()))
	if o.settings == "" {
		o.settings = "{}"
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(o.settings), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"ADZE_HOME": home, "ADZE_LOCAL_MODELS": "off", "OPENAI_BASE_URL": o.url, "OPENAI_MODEL": "m"}
	if o.url == "" {
		vars["OPENAI_MODEL"] = ""
	}
	for name, value := range o.vars {
		vars[name] = value
	}
	s, err := session.Open(project.Env{
		HasUser: true, Home: home, Helper: helper, Getenv: func(name string) string { return vars[name] },
		Tell: func(note string) { t.Log("note:", note) },
	}, session.Options{Dir: dir, Record: &recording.Options{ID: "5e551011-0000-4000-8000-000000000001", Off: true}, Sampling: true})
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	stdout, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{t: t, dir: dir, session: s, in: in, out: stdout, messages: make(chan object, 10_000), done: make(chan error, 1), cancel: cancel}
	go func() {
		p.done <- headless.Run(ctx, headless.Options{
			Stdin: stdin, Session: s, Limits: o.limits, Prompt: o.prompt,
			Printer: headless.NewPrinter(headless.PrinterOptions{W: out, Session: s, Commands: slash.New(s, slash.Lasts), Version: "test", Stream: true, Partial: o.partial}),
			Ends:    func(err error) bool { return strings.Contains(err.Error(), agent.ErrTurnLimit.Error()) },
		})
		out.Close()
	}()
	go func() {
		defer close(p.messages)
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m object
			if err := json.Unmarshal(line, &m); err != nil {
				t.Errorf("not JSON: %.500s", line)
			}
			p.messages <- m
		}
	}()
	t.Cleanup(func() {
		in.Close()
		cancel()
		for range p.messages {
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// send writes a line.
func (p *program) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) user(text string) {
	p.t.Helper()
	p.send(asJSON(object{"type": "user", "session_id": "", "parent_tool_use_id": nil, "message": object{"role": "user", "content": text}}))
}

// request makes a control request and waits for its response.
func (p *program) request(request string) object {
	p.t.Helper()
	id := fmt.Sprintf("r%d", len(p.seen))
	p.send(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":%s}`, id, request))
	return p.response(id)
}

// response waits for a response.
func (p *program) response(id string) object {
	p.t.Helper()
	m := p.until("a response to "+id, func(m object) bool {
		return m["type"] == "control_response" && m["response"].(object)["request_id"] == id
	})
	return m["response"].(object)
}

// succeed makes a request that must succeed.
func (p *program) succeed(request string) object {
	p.t.Helper()
	r := p.request(request)
	if r["subtype"] != "success" {
		p.t.Fatalf("%s: %v", request, r)
	}
	return r["response"].(object)
}

// respond answers a request of Adze.
func (p *program) respond(to object, response string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`, asJSON(to["request_id"]), response))
}

// asked waits for a request of Adze.
func (p *program) asked(subtype string) (whole, request object) {
	p.t.Helper()
	whole = p.until("a request "+subtype, func(m object) bool {
		return m["type"] == "control_request" && m["request"].(object)["subtype"] == subtype
	})
	return whole, whole["request"].(object)
}

// result waits for the result of a prompt.
func (p *program) result() object {
	p.t.Helper()
	return p.until("a result", func(m object) bool { return m["type"] == "result" })
}

// succeeded waits for the result of a prompt, which must be this text.
func (p *program) succeeded(text string) {
	p.t.Helper()
	if r := p.result(); r["result"] != text || r["is_error"] != false || r["subtype"] != "success" {
		p.t.Fatalf("result %v, want %q", r, text)
	}
}

// failed waits for the result of a prompt that failed, with this in its error.
func (p *program) failed(subtype, text string) {
	p.t.Helper()
	r := p.result()
	failure, _ := r["error"].(object)
	if got, _ := failure["message"].(string); r["is_error"] != true || r["subtype"] != subtype || !strings.Contains(got, text) {
		p.t.Fatalf("result %v, want the error %q", r, text)
	}
}

// until waits for a message.
func (p *program) until(what string, match func(object) bool) object {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-p.messages:
			if !ok {
				p.t.Fatalf("stdout was closed before %s: %s", what, asJSON(p.seen))
			}
			p.seen = append(p.seen, m)
			if match(m) {
				return m
			}
		case <-timeout:
			p.t.Fatalf("no message that is %s: %s", what, asJSON(p.seen))
		}
	}
}

// end closes stdin, reads the rest and returns the error of the run.
func (p *program) end() error {
	p.t.Helper()
	p.in.Close()
	return p.wait()
}

// wait reads the rest and returns the error of the run.
func (p *program) wait() error {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-p.messages:
			if !ok {
				return <-p.done
			}
			p.seen = append(p.seen, m)
		case <-timeout:
			p.t.Fatal("the run doesn't end")
		}
	}
}

// all returns the messages of a type so far.
func (p *program) all(kind string) []object {
	var out []object
	for _, m := range p.seen {
		if m["type"] == kind {
			out = append(out, m)
		}
	}
	return out
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func says(answers ...openaitest.Answer) openaitest.Script { return openaitest.Script{Answers: answers} }

func calls(name string, args any) openaitest.Answer {
	return openaitest.Answer{Calls: []openaitest.Call{{ID: "call_0", Name: name, Args: json.RawMessage(asJSON(args))}}}
}
