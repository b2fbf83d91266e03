package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
)

// The window of a model is what settings say, then what its server listed, then what its name suggests.
func TestWindow(t *testing.T) {
	provider := settings.Provider{ID: "claude-own"}
	provider.Config.Window = 5_000
	for _, tt := range []struct {
		name   string
		set    int
		listed int
		want   int
	}{
		{"nobody-knows", 0, 0, 128_000},
		{"claude-x", 0, 0, 200_000},
		{"claude-x", 0, 4_000, 4_000},
		{"claude-x", 9_000, 4_000, 9_000},
		{"claude-x", -1, 0, 200_000},
		{"claude-own", 9_000, 4_000, 5_000},
	} {
		m := &Models{settings: &settings.Settings{Model: settings.Model{
			Window: tt.set, Providers: map[string][]settings.Provider{"openai": {provider}},
		}}}
		m.learn([]api.Info{{ID: tt.name, ContextWindow: tt.listed}, {ID: "other", ContextWindow: 1}})
		if got := m.window(tt.name); got != tt.want {
			t.Errorf("%s, set %d, listed %d: %d, want %d", tt.name, tt.set, tt.listed, got, tt.want)
		}
	}
}

// /compress replaces the conversation by a summary that compactionModel writes. What had changed since the system prompt is
// sent again, because the messages about it are gone.
func TestCompress(t *testing.T) {
	server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Text: strings.Repeat("A long answer. ", 400)},
		{Expect: []string{"Plan mode is on"}, Text: "two"},
		{Expect: []string{`"model":"small"`, "Write a summary", "A long answer."}, Text: "The task is to compress."},
		{Expect: []string{`"model":"large"`, "The task is to compress.", "first prompt:\\nfirst", "third"}, Absent: []string{"A long answer."}, Text: "three"},
		{Expect: []string{"Plan mode is on", "fourth"}, Text: "four"},
	}})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"compactionModel":"small","model":{"name":"large"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Env{HasUser: true, Home: home, Getenv: func(name string) string {
		return map[string]string{"ADZE_HOME": home, "OPENAI_BASE_URL": server.URL}[name]
	}}, Options{Dir: Canonical(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	compress := func(want string) {
		t.Helper()
		x, ok, err := s.Expand(t.Context(), "/compress")
		if err != nil || !ok || !strings.HasPrefix(x.Print, want) {
			t.Errorf("%+v, %v, %v", x, ok, err)
		}
	}
	compress("Nothing to compact: the conversation has not started.")
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var events []agent.Compacted
	c := s.Converse(t.Context(), ConversationOptions{Model: m, Observe: func(e agent.Event) {
		if done, ok := e.(agent.Compacted); ok {
			events = append(events, done)
		}
	}})
	compress("nothing to compact yet")
	for _, prompt := range []string{"first", "second", "", "third", "fourth"} {
		if prompt == "" {
			compress("compacted the conversation from ")
			continue
		}
		if prompt == "second" {
			s.Policy.SetMode(permission.Plan)
		}
		if _, err := c.Run(t.Context(), model.Text(prompt)); err != nil {
			t.Fatal(err)
		}
	}
	if len(events) != 1 || events[0].Summary != "The task is to compress." {
		t.Errorf("events %+v", events)
	}
	if tokens, window := c.Context(); tokens <= 0 || window != 128_000 {
		t.Errorf("%d tokens of %d", tokens, window)
	}
}
