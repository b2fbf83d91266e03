package headless_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// Prompts wait for each other, belong to one conversation, and have one result each, also after stdin was closed.
func TestPromptsWaitForEachOther(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Expect: []string{"first"}, Text: "one"},
		openaitest.Answer{Expect: []string{"first", `"one"`, "second"}, Text: "two"},
		openaitest.Answer{Expect: []string{"second", `"two"`, "third"}, Text: "three"}))
	p := start(t, setup{url: server.URL})
	p.user("first")
	p.user("second")
	p.user("third")
	p.in.Close()
	p.succeeded("one")
	p.succeeded("two")
	p.succeeded("three")
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	begins := p.all("system")
	if len(begins) != 3 || begins[0]["subtype"] != "init" || begins[0]["model"] != "m" || begins[0]["session_id"] != "5e551011-0000-4000-8000-000000000001" {
		t.Errorf("%v", begins)
	}
}

// A prompt of the command line comes first.
func TestFirstPrompt(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Expect: []string{"from a flag"}, Text: "one"}, openaitest.Answer{Text: "two"}))
	p := start(t, setup{url: server.URL, prompt: "from a flag"})
	p.user("second")
	p.succeeded("one")
	p.succeeded("two")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// A server that counts calls from call_0 in each answer: no call is rejected, and each is reported.
func TestRepeatedCallIDs(t *testing.T) {
	server := openaitest.Serve(t, says(
		calls("list_directory", object{"path": "."}), openaitest.Answer{Absent: []string{"already used"}, Text: "one"},
		calls("list_directory", object{"path": "."}), openaitest.Answer{Absent: []string{"already used"}, Text: "two"}))
	p := start(t, setup{url: server.URL})
	for _, text := range []string{"one", "two"} {
		p.user("list")
		p.succeeded(text)
	}
	ids := map[string]bool{}
	for _, m := range p.all("user") {
		ids[m["message"].(object)["content"].([]any)[0].(object)["tool_use_id"].(string)] = true
	}
	if len(ids) != 2 {
		t.Errorf("%v", ids)
	}
}

// hanging returns a server whose answers say something and then hang, until a request contains "please".
func hanging(t *testing.T) (url string, bodies func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, string(raw))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		delta := func(text, finish string) {
			fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
			w.(http.Flusher).Flush()
		}
		if strings.Contains(string(raw), "please") {
			delta("done", `"stop"`)
			fmt.Fprint(w, "data: [DONE]\n\n")
			return
		}
		delta("I begin", "null")
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, all...)
	}
}

// An interrupt ends the answer that streams. The next prompt works, and the model sees what it had said.
func TestInterrupt(t *testing.T) {
	url, bodies := hanging(t)
	p := start(t, setup{url: url, partial: true})
	p.user("go")
	p.until("a delta", func(m object) bool { return strings.Contains(asJSON(m), "I begin") })
	p.succeed(`{"subtype":"interrupt"}`)
	p.failed("error_during_execution", "interrupted")
	p.user("please")
	p.succeeded("done")
	if err := p.end(); err != nil {
		t.Error(err)
	}
	all := bodies()
	if last := all[len(all)-1]; !strings.Contains(last, "I begin") || !strings.Contains(last, "interrupted your previous answer") {
		t.Errorf("the model doesn't know: %s", last)
	}
}

// An interrupt right after a prompt stops that prompt, even if it hasn't begun. One without a prompt stops nothing.
func TestInterruptBeforeTheAnswer(t *testing.T) {
	url, _ := hanging(t)
	p := start(t, setup{url: url})
	p.succeed(`{"subtype":"interrupt"}`)
	p.user("go")
	p.succeed(`{"subtype":"interrupt"}`)
	p.failed("error_during_execution", "interrupted")
	p.user("please")
	p.succeeded("done")
}

// The end of the context, as by SIGTERM, ends the run at once, with a result.
func TestContextEnds(t *testing.T) {
	url, bodies := hanging(t)
	p := start(t, setup{url: url, partial: true})
	p.user("go")
	p.until("a delta", func(m object) bool { return strings.Contains(asJSON(m), "I begin") })
	p.cancel()
	p.failed("error_during_execution", "canceled")
	if err := p.wait(); err == nil || len(bodies()) != 1 {
		t.Errorf("%v after %d requests", err, len(bodies()))
	}
}

// A limit ends the run. Other errors don't.
func TestLimitsEndTheRun(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Status: 400, Raw: `{"error":{"message":"no good"}}`},
		calls("list_directory", object{"path": "."}), calls("list_directory", object{"path": "."}),
	))
	p := start(t, setup{url: server.URL, limits: session.Limits{Turns: 3}})
	p.user("go")
	p.failed("error_during_execution", "no good")
	p.user("go")
	p.failed("error_max_turns", "turns")
	if err := p.wait(); !errors.Is(err, agent.ErrTurnLimit) {
		t.Error(err)
	}
}

