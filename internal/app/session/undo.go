package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// track returns the tracker of changes.
func (s *Session) track(elsewhere bool) *undo.Tracker {
	u := s.Settings.Undo
	return undo.New(undo.Options{
		Home: project.Canonical(s.Directory.Home), Session: s.ID, Roots: s.Tools.Roots(), Jobs: s.Tools.Running,
		Watch: &s.watch, Sums: s.Tools.Sums(), Unrecorded: s.recorder == nil || elsewhere,
		Limits: undo.Limits{FileBytes: max(u.MaxFileBytes, 0), Bytes: max(u.MaxBytes, 0), Files: max(u.MaxFiles, 1)},
	})
}

// Unwatched returns why the changes of commands can't be found by watching directories; "": they can.
func (s *Session) Unwatched(ctx context.Context) (why string, err error) {
	return s.track(false).Unwatched(ctx)
}

// kept records the changes of a tried call.
func (s *Session) kept(c tool.Call, paths []builtin.KeptPath) {
	all := make([]undo.KeptPath, len(paths))
	for i, p := range paths {
		all[i] = undo.KeptPath(p)
	}
	s.tracker.Kept(undo.Ref{By: c.By, ID: c.ID}, all)
}

// give records the changes of background commands.
func (r *recorder) give(f undo.Found) {
	if r == nil {
		return
	}
	for call, job := range f.Jobs {
		r.write(call.By, journal.Changed{
			ID: call.ID, Changes: undo.Journaled(job.Changes), Unsaved: undo.JournaledLost(job.Lost), Ended: job.Ended,
		})
	}
}

// noted adds a note to the result of an outcome.
func noted(o tool.Outcome, note string) tool.Outcome {
	if note == "" {
		return o
	}
	return added(o, "Note: "+note)
}

// added adds lines to the result of an outcome.
func added(o tool.Outcome, text string) tool.Outcome {
	if text == "" {
		return o
	}
	note := "\n" + text
	o.Result.Content = slices.Clone(o.Result.Content)
	if n := len(o.Result.Content); n > 0 {
		if text, ok := o.Result.Content[n-1].(tool.Text); ok {
			o.Result.Content[n-1] = tool.Text(bytes.TrimSuffix([]byte(text), []byte("\n"))) + tool.Text(note)
			return o
		}
	}
	o.Result.Content = append(o.Result.Content, tool.Text(note[1:]))
	return o
}

// closeTracker drops saved contents that no journal entry names.
func (s *Session) closeTracker() error {
	return s.tracker.Close(func() (map[string]bool, error) { return record.Of(s.Directory).UndoNames(s.ID) })
}

// Undo plans an undo in this session.
func (s *Session) Undo(sel record.Selection) (*record.Undo, error) {
	if !s.Sync() {
		return nil, record.Errorf("this session isn't recorded, so nothing can be undone")
	}
	store, err := s.tracker.Store()
	if err != nil {
		return nil, err
	}
	return record.Of(s.Directory).PlanUndo(s.ID, sel, store, s.tellLater, func(d journal.Data) error {
		s.recorder.write("", d)
		s.recorder.sync()
		return nil
	})
}

// Differ shows changes of a recorded session, with its store, as patches.
func (s *Session) Differ(store *undo.Store) undo.Differ {
	return undo.Differ{Store: store, Dir: project.Canonical(s.Directory.Path), Secret: s.isSecret}
}

// Diff returns what this session, or one of its calls, changed.
func (s *Session) Diff(call string) (record.Diff, undo.Differ, error) {
	if !s.Sync() {
		return record.Diff{}, undo.Differ{}, record.Errorf("this session isn't recorded, so its changes aren't known")
	}
	store, err := s.tracker.Store()
	if err != nil {
		return record.Diff{}, undo.Differ{}, err
	}
	d, err := record.Of(s.Directory).Diff(s.ID, call, nil)
	return d, s.Differ(store), err
}

// tellLater adds a message to the model's next turn.
func (s *Session) tellLater(text string) error {
	if s.Conversation != nil {
		s.Conversation.news.mu.Lock()
		defer s.Conversation.news.mu.Unlock()
		s.Conversation.news.waiting = append(s.Conversation.news.waiting, text)
	}
	return nil
}
