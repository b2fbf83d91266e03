package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// converse opens a session's conversation with a scripted model.
func converse(t *testing.T, o session.ConversationOptions, answers ...openaitest.Answer) (*session.Session, *session.Conversation) {
	t.Helper()
	f := newFront(t, `{"tools":{"approvalMode":"yolo"}}`)
	server := openaitest.Serve(t, openaitest.Script{Answers: answers})
	f.vars["OPENAI_BASE_URL"], f.vars["OPENAI_MODEL"] = server.URL, "m"
	s, err := f.open(t, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Model = m
	return s, s.Converse(t.Context(), o)
}

// One conversation serves a whole session. After Reset the old history, and after SetModel the old model, are not used, but
// a background subagent still reports, steps are still observed, and a server can count its calls from call_0 again.
func TestOneConversation(t *testing.T) {
	list := openaitest.Call{ID: "call_0", Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)}
	task := openaitest.Call{ID: "call_0", Name: "task", Args: json.RawMessage(`{"description":"look","prompt":"Look behind.","run_in_background":true}`)}
	done := 0
	hold, release := context.WithCancel(t.Context())
	defer release() // or Close waits for the subagent
	s, c := converse(t, session.ConversationOptions{
		Observe: func(e agent.Event) {
			if step, ok := e.(agent.Step); ok && step.Stage == tool.Done {
				done++
			}
		},
		Below: func(agent.Member, agent.Event) { <-hold.Done() },
	},
		openaitest.Answer{When: "begin", Calls: []openaitest.Call{task}}, openaitest.Answer{When: "begin", Text: "one"},
		openaitest.Answer{When: "Look behind.", Text: "found it"},
		openaitest.Answer{When: "afresh", Absent: []string{"begin"}, Expect: []string{`"model":"other"`}, Calls: []openaitest.Call{list}},
		openaitest.Answer{When: "afresh", Absent: []string{"already used"}, Text: "two"},
		openaitest.Answer{Text: "three", Expect: []string{"found it", `"model":"m"`}},
	)
	if answer, err := c.Turn(t.Context(), model.Text("begin")); err != nil || answer.Text != "one" {
		t.Fatalf("%+v, %v", answer, err)
	}
	release()
	select {
	case <-c.Wake():
	case <-time.After(2 * time.Minute):
		t.Fatal("a finished subagent wakes no one")
	}
	c.Reset(nil)
	other, err := s.Models.Switch(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	c.SetModel(other)
	back, err := s.Models.Switch(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	c.SetModel(back)
	reported, err := c.Turn(t.Context())
	if err != nil || reported.Text != "three" {
		t.Fatalf("%+v, %v", reported, err)
	}
	if again, err := c.Turn(t.Context()); err != nil || again.Turns != 0 {
		t.Errorf("nothing was left to report: %+v, %v", again, err)
	}
	c.Reset(nil)
	c.SetModel(other)
	if answer, err := c.Turn(t.Context(), model.Text("afresh")); err != nil || answer.Text != "two" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if h := c.History(); len(h) != 4 || h[0].Text() != "afresh" {
		t.Errorf("%d messages", len(h))
	}
	if done != 2 {
		t.Errorf("%d calls were observed", done)
	}
}

// The system prompt of a reset conversation is that of the time of the Reset: plan mode is in it, not in a message.
func TestResetSystemPrompt(t *testing.T) {
	s, c := converse(t, session.ConversationOptions{},
		openaitest.Answer{Text: "one", Absent: []string{"Plan mode is on"}},
		openaitest.Answer{Text: "two", Expect: []string{"Plan mode is on"}})
	if _, err := c.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMode("plan"); err != nil {
		t.Fatal(err)
	}
	c.Reset([]model.Message{model.Prompt("before"), {Role: model.Assistant, Parts: []model.Part{model.Text("yes")}}})
	if _, err := c.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range c.History() {
		texts = append(texts, m.Text())
	}
	if got := strings.Join(texts, ","); got != "before,yes,go,two" {
		t.Error(got)
	}
}

// A second conversation in a session is a mistake of the program.
func TestConverseTwice(t *testing.T) {
	s, _ := converse(t, session.ConversationOptions{})
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	s.Converse(t.Context(), session.ConversationOptions{Model: m})
}

// A change of mode doesn't change earlier parts of the request: the model gets a message, so servers can reuse the start of
// the request.
func TestModeIsAMessage(t *testing.T) {
	f := newFront(t, `{}`)
	server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Text: "one", Absent: []string{"Plan mode is"}}, {Text: "two", Expect: []string{"Plan mode is on"}},
		{Text: "three", Expect: []string{"Plan mode is off"}},
	}})
	f.vars["OPENAI_BASE_URL"], f.vars["OPENAI_MODEL"] = server.URL, "m"
	s, err := f.open(t, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := s.Converse(t.Context(), session.ConversationOptions{Model: m})
	for _, mode := range []string{"default", "plan", "auto-edit"} {
		if err := s.SetMode(mode); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Turn(t.Context(), model.Text("go")); err != nil {
			t.Fatal(err)
		}
	}
	requests := server.Requests()
	for i, r := range requests[1:] {
		before := requests[i].Body
		end := strings.Index(before, `"tools":`) // after the messages
		if end < 0 || !strings.HasPrefix(r.Body, before[:end-2]) {
			t.Errorf("request %d doesn't begin with the one before:\n%s\n%s", i+2, before[:max(0, end-2)], r.Body)
		}
		tools := before[end : strings.Index(before, `"stream"`)-1]
		if !strings.Contains(r.Body, tools) {
			t.Errorf("request %d has other tools", i+2)
		}
	}
}
