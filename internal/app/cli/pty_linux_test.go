package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// seat is a user in front of a terminal, with their own project and settings.
type seat struct {
	*ptytest.Terminal
	dir, home string
	env       map[string]string
}

func takeSeat(t *testing.T, settings string) *seat {
	t.Helper()
	s := &seat{Terminal: ptytest.Open(t), dir: project.Canonical(t.TempDir()), home: t.TempDir(), env: map[string]string{"TERM": "xterm"}}
	if err := os.WriteFile(filepath.Join(s.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// environment is that of a program which runs there.
func (s *seat) environment(model *openaitest.Server, args ...string) Env {
	return Env{
		Args: args, Stdin: s.TTY, Stdout: s.TTY, Stderr: s.TTY, Dir: s.dir, Home: s.home, Terminal: true, Version: "test",
		Getenv: func(name string) string {
			switch {
			case name == "ADZE_HOME":
				return s.home
			case name == "OPENAI_BASE_URL" && model != nil:
				return model.URL
			}
			return s.env[name]
		},
	}
}

// begin runs adze at the terminal, and gives its exit code when it ends.
func (s *seat) begin(t *testing.T, model *openaitest.Server, args ...string) <-chan int {
	code := make(chan int, 1)
	go func() {
		exit := Run(t.Context(), s.environment(model, args...))
		s.End()
		code <- exit
	}()
	return code
}

func (s *seat) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// writes is an answer that writes files, each with its own call.
func (s *seat) writes(names ...string) openaitest.Answer {
	var a openaitest.Answer
	for i, name := range names {
		args := fmt.Sprintf(`{"file_path":%q,"content":"text\n"}`, filepath.Join(s.dir, name))
		a.Calls = append(a.Calls, openaitest.Call{ID: fmt.Sprint("w", i), Name: "write_file", Args: []byte(args)})
	}
	return a
}
