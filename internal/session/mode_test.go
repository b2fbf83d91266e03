package session_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A user who changes the mode doesn't change what was sent before: the model gets a message, so servers can reuse the
// start of the request.
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
