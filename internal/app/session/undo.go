package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// track returns the tracker of changes.
func (s *Session) track() *undo.Tracker {
	u := s.Settings.Undo
	return undo.New(undo.Options{
		Home: project.Canonical(s.Directory.Home), Session: s.ID, Roots: s.Tools.Roots(), Jobs: s.Tools.Running,
		Watch:  &s.watch,
		Limits: undo.Limits{FileBytes: max(u.MaxFileBytes, 0), Bytes: max(u.MaxBytes, 0), Files: max(u.MaxFiles, 1)},
	})
}

// Unwatched returns why the changes of commands can't be found by watching directories; "": they can.
func (s *Session) Unwatched(ctx context.Context) (why string, err error) {
	return s.track().Unwatched(ctx)
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
	note = "\nNote: " + note
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
	return s.tracker.Close(func() (map[string]bool, error) { return Of(s.Directory).undoNames(s.ID) })
}

// Selection selects what to undo. The zero value is the last call that changed files and isn't undone.
type Selection struct {
	Call         string // ID
	Turn         int    // all calls of a turn; 0: none
	All          bool   // all calls
	Since        int64  // all calls after an entry; 0: none
	Conversation bool   // the conversation too
	Redo         bool   // revert an undo instead
	Force        bool   // also undo paths that have changed since
}

// Undo is the plan of an undo or a redo. Nothing happens before [Undo.Apply].
type Undo struct {
	ID    string // of the session
	Calls []undo.Call
	Redo  int64 // the entry of the undo that a redo reverts; 0: this is an undo
	undo.Plan

	seqs  []int64
	to    int64
	store *undo.Store
	write func(journal.Data) error
	close func() error
	tell  func(text string) error // sends a message to the model
}

// NothingError reports that there is nothing to undo or to redo.
type NothingError struct{ text string }

func (e *NothingError) Error() string { return e.text }

