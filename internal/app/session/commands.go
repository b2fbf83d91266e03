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
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/trust"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
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
func (s *Session) hookOptions(given ...hook.Hook) hook.Options {
	o := hook.Options{
		Hooks: given, Dir: s.Directory.Path, Environ: append(slices.Clip(s.Env.ProgramEnviron()), discover.Nested+"=1"),
		Helper: hook.Helper(s.Env.Helper), State: filepath.Join(s.Directory.Home, "run"), Tell: s.Env.Notice,
		AllowHost: s.allowsHost, Ask: s.answer,
	}
	if s.telemetry != nil {
		o.Trace = s.telemetry.Hook
	}
	return o
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

// openHooks reads the hooks of settings and plugins.
func (s *Session) openHooks() (err error) {
	if s.HookList, err = hooks.Read(s.Settings.Hooks, s.Definitions.Plugins, s.Directory); err != nil {
		return err
	}
	var all []hook.Hook
	for _, l := range s.HookList {
		all = append(all, l.Hook)
	}
	if len(all) > 0 {
		s.AddHooks(all...)
	}
	return nil
}

// AddHooks adds hooks to those of settings: functions of a program that embeds the session, or of its client. It must
// be called before the first call.
func (s *Session) AddHooks(more ...hook.Hook) {
	if s.hooks != nil {
		s.hooks.Add(more...)
		return
	}
	to := hooks.Session{
		ID: s.ID, Directory: s.Directory, Env: s.Env, Policy: s.Policy, Registry: s.Executor.Registry, Tools: s.Tools,
		Memory: func() []contextfiles.File { return s.Definitions.Memory().Files }, Secret: s.Effects.Secret,
		StopCap: s.Settings.Hooks.StopBlockingCap,
	}
	if s.Recorder != nil {
		to.Transcript = record.Of(s.Directory).Path(s.ID)
	}
	s.hooks = hooks.New(to, hook.Open(s.hookOptions(more...)))
	s.Executor.Before, s.Executor.Proposed, s.Executor.Unrun = s.hooks.Before, s.hooks.Proposed, s.hooks.Unrun
	s.Effects.Hooks = s.hooks
}

// allowsHost reports whether an allow rule lets hooks send requests to a host.
func (s *Session) allowsHost(host string) bool {
	for _, t := range s.Tools.All() {
		d := t.Declaration()
		if d.Kind != tool.Fetch {
			continue
		}
		verdict := s.Policy.Judge(tool.Request{Declaration: d, Invocation: tool.Invocation{
			Access: []tool.Access{{Verb: tool.Reaches, Target: host}},
		}})
		if verdict.Verdict == tool.Allow && verdict.Cause.Kind == tool.ByRule {
			return true
		}
	}
	return false
}

// answer asks the model a question of a hook, in a separate request.
func (s *Session) answer(ctx context.Context, prompt string) (string, error) {
	a, err := s.Models.Sample(ctx, discover.Sampling{MaxTokens: 2000, Messages: []discover.SamplingMessage{
		{Role: string(model.User), Content: tool.Text(s.Tools.Mask(prompt))},
	}})
	return a.Text, err
}
