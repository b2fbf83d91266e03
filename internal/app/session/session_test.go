package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// front is a minimal front end: a directory, settings, and the messages to the user.
type front struct {
	dir, home string
	vars      map[string]string
	told      []string
}

func newFront(t *testing.T, settings string) *front {
	t.Helper()
	f := &front{dir: project.Canonical(t.TempDir()), home: t.TempDir()}
	f.vars = map[string]string{"ADZE_HOME": f.home, "ADZE_LOCAL_MODELS": "off"}
	if err := os.WriteFile(filepath.Join(f.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *front) open(t *testing.T, o session.Options) (*session.Session, error) {
	t.Helper()
	o.Dir = f.dir
	s, err := session.Open(project.Env{
		Home: f.home, Getenv: func(name string) string { return f.vars[name] },
		Tell: func(note string) { f.told = append(f.told, note) },
	}, o)
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

// A front end needs nothing of the command line: it opens a session, says how a user is asked, and talks.
func TestAnyFrontEndCanTalk(t *testing.T) {
	f := newFront(t, `{"permissions":{"allow":["Nonsense("]}}`)
	path := filepath.Join(f.dir, "a.txt")
	args, err := json.Marshal(map[string]string{"file_path": path, "content": "text\n"})
	if err != nil {
		t.Fatal(err)
	}
	server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Expect: []string{"note: hello"}, Calls: []openaitest.Call{{ID: "1", Name: "write_file", Args: args}}},
		{Text: "done"},
	}})
	f.vars["OPENAI_BASE_URL"], f.vars["OPENAI_MODEL"] = server.URL, "m"
	if err := os.WriteFile(filepath.Join(f.dir, "note"), []byte("note: hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := f.open(t, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s.Executor.Ask = s.Asking(func(context.Context, *approval.Question) (tool.Decision, error) {
		asked++
		return tool.Decision{Verdict: tool.Allow}, nil
	})
	m, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Outside.WaitLikely(t.Context())
	parts, err := s.Attachments.PromptParts(t.Context(), "copy @note", "copy @note")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Converse(t.Context(), session.ConversationOptions{Model: m}).Run(t.Context(), parts...)
	if err != nil || answer.Text != "done" || asked != 1 {
		t.Errorf("%+v, %v, asked %d times", answer, err, asked)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "text\n" {
		t.Errorf("%q, %v", text, err)
	}
	if told := strings.Join(f.told, "\n"); !strings.Contains(told, "Nonsense(") || strings.Contains(told, "adze: ") {
		t.Errorf("told %q", told)
	}
}

// A second Close, such as that of a front end and of a deferred call, used to panic.
func TestCloseTwice(t *testing.T) {
	for _, record := range []*recording.Options{nil, {}} {
		s, err := newFront(t, `{}`).open(t, session.Options{Record: record}) // whose cleanup is the third
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Front ends distinguish errors by their kinds, and show their texts unchanged.
func TestKindsOfMistakes(t *testing.T) {
	open := func(settings string, o session.Options, more func(*session.Session) error) error {
		s, err := newFront(t, settings).open(t, o)
		if err == nil {
			err = more(s)
		}
		return err
	}
	for _, c := range []struct {
		kind project.Kind
		text string
		err  error
	}{
		{project.ErrDirectories, "/no/such/folder", open(`{}`, session.Options{AddDirs: []string{"/no/such/folder"}}, nil)},
		{project.ErrRules, "read the rules in settings: ", open(`{"permissions":{"deny":["Nonsense("]}}`, session.Options{}, nil)},
		{project.ErrModel, "no model configured", open(`{}`, session.Options{}, func(s *session.Session) error {
			_, err := s.Models.Open(t.Context())
			return err
		})},
		{project.ErrPrompt, "unknown command /nothing-such\nSee /help.", open(`{}`, session.Options{}, func(s *session.Session) error {
			_, _, err := slash.New(s, 0).Expand(t.Context(), "/nothing-such")
			return err
		})},
	} {
		if !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: got %v, want %q", c.kind, c.err, c.text)
		}
	}
}

// helper keeps and sandboxes the commands of the tests.
var helper builtin.Helper

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "scripted-server" {
		serveScripted()
		return
	}
	helper = builtin.Main()
	os.Exit(plainadze.Run(func(path string) { helper = builtin.Helper(proc.HelperAt(path)) }, m.Run))
}
