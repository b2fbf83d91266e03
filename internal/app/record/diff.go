package record

import (
	"slices"

	"github.com/adze-dev/adze/internal/app/undo"
)

// Diff is what a session, or one of its calls, changed.
type Diff struct {
	ID      string // of the session
	Call    string // "": all calls
	Changes []undo.Change
	Lost    []undo.Lost // changes that aren't known
}

// Diff reads what a session changed in these paths, or one call of it. The session may be in use.
func (f Sessions) Diff(id, call string, paths []string) (Diff, error) {
	d := Diff{ID: id, Call: call}
	log, err := f.Entries(id)
	if err != nil {
		return d, err
	}
	defer log.Close()
	h, err := undo.ReadHistory(log.Read(1), f.Store(), true)
	if err != nil {
		return d, err
	}
	if call == "" {
		d.Changes, d.Lost = h.Net()
	} else if !h.IDs[call] {
		return d, Errorf("unknown session or call %q\nSee 'adze session list' and 'adze session show ID'.", call)
	}
	for _, c := range h.Calls {
		if call != "" && c.ID == call {
			d.Changes, d.Lost = append(d.Changes, c.Changes...), append(d.Lost, c.Lost...)
		}
	}
	d.Changes = slices.DeleteFunc(undo.Net(d.Changes), func(c undo.Change) bool { return !undo.In(c.Path, paths) })
	d.Lost = slices.DeleteFunc(d.Lost, func(l undo.Lost) bool { return !undo.In(l.Path, paths) })
	return d, nil
}

// Each returns the patch of each change, and what has none.
func (d Diff) Each(differ undo.Differ, patched func(undo.Patched) error) (omitted []undo.Lost, err error) {
	for _, c := range d.Changes {
		p, err := differ.Patch(c)
		switch {
		case err != nil:
			omitted = append(omitted, undo.Lost{Path: c.Path, Why: err.Error()})
		case p.Patch != "":
			if err := patched(p); err != nil {
				return nil, err
			}
		}
	}
	return append(omitted, d.Lost...), nil
}
