package effects

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
func track(s Session) *undo.Tracker {
	u := s.Settings.Undo
	return undo.New(undo.Options{
		Home: project.Canonical(s.Directory.Home), Session: s.ID, Roots: s.Tools.Roots(), Jobs: s.Tools.Running,
		Watch: s.Watch, Sums: s.Tools.Sums(), Unrecorded: s.Recorder == nil || s.Elsewhere,
		Limits: undo.Limits{FileBytes: max(u.MaxFileBytes, 0), Bytes: max(u.MaxBytes, 0), Files: max(u.MaxFiles, 1)},
	})
}

// Unwatched returns why the changes of commands can't be found by watching directories; "": they can.
func (e *Effects) Unwatched(ctx context.Context) (why string, err error) {
	return track(e.s).Unwatched(ctx)
}

// Kept records the changes of a tried call.
func (e *Effects) Kept(c tool.Call, paths []builtin.KeptPath) {
	all := make([]undo.KeptPath, len(paths))
	for i, p := range paths {
		all[i] = undo.KeptPath(p)
	}
	e.tracker.Kept(undo.Ref{By: c.By, ID: c.ID}, all)
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

// Ended records what background commands changed that have ended since the last call, and runs what follows them.
func (e *Effects) Ended(ctx context.Context) { e.give(ctx, e.tracker.Ended(ctx, false)) }

// Killed records what the background commands changed that are killed now: the session ends.
func (e *Effects) Killed() { e.s.Recorder.Give(e.tracker.Ended(context.Background(), true)) }

// Close drops saved contents that no journal entry names.
func (e *Effects) Close() error {
	return e.tracker.Close(func() (map[string]bool, error) { return record.Of(e.s.Directory).UndoNames(e.s.ID) })
}

// Prepare prepares finding the changes of a call that needs approval.
func (e *Effects) Prepare(ctx context.Context, access []tool.Access) { e.tracker.Prepare(ctx, access) }

// Undo plans an undo in this session.
func (e *Effects) Undo(sel record.Selection) (*record.Undo, error) {
	if !e.s.Recorder.Sync() {
		return nil, record.Errorf("this session isn't recorded, so nothing can be undone")
	}
	store, err := e.tracker.Store()
	if err != nil {
		return nil, err
	}
	later := func(text string) error {
		if e.tell != nil {
			e.tell(text)
		}
		return nil
	}
	return record.Of(e.s.Directory).PlanUndo(e.s.ID, sel, store, later, func(d journal.Data) error {
		e.s.Recorder.Write("", d)
		e.s.Recorder.Sync()
		return nil
	})
}

// Differ shows changes of a recorded session, with its store, as patches.
func (e *Effects) Differ(store *undo.Store) undo.Differ {
	return undo.Differ{Store: store, Dir: project.Canonical(e.s.Directory.Path), Secret: e.Secret}
}

// Diff returns what this session, or one of its calls, changed.
func (e *Effects) Diff(call string) (record.Diff, undo.Differ, error) {
	if !e.s.Recorder.Sync() {
		return record.Diff{}, undo.Differ{}, record.Errorf("this session isn't recorded, so its changes aren't known")
	}
	store, err := e.tracker.Store()
	if err != nil {
		return record.Diff{}, undo.Differ{}, err
	}
	d, err := record.Of(e.s.Directory).Diff(e.s.ID, call, nil)
	return d, e.Differ(store), err
}
