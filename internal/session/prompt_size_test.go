package session

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
)

// What every turn carries is paid for with every turn: the system prompt and all declarations together.
func TestWhatEveryTurnCarriesIsSmall(t *testing.T) {
	s, err := Open(Env{HasUser: true, Home: t.TempDir(), Getenv: func(string) string { return "" }}, Options{Dir: Canonical(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	size := len(agent.SystemPrompt(agent.Surroundings{Workspace: s.Folder.Path, Date: time.Now()}))
	for _, d := range s.Executor.Registry.All() {
		b, err := json.Marshal(function{d.Name, d.Description, d.Parameters})
		if err != nil {
			t.Fatal(err)
		}
		size += len(b)
	}
	t.Logf("%d bytes", size)
	if size > 20_000 {
		t.Errorf("system prompt and declarations have %d bytes, over 20,000", size)
	}
}

// Without a user, the system prompt says that the session is non-interactive.
func TestSystemPromptWithoutAUser(t *testing.T) {
	for _, user := range []bool{true, false} {
		s, err := Open(Env{HasUser: user, Home: t.TempDir(), Getenv: func(string) string { return "" }}, Options{Dir: Canonical(t.TempDir())})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if said := strings.Contains(s.system(), "This session is non-interactive: no user can answer questions or approve calls."); said == user {
			t.Errorf("with a user %v: non-interactive %v", user, said)
		}
	}
}
