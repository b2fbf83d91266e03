// Package child runs the session of one task, in its own process that has neither the queue's credentials nor a key.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/fleet/internal/pipe"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// Env is the environment of the process.
type Env struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Helper  builtin.Helper
	Version string
}

// exitGone is the exit code of a child whose worker has exited.
const exitGone = 4

// Run works on the task that the worker sends.
func Run(ctx context.Context, env Env) error {
	w, b, err := connect(env.In, env.Out, func() { os.Exit(exitGone) })
	if err != nil {
		return err
	}
	end := work(ctx, env, w, b)
	_, err = w.ask(pipe.Request{End: &end})
	return err
}

func work(ctx context.Context, env Env, w *worker, b pipe.Begin) pipe.End {
	s, m, err := open(ctx, env, w, b)
	if err != nil {
		return failed(err)
	}
	defer s.Close()
	earlier := s.Resumed.Earlier()
	begun := len(earlier) > 0
	if begun && !s.Unanswered() { // only the result is missing
		return pipe.End{Why: pipe.Finished, Text: earlier[len(earlier)-1].Text()}
	}
	talk := s.Converse(ctx, session.ConversationOptions{Model: m, Limits: session.Limits{Turns: b.Turns, Wall: b.Wall}, Unattended: true})
	prompt := b.Prompt
	if begun {
		prompt = b.Note
	}
	answer, err := talk.Run(ctx, model.Text(prompt))
	end := pipe.End{Why: pipe.Finished, Text: answer.Text, Turns: answer.Turns, Denied: len(answer.Denied)}
	if err == nil {
		return end
	}
	end.Why, end.Error = why(err), err.Error()
	return end
}

func why(err error) pipe.Why {
	switch {
	case errors.Is(err, agent.ErrWallTime):
		return pipe.Timeout
	case errors.Is(err, agent.ErrTurnLimit), errors.Is(err, agent.ErrCallLimit), errors.Is(err, agent.ErrTokenLimit):
		return pipe.Limit
	}
	return pipe.Failed
}

func failed(err error) pipe.End { return pipe.End{Why: pipe.Failed, Error: err.Error()} }

// open opens the session, and the model behind the worker's gateway.
func open(ctx context.Context, env Env, w *worker, b pipe.Begin) (*session.Session, model.Model, error) {
	state, err := journal.Fold(func(yield func(journal.Entry, error) bool) {
		for _, e := range b.Entries {
			if !yield(e, nil) {
				return
			}
		}
	}, w)
	if err != nil {
		return nil, nil, fmt.Errorf("read the journal: %w", err)
	}
	home, err := homedir.Dir()
	if err != nil {
		return nil, nil, err
	}
	s, err := session.Open(project.Env{
		Getenv: getenv, Helper: env.Helper, Home: home, Version: env.Version, Tell: func(note string) { fmt.Fprintln(env.Err, note) },
	}, session.Options{Dir: project.Canonical(b.Dir), Flags: flags(b), Record: &recording.Options{
		ID: b.Session, Elsewhere: &recording.Elsewhere{Log: w, Blobs: w, State: state},
	}})
	if err != nil {
		return nil, nil, err
	}
	m, err := models.OpenModel(ctx, b.Model.API, api.Options{
		BaseURL: b.Model.URL, Key: b.Model.Token, Model: b.Model.Name, Sampling: b.Model.Sampling, Extra: b.Model.Extra,
		KeyName: "the worker's key", URLName: "the worker's model server",
	})
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, m, nil
}

// getenv reads the environment without a collector: the worker sends the traces, and a task must not name another one.
func getenv(name string) string {
	if name == "OTEL_SDK_DISABLED" {
		return "true"
	}
	return os.Getenv(name)
}

// flags returns the settings of the worker for this run.
func flags(b pipe.Begin) []settings.Flag {
	fs := []settings.Flag{{Name: "--chat-recording", Key: "general.chatRecording", Value: "true"}}
	if b.Mode != "" {
		fs = append(fs, settings.Flag{Name: "--approval-mode", Key: "tools.approvalMode", Value: b.Mode})
	}
	if b.Sandbox != "" {
		fs = append(fs, settings.Flag{Name: "--sandbox", Key: "tools.sandbox", Value: b.Sandbox})
	}
	if len(b.Pass) > 0 {
		fs = append(fs, settings.Flag{Name: "--pass-env", Key: "tools.shell.passEnv", List: b.Pass})
	}
	return fs
}