// Without a model each prompt fails, and so does the run.
func TestNoModel(t *testing.T) {
	p := start(t, setup{})
	p.user("go")
	p.failed("error_during_execution", "no model configured")
	if err := p.end(); !errors.Is(err, project.ErrModel) {
		t.Error(err)
	}
}

// Slash commands work, and those for a user are answered without a model's turn.
func TestSlashCommand(t *testing.T) {
	p := start(t, setup{})
	p.user("/help")
	if r := p.result(); r["is_error"] != false || !strings.HasPrefix(fmt.Sprint(r["result"]), "Slash commands, ") {
		t.Fatalf("result %v", r)
	}
	p.user("/nothing-such")
	p.failed("error_during_execution", "unknown command /nothing-such")
	if err := p.end(); err != nil {
		t.Errorf("no model was needed: %v", err)
	}
}

// If no one reads stdout anymore, the prompt stops.
func TestClosedOutput(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`+"\n\n")
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	p := start(t, setup{url: server.URL, partial: true})
	p.user("go")
	p.until("a delta", func(m object) bool { return strings.Contains(asJSON(m), "text_delta") })
	p.out.Close()
	for range p.messages {
	}
	if err := <-p.done; err == nil {
		t.Error("no error")
	}
}

// Messages that aren't prompts have a result as well, so that the program doesn't wait forever.
func TestBadPrompts(t *testing.T) {
	server := openaitest.Serve(t, says(openaitest.Answer{Expect: []string{`line one\nline two`, `{\"type\":\"odd\"}`, "data:image/png;base64,AAAA"}, Text: "ok"}))
	p := start(t, setup{url: server.URL, vars: map[string]string{"OPENAI_MODEL": "gpt-5"}})
	for _, c := range []struct{ message, want string }{
		{`7`, "message: expected an object"},
		{`{"role":"user"}`, "message.content: expected a text"},
		{`{"role":"user","content":""}`, "message.content: expected a text"},
		{`{"role":"user","content":[7]}`, "message.content[0]: expected a block"},
		{`{"role":"user","content":[{"type":"text","text":""}]}`, "message.content: no text"},
		{`{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"!"}}]}`, "message.content[0].source: expected media_type"},
	} {
		p.send(`{"type":"user","message":` + c.message + `}`)
		p.failed("error_during_execution", c.want)
	}
	p.send(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"line one"},{"type":"text","text":"line two"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"odd"}]}}`)
	p.succeeded("ok")
}

// An interrupt stops a running command. The call has a response, and the next prompt works.
func TestInterruptCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
	server := openaitest.Serve(t, says(
		calls("run_shell_command", object{"command": "touch began; sleep 600", "is_background": false}),
		openaitest.Answer{Expect: []string{"cancelled"}, Text: "ok"}))
	p := start(t, setup{url: server.URL, settings: `{"tools":{"approvalMode":"yolo","sandbox":"off"}}`})
	p.user("go")
	waittest.Until(t, "the command runs", func() bool {
		_, err := os.Stat(filepath.Join(p.dir, "began"))
		return err == nil
	})
	p.succeed(`{"subtype":"interrupt"}`)
	p.failed("error_during_execution", "interrupted")
	p.user("again")
	p.succeeded("ok")
}

// No user watches a model that repeats a call, so the prompt ends.
func TestRepeatedCalls(t *testing.T) {
	dir := project.Canonical(t.TempDir())
	script := says(calls("list_directory", object{"path": dir}))
	script.Repeat = true
	p := start(t, setup{url: openaitest.Serve(t, script).URL, dir: dir})
	p.user("go")
	p.failed("error_during_execution", agent.ErrStuck.Error())
}

// A turn that failed before the model answered continues without another prompt.
func TestContinueLastTurn(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Status: 403, Raw: `{"error":{"message":"not now"}}`},
		openaitest.Answer{Expect: []string{"the prompt"}, Text: "one"}))
	p := start(t, setup{url: server.URL})
	if r := p.request(`{"subtype":"continue_last_turn"}`); r["subtype"] != "error" {
		t.Errorf("before the first prompt: %v", r)
	}
	p.user("the prompt")
	p.failed("error_during_execution", "not now")
	p.succeed(`{"subtype":"continue_last_turn"}`)
	p.succeeded("one")
	if r := p.request(`{"subtype":"continue_last_turn"}`); !strings.Contains(fmt.Sprint(r["error"]), "the last answer is complete") {
		t.Errorf("after a complete answer: %v", r)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}
