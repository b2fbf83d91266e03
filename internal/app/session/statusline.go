package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/trust"
)

// statusLineTime is how long the command of the status line can take.
const statusLineTime = 5 * time.Second

// statusLine is the command of ui.statusLine.
type statusLine struct {
	runner    *hook.Runner // nil: there is no command
	unchanged func() error // the files of the project that it names are as they were
}

// openStatusLine prepares the command of ui.statusLine. It runs as hooks do.
func (s *Session) openStatusLine() {
	if command := s.Settings.UI.StatusLine.Command; command != "" {
		s.statusLine = statusLine{hook.Open(s.hookOptions()), trust.Unchanged(command, s.Directory.Path)}
	}
}

// hookOptions returns how hooks and other commands of settings run.
func (s *Session) hookOptions(hooks ...hook.Hook) hook.Options {
	return hook.Options{
		Hooks: hooks, Dir: s.Directory.Path, Environ: append(slices.Clip(s.Env.ProgramEnviron()), discover.Nested+"=1"),
		Helper: s.Env.Helper, State: filepath.Join(s.Directory.Home, "run"), Tell: s.Env.Notice,
		AllowHost: s.allowsHost, Ask: s.answer,
	}
}

// StatusLine runs the command of ui.statusLine with an input, and returns the first line of its output.
func (s *Session) StatusLine(ctx context.Context, input any) (string, error) {
	if err := s.statusLine.unchanged(); err != nil {
		return "", err
	}
	out, err := s.statusLine.runner.Print(ctx, s.Settings.UI.StatusLine.Command, statusLineTime, input)
	line, _, _ := strings.Cut(strings.TrimLeft(out, "\n"), "\n")
	if err == nil && (!utf8.ValidString(line) || strings.Contains(line, "\x00")) {
		return "", errors.New("its output is not text")
	}
	return line, err
}
