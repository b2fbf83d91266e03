package headless_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// sketch returns a message in a few words.
func sketch(m object) string {
	e, ok := m["event"].(object)
	if !ok {
		return fmt.Sprint(m["type"])
	}
	s := fmt.Sprint(e["type"])
	if i, ok := e["index"]; ok {
		s += fmt.Sprint(" ", i)
	}
	for _, key := range []string{"content_block", "delta"} {
		if part, ok := e[key]; ok {
			s += " " + asJSON(part)
		}
	}
	return s
}

// Pieces come in the order in which the model sends them, each block begins and ends, and the message follows.
func TestPartialMessages(t *testing.T) {
	server := openaitest.Serve(t, says(
		openaitest.Answer{Thought: "hm", Text: "I <look>", Faults: openaitest.Faults{Split: 4}, Calls: []openaitest.Call{
			{ID: "1", Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)}, {ID: "2", Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)},
		}},
		openaitest.Answer{Text: "done"}))
	p := start(t, setup{url: server.URL, partial: true})
	p.user("go")
	p.succeeded("done")
	var got []string
	for _, m := range p.seen {
		got = append(got, sketch(m))
	}
	want := []string{
		"system", "message_start",
		`content_block_start 0 {"thinking":"","type":"thinking"}`, `content_block_delta 0 {"thinking":"hm","type":"thinking_delta"}`, "content_block_stop 0",
		`content_block_start 1 {"text":"","type":"text"}`, `content_block_delta 1 {"text":"I \u003cl","type":"text_delta"}`,
		`content_block_delta 1 {"text":"ook\u003e","type":"text_delta"}`, "content_block_stop 1",
		`content_block_start 2 {"id":"1","input":{},"name":"list_directory","type":"tool_use"}`,
		`content_block_delta 2 {"partial_json":"{\"path\":\".\"}","type":"input_json_delta"}`, "content_block_stop 2",
		`content_block_start 3 {"id":"2","input":{},"name":"list_directory","type":"tool_use"}`,
		`content_block_delta 3 {"partial_json":"{\"path\":\".\"}","type":"input_json_delta"}`, "content_block_stop 3",
		"assistant", "message_stop", "user",
		"message_start", `content_block_start 0 {"text":"","type":"text"}`, `content_block_delta 0 {"text":"done","type":"text_delta"}`, "content_block_stop 0",
		"assistant", "message_stop", "result",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	first := p.seen[1]["event"].(object)["message"].(object)
	if whole := p.all("assistant")[0]["message"].(object); first["id"] != whole["id"] || first["model"] != "m" {
		t.Errorf("%v begins %v", first, whole)
	}
}

// A partial event costs less than 20 µs.
func BenchmarkPartialEvent(b *testing.B) {
	home := b.TempDir()
	s, err := session.Open(project.Env{Home: home, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home}[name] }},
		session.Options{Dir: project.Canonical(b.TempDir())})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	p := headless.NewPrinter(headless.PrinterOptions{W: io.Discard, Session: s, Stream: true, Partial: true})
	p.Event(agent.Began{Turn: 1})
	text := agent.Said{Event: model.Text(strings.Repeat("word ", 4))}
	b.ReportAllocs()
	for b.Loop() {
		p.Event(text)
	}
}
