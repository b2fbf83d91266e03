package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// Selection selects what to undo. The zero value is the last call that changed files and isn't undone.
type Selection struct {
	Call         string   // ID
	Turn         int      // all calls of a turn; 0: none
	All          bool     // all calls
	Since        int64    // all calls after an entry; 0: none
	Conversation bool     // the conversation too
	Redo         bool     // revert an undo instead
	Force        bool     // also undo paths that have changed since
	Paths        []string // only these, and what is in these directories; nil: all
}

// Undo is the plan of an undo or a redo. Nothing happens before [Undo.Apply].
type Undo struct {
	ID    string // of the session
	Calls []undo.Call
	Redo  int64 // the entry of the undo that a redo reverts; 0: this is an undo
	undo.Plan

	seqs  []int64
	to    int64
	some  bool // the calls changed more than the selected paths
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
		if names, failed := f.UndoNames(id); failed == nil {
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

// PlanUndo plans an undo in a session that is open, with its store. write records an entry, and tell sends a message to
// the model.
func (f Sessions) PlanUndo(id string, sel Selection, store *undo.Store, tell func(text string) error,
	write func(journal.Data) error) (*Undo, error) {
	log, err := f.Entries(id)
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
	h, err := undo.ReadHistory(log.Read(1), f.Store(), true)
	if err != nil {
		return nil, err
	}
	u := &Undo{ID: id, store: store, close: func() error { return nil }, tell: tell, write: write}
	return u, u.plan(h, sel)
}

// Quiet keeps the undo from the model, which no longer knows of the changes.
func (u *Undo) Quiet() { u.tell = func(string) error { return nil } }

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
		open := c.Open(sel.Paths)
		changes = append(changes, open...)
		u.some = u.some || len(open) < len(c.Open(nil))
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
		u.Lose(slices.DeleteFunc(slices.Clone(c.Lost), func(l undo.Lost) bool { return !undo.In(l.Path, sel.Paths) }))
	}
	return nil
}

// choose returns the calls to undo, the oldest first.
func choose(h undo.History, sel Selection) ([]undo.Call, error) {
	open := slices.DeleteFunc(slices.Clone(h.Calls), func(c undo.Call) bool {
		return c.Undone || sel.Paths != nil && len(c.Open(sel.Paths)) == 0
	})
	matches := func(c undo.Call) bool {
		return sel.Call != "" && c.ID == sel.Call || sel.Turn > 0 && c.Turn == sel.Turn || sel.All || sel.Since > 0 &&
			c.Asked > sel.Since
	}
	if sel.Call == "" && sel.Turn == 0 && !sel.All && sel.Since == 0 {
		if len(open) == 0 && sel.Paths != nil {
			return nil, &NothingError{"nothing to undo in these paths"}
		}
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
		return nil, Errorf("unknown call %q\nSee 'adze session show ID'.", sel.Call)
	case sel.Turn > h.Turns:
		return nil, Errorf("unknown turn %d: the last one is %d", sel.Turn, h.Turns)
	case sel.Paths != nil:
		return nil, &NothingError{"nothing to undo in these paths"}
	case slices.ContainsFunc(h.Calls, func(c undo.Call) bool { return matches(c) && len(c.Lost) > 0 }):
		return nil, &NothingError{"nothing to undo: what can be restored is restored already"}
	case slices.ContainsFunc(h.Calls, matches):
		return nil, &NothingError{"nothing to undo: it is undone already"}
	}
	return nil, &NothingError{"nothing to undo: no files were changed"}
}

func (u *Undo) planRedo(h undo.History, sel Selection) error {
	in := func(r undo.Redoable) []undo.Change {
		return slices.DeleteFunc(slices.Clone(r.Changes),
			func(c undo.Change) bool { return !undo.In(c.Path, sel.Paths) })
	}
	redo := slices.DeleteFunc(slices.Clone(h.Redo), func(r undo.Redoable) bool { return len(in(r)) == 0 })
	if len(redo) == 0 {
		return &NothingError{"nothing to redo"}
	}
	last := redo[len(redo)-1]
	changes := in(last)
	u.some = len(changes) < len(last.Changes)
	for _, c := range h.Calls {
		if slices.ContainsFunc(c.Entries, func(seq int64) bool { return slices.Contains(last.Calls, seq) }) {
			u.Calls = append(u.Calls, c)
		}
	}
	u.Redo, u.seqs = last.Entry, last.Calls
	u.Plan = undo.NewPlan(changes, u.store, undo.PlanOptions{Force: sel.Force, Begun: last.Begun})
	return nil
}

// Begin saves what the plan replaces, and records that it starts. Apply calls it.
func (u *Undo) Begin() error {
	saved, err := u.Save()
	if err != nil || len(saved) == 0 {
		return err
	}
	begun := journal.Undone{Calls: u.seqs, Redo: u.Redo, Begun: true, Changes: undo.Journaled(saved)}
	if err := u.write(begun); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}

// Apply executes the plan, and returns the paths that were skipped.
func (u *Undo) Apply(context.Context) ([]undo.Left, error) {
	if err := u.Begin(); err != nil {
		return nil, err
	}
	entry := journal.Undone{Calls: u.seqs, Redo: u.Redo}
	done, left := u.Plan.Apply()
	left = append(slices.Clone(u.Left), left...)
	entry.Changes = undo.Journaled(done)
	// a second undo may restore them
	entry.Partial = u.some || slices.ContainsFunc(left, func(l undo.Left) bool { return !l.Lost })
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

// Close closes the session.
func (u *Undo) Close() error { return u.close() }
