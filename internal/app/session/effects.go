package session

import (
	"context"
	"slices"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/tool"
)

// around is Executor.Around: it records a call, finds what it changed, and runs the hooks that follow it. What these
// hooks change belongs to the call.
func (s *Session) around(ctx context.Context, q tool.Request, d tool.Decision,
	run func(context.Context) tool.Outcome) tool.Outcome {
	window := s.window(ctx, q, d)
	s.recorder.started(q, d)
	texts := s.hooks.starts(q.Call)
	o := run(ctx)
	found := window.After(ctx)
	o.Changes = s.tracker.List(found, s.isSecret)
	if s.hooks != nil {
		o, found = s.follow(ctx, q, o, found,
			func(o tool.Outcome) tool.Outcome { return s.hooks.after(ctx, q, o, texts) })
	}
	o = noted(o, found.Note(s.Tools.Roots()))
	s.recorder.finished(q, o, found)
	return o
}

// follow runs what follows a call. If the call changed files, so may what follows: that belongs to the call.
func (s *Session) follow(ctx context.Context, q tool.Request, o tool.Outcome, found undo.Found,
	then func(tool.Outcome) tool.Outcome) (tool.Outcome, undo.Found) {
	if len(found.Changes) == 0 {
		return then(o), found
	}
	q.Access = []tool.Access{tool.Anything}
	window := s.tracker.Before(ctx, q, tool.Decision{})
	o = then(o)
	found = found.Join(window.After(ctx))
	o.Changes = s.tracker.List(found, s.isSecret)
	return o, found
}

// isSecret reports whether nothing about the content of a file may be told.
func (s *Session) isSecret(path string) bool {
	return s.Policy.Hides(path, func() bool { return false })
}

// window returns the detector for the changes of a call. For a tried call, they are known.
func (s *Session) window(ctx context.Context, q tool.Request, d tool.Decision) *undo.Window {
	writes := func(a tool.Access) bool { return a.Verb == tool.Writes || a == tool.Nothing }
	if s.recorder != nil && s.recorder.wasTried(q.Call) &&
		!slices.ContainsFunc(q.Access, func(a tool.Access) bool { return !writes(a) }) {
		return s.tracker.Keeping(q)
	}
	return s.tracker.Before(ctx, q, d)
}
