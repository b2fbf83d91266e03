package undo

import (
	"fmt"
	"path/filepath"
)

// maxWritten is the largest file that is saved because a call names it.
const maxWritten = 64 << 20

// save notes what is at a path that the call writes, and which directories above it don't exist yet.
func (w *Window) save(path string) {
	if w.before == nil {
		w.before = map[string]State{}
	}
	if _, known := w.before[path]; known {
		return
	}
	state, err := w.t.look(path)
	if err != nil {
		w.found.Notes = append(w.found.Notes, fmt.Sprintf("undo can't restore %s: %v.", path, err))
		return
	}
	for dir := filepath.Dir(path); state.Is == ""; dir = filepath.Dir(dir) {
		above, err := w.t.look(dir)
		if _, known := w.before[dir]; known || err != nil || above.Is != "" || dir == filepath.Dir(dir) {
			break
		}
		w.before[dir], w.order = State{}, append(w.order, dir)
	}
	w.before[path], w.order = state, append(w.order, path)
}

// look saves what is at a path.
func (t *Tracker) look(path string) (State, error) {
	store, err := t.Store()
	if err != nil {
		return State{Is: isUnsaved}, err
	}
	b := &batch{store: store}
	state, err := look(path, max(maxWritten, t.o.Limits.FileBytes), b)
	if err == nil {
		err = b.flush()
	}
	return state, err
}

// lookAfter finds which of the saved paths changed.
func (w *Window) lookAfter() {
	for _, path := range w.order {
		was := w.before[path]
		now, err := w.t.look(path)
		switch {
		case err != nil:
			w.found.Notes = append(w.found.Notes, fmt.Sprintf("undo can't restore %s: %v.", path, err))
		case was != now:
			w.found.Changes = append(w.found.Changes, Change{path, was, now})
		}
	}
}
