package session

import (
	"context"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/telemetry"
	"github.com/adze-dev/adze/internal/engine/otlp"
)

// openTelemetry opens what reports the session to a collector, if there is one.
func (s *Session) openTelemetry() (err error) {
	mask := func(text string) string { return s.Tools.Mask(text) }
	if s.telemetry, err = telemetry.Open(s.Env, s.Settings, s.ID, mask); err != nil {
		return project.Errorf(project.ErrRules, "telemetry: %v", err)
	}
	if s.telemetry != nil {
		s.Models.Watch = s.telemetry.Stream
		s.Env.Environ = models.WithoutKeys(s.Env.Environ, s.Settings.Model, otlp.Headers) // they may have credentials
	}
	return nil
}

// finished is called after a subagent has finished.
func (s *Session) finished(ctx context.Context, m agent.Member, a agent.Answer) {
	s.hooks.Ended(ctx, m, a)
	s.telemetry.Finished(m)
}
