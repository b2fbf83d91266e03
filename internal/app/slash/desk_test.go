package slash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// helper runs the commands of the tests.
var helper builtin.Helper

func TestMain(m *testing.M) {
	helper = builtin.Main()
	os.Exit(plainadze.Run(func(path string) { helper = builtin.Helper(proc.HelperAt(path)) }, m.Run))
}

// desk is where sessions of a test run: one home, one project, one model.
type desk struct {
	home, dir string
	server    *openaitest.Server
}

func newDesk(t *testing.T, answers ...openaitest.Answer) *desk {
	return &desk{
		home: project.Canonical(t.TempDir()), dir: project.Canonical(t.TempDir()),
		server: openaitest.Serve(t, openaitest.Script{Answers: answers}),
	}
}

func (d *desk) try(o *recording.Options) (*session.Session, error) {
	return session.Open(project.Env{
		HasUser: true, Home: d.home, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home}, Helper: helper,
		Getenv: func(name string) string { return map[string]string{"ADZE_HOME": d.home}[name] },
	}, session.Options{Dir: d.dir, Record: o})
}

// open opens a session in which the user approves everything, and its conversation.
func (d *desk) open(t *testing.T, o *recording.Options) (*session.Session, *session.Conversation) {
	t.Helper()
	s, err := d.try(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: d.server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return s, s.Converse(t.Context(), session.ConversationOptions{Model: m})
}

func (d *desk) say(t *testing.T, c *session.Conversation, prompt string) {
	t.Helper()
	if _, err := c.Run(t.Context(), model.Text(prompt)); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// holds reports whether a file has that content; "": it doesn't exist.
func (d *desk) holds(t *testing.T, name, content string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(got) != content {
		t.Errorf("%s is %q, want %q (%v)", name, got, content, err)
	}
}

func call(id, name string, args any) openaitest.Call {
	raw, _ := json.Marshal(args)
	return openaitest.Call{ID: id, Name: name, Args: raw}
}

// shellCall returns an answer that runs a command.
func shellCall(id, command string) openaitest.Answer {
	return openaitest.Answer{Calls: []openaitest.Call{{ID: id, Name: "run_shell_command", Args: fmt.Appendf(nil, `{"command":%q}`, command)}}}
}

func skipWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
}
