package session

import (
	"context"
	"path/filepath"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// SetMode changes the approval mode and has open questions judged again. The model is informed before its next turn.
func (s *Session) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	s.Policy.SetMode(m)
	s.Executor.Rejudge()
	s.Recorder.Mode(m.String())
	return nil
}

// denyAll returns the asker of a non-interactive session. It denies every call that requires approval.
func (s *Session) denyAll(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return s.hooks.Asking(ctx, r, why, s.denyWithoutApproval)
}

func (s *Session) denyWithoutApproval(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return tool.Decision{}, tool.Unapproved(r, why, "this session is non-interactive", s.Policy.Flags(r)...)
}

// Asking makes the questions for a front end. They apply and save rules that the user chooses.
func (s *Session) Asking(front approval.Front) tool.Asker {
	return s.AskingWith(approval.Rules{
		Policy: s.Policy,
		Save: func(scope approval.Scope, offer string) (string, error) {
			return s.Directory.SaveRule(project.Scope(scope), offer)
		},
		Sandbox: s.Settings.Tools.Sandbox,
	}.Asker(front))
}

// AskingWith returns an asker that first runs hooks and prepares undo. Its questions show what has changed in a tool
// since the user approved it.
func (s *Session) AskingWith(ask tool.Asker) tool.Asker {
	versions := approval.OpenVersions(filepath.Join(s.Directory.MCPState(), "approved.json"))
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		s.Effects.Prepare(context.WithoutCancel(ctx), r.Access)
		shown := r
		if old := s.Policy.Outdated(r); old != "" && !r.MustAsk {
			shown.Confirm = versions.Confirm(old, r)
		}
		d, err := s.hooks.Asking(ctx, shown, why, ask)
		if err == nil && d.Remember != "" && r.Declaration.Fingerprint != "" {
			versions.Add(r.Declaration)
		}
		return d, err
	}
}