// OpenUndo plans an undo in a recorded session that isn't in use. Close it.
func (f Sessions) OpenUndo(id string, sel Selection, environ []string) (*Undo, error) {
	log, state, err := f.Open(id)
	if err != nil {
		return nil, err
	}
	w := journal.NewWriter(log, f.Store(), state)
	w.Mask = secretvalues.New(secretvalues.Options{
		Environ: environ, Roots: []string{f.directory.Path}, State: f.Home,
	}).Mask().String
	store, err := undo.OpenStore(f.Home, id)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	u := &Undo{ID: id, store: store, write: func(d journal.Data) error {
		_, err := w.Write("", d)
		if err == nil {
			err = w.Sync()
		}
		return err
	}}
	u.tell = func(text string) error {
		answered := false
		w.View(func(s *journal.State) { answered = len(s.Agent("").Calls) == 0 && len(s.Agent("").History) > 0 })
		if !answered {
			return nil // a message can't be between a call and its response
		}
		_, err := w.Write("", journal.Message{Kind: journal.News, Message: model.Prompt(text)})
		return err
	}
	wrote := state.Seq
	u.close = func() error {
		var err error
		now := int64(0)
		w.View(func(s *journal.State) { now = s.Seq })
		if now > wrote {
			err = w.Close() // it ends as before
		} else {
			err = log.Close()
		}
		if names, failed := f.undoNames(id); failed == nil {
			err = errors.Join(err, store.Compact(names))
		}
		return errors.Join(err, store.Close())
	}
	h, err := undo.ReadHistory(log.Read(1), f.Store(), false)
	if err == nil {
		err = u.plan(h, sel)
	}
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// Undo plans an undo in this session.
func (s *Session) Undo(sel Selection) (*Undo, error) {
	if !s.Sync() {
		return nil, sessionErrorf("this session isn't recorded, so nothing can be undone")
	}
	all := Of(s.Directory)
	store, err := s.tracker.Store()
	if err != nil {
		return nil, err
	}
	log, err := all.Entries(s.ID)
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) { // nothing is recorded yet
		what := "nothing to undo"
		if sel.Redo {
			what = "nothing to redo"
		}
		return nil, &NothingError{what}
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h, err := undo.ReadHistory(log.Read(1), all.Store(), true)
	if err != nil {
		return nil, err
	}
	u := &Undo{ID: s.ID, store: store, close: func() error { return nil }, tell: s.tellLater,
		write: func(d journal.Data) error {
			s.recorder.write("", d)
			s.recorder.sync()
			return nil
		}}
	return u, u.plan(h, sel)
}

func (u *Undo) plan(h undo.History, sel Selection) error {
	if sel.Redo {
		return u.planRedo(h, sel)
	}
	calls, err := choose(h, sel)
	if err != nil {
		return err
	}
	var changes []undo.Change
	begun := map[string]bool{}
	for _, c := range calls {
		changes = append(changes, c.Changes...)
		u.seqs = append(u.seqs, c.Entries...)
		for path := range c.Begun {
			begun[path] = true
		}
	}
	u.Calls = calls
	if sel.Conversation && calls[0].Asked > 1 {
		u.to = calls[0].Asked - 1
		for _, c := range calls {
			u.to = min(u.to, c.Asked-1)
		}
	}
	u.Plan = undo.NewPlan(changes, u.store, undo.PlanOptions{Force: sel.Force, Begun: begun})
	for _, c := range calls {
		u.Lose(c.Lost)
	}
	return nil
}

// choose returns the calls to undo, the oldest first.
func choose(h undo.History, sel Selection) ([]undo.Call, error) {
	open := slices.DeleteFunc(slices.Clone(h.Calls), func(c undo.Call) bool { return c.Undone })
	matches := func(c undo.Call) bool {
		return sel.Call != "" && c.ID == sel.Call || sel.Turn > 0 && c.Turn == sel.Turn || sel.All || sel.Since > 0 &&
			c.Asked > sel.Since
	}
	if sel.Call == "" && sel.Turn == 0 && !sel.All && sel.Since == 0 {
		if len(open) == 0 {
			return nil, &NothingError{"nothing to undo"}
		}
		last := len(open) - 1
		// nothing of it can be restored: it is reported with the call before
		for last > 0 && len(open[last].Changes) == 0 {
			last--
		}
		return open[last:], nil
	}
	chosen := slices.DeleteFunc(open, func(c undo.Call) bool { return !matches(c) })
	if len(chosen) > 0 {
		return chosen, nil
	}
	switch {
	case sel.Call != "" && !h.IDs[sel.Call]:
		return nil, sessionErrorf("unknown call %q\nSee 'adze session show ID'.", sel.Call)
	case sel.Turn > h.Turns:
		return nil, sessionErrorf("unknown turn %d: the last one is %d", sel.Turn, h.Turns)
	case slices.ContainsFunc(h.Calls, func(c undo.Call) bool { return matches(c) && len(c.Lost) > 0 }):
		return nil, &NothingError{"nothing to undo: what can be restored is restored already"}
	case slices.ContainsFunc(h.Calls, matches):
		return nil, &NothingError{"nothing to undo: it is undone already"}
	}
	return nil, &NothingError{"nothing to undo: no files were changed"}
}

func (u *Undo) planRedo(h undo.History, sel Selection) error {
	if len(h.Redo) == 0 {
		return &NothingError{"nothing to redo"}
	}
	last := h.Redo[len(h.Redo)-1]
	for _, c := range h.Calls {
		if slices.ContainsFunc(c.Entries, func(seq int64) bool { return slices.Contains(last.Calls, seq) }) {
			u.Calls = append(u.Calls, c)
		}
	}
	u.Redo, u.seqs = last.Entry, last.Calls
	u.Plan = undo.NewPlan(last.Changes, u.store, undo.PlanOptions{Force: sel.Force, Begun: last.Begun})
	return nil
}

// Apply executes the plan, and returns the paths that were skipped.
func (u *Undo) Apply(context.Context) ([]undo.Left, error) {
	saved, err := u.Save()
	if err != nil {
		return nil, err
	}
	entry := journal.Undone{Calls: u.seqs, Redo: u.Redo}
	if len(saved) > 0 {
		begun := entry
		begun.Begun, begun.Changes = true, undo.Journaled(saved)
		if err := u.write(begun); err != nil {
			return nil, fmt.Errorf("nothing was changed: %w", err)
		}
	}
	done, left := u.Plan.Apply()
	left = append(slices.Clone(u.Left), left...)
	entry.Changes = undo.Journaled(done)
	// a second undo may restore them
	entry.Partial = slices.ContainsFunc(left, func(l undo.Left) bool { return !l.Lost })
	if !entry.Partial {
		entry.To = u.to
	}
	if entry.Partial && len(done) == 0 {
		return left, nil // nothing was changed
	}
	if err := u.write(entry); err != nil || len(done) == 0 || entry.To > 0 {
		return left, err // the removed part of the conversation needs no message
	}
	return left, u.tell(u.news(done))
}

// maxTold is the maximum number of paths in a message to the model.
const maxTold = 20

// news returns the message to the model about what was undone.
func (u *Undo) news(done []undo.Change) string {
	var paths []string
	for _, c := range done {
		paths = append(paths, c.Path)
	}
	what := "undid changes of earlier calls"
	if u.Redo > 0 {
		what = "restored changes of earlier calls that were undone"
	}
	return fmt.Sprintf("The user %s. These paths are different now: %s", what, humanize.List(paths, maxTold))
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

// Close closes the session.
func (u *Undo) Close() error { return u.close() }
