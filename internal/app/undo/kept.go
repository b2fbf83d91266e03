package undo

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/adze-dev/adze/tool"
)

// KeptPath is a path that a tried call changed.
type KeptPath struct {
	Path string
	// Before is a file, link or directory with the old state; "": it didn't exist, or only the mode changed.
	Before   string
	ModeOnly bool
	Mode     fs.FileMode // before, if only that changed
}

// maxKeptDir is the maximum number of recorded paths of a new directory. Undo skips larger ones, which are usually
// build output.
const maxKeptDir = 50_000

// Keeping returns the window of a tried call whose effects are kept: Kept reports its changes, so nothing is saved
// before and nothing is scanned.
func (t *Tracker) Keeping(q tool.Request) *Window {
	if t == nil {
		return nil
	}
	return &Window{t: t, call: Ref{q.Call.By, q.Call.ID}}
}

// Kept records the changes of a tried call. The old states must still exist.
func (t *Tracker) Kept(call Ref, paths []KeptPath) {
	if t == nil {
		return
	}
	var f Found
	store, err := t.Store()
	if err != nil {
		for _, p := range paths {
			f.Lost = append(f.Lost, Lost{p.Path, err.Error()})
		}
	} else {
		k := &keeper{
			batch: &batch{store: store}, limit: max(maxWritten, t.o.Limits.FileBytes), why: map[string]string{},
		}
		for _, p := range paths {
			k.add(p)
		}
		if err := k.batch.flush(); err != nil {
			k.found = Found{}
			for _, p := range paths {
				k.found.Lost = append(k.found.Lost, Lost{p.Path, err.Error()})
			}
		}
		f = k.found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[Ref]Found{}
	}
	t.kept[call] = f
	for _, p := range paths {
		t.own[p.Path] = true
	}
}

// takeKept returns what Kept recorded, once.
func (t *Tracker) takeKept(call Ref) (f Found, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok = t.kept[call]
	delete(t.kept, call)
	return f, ok
}

// keeper converts kept paths to changes.
type keeper struct {
	batch *batch
	limit int64
	found Found
	why   map[string]string // why paths aren't saved
}

func (k *keeper) add(p KeptPath) {
	now, after := k.tree(p.Path, p.Path, p.Before == "")
	var was map[string]State
	var before []string
	switch {
	case p.ModeOnly && now[p.Path].isLink(): // the same link again: its mode means nothing
		return
	case p.ModeOnly:
		was, before = map[string]State{p.Path: {now[p.Path].Is, p.Mode & modeBits}}, []string{p.Path}
		after = after[:min(len(after), 1)]
	case p.Before != "":
		was, before = k.tree(p.Before, p.Path, false)
	}
	for _, path := range before {
		k.change(path, was[path], now[path])
	}
	for _, path := range after {
		if _, ok := was[path]; !ok {
			k.change(path, State{}, now[path])
		}
	}
}

func (k *keeper) change(path string, was, now State) {
	switch {
	case was == now:
	case was.Is == isUnsaved || now.Is == isUnsaved:
		k.found.Lost = append(k.found.Lost, Lost{path, k.why[path]})
		k.found.unsaved = append(k.found.unsaved, Change{path, was, now})
	default:
		k.found.Changes = append(k.found.Changes, Change{path, was, now})
	}
}

// tree returns the states at and below a path, by their names below another one. A new tree may be too large.
func (k *keeper) tree(at, as string, fresh bool) (states map[string]State, order []string) {
	states = map[string]State{}
	_ = filepath.WalkDir(at, func(path string, _ fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(at, path)
		if relErr != nil || err != nil && gone(err) {
			return nil
		}
		name := filepath.Join(as, rel)
		state, lookErr := look(path, k.limit, k.batch)
		if lookErr != nil {
			state.Is, k.why[name] = isUnsaved, lookErr.Error()
		}
		if state.Is != "" {
			states[name] = state
			order = append(order, name)
		}
		if fresh && len(order) > maxKeptDir {
			states, order = map[string]State{as: {Is: isUnsaved}}, []string{as}
			k.why[as] = fmt.Sprintf("a new directory with over %d paths", maxKeptDir)
			return filepath.SkipAll
		}
		return nil
	})
	return states, order
}

// maxWritten is the maximum size of a file that is saved because a call names it.
const maxWritten = 64 << 20

// save records the state of a path that the call writes, and which directories above it don't exist yet.
func (w *Window) save(path string) {
	if w.before == nil {
		w.before = map[string]State{}
	}
	if _, known := w.before[path]; known {
		return
	}
	state, err := w.t.look(path)
	if err != nil {
		w.found.Lost = append(w.found.Lost, Lost{path, err.Error()})
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

// look saves the state of a path.
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
			w.found.Lost = append(w.found.Lost, Lost{path, err.Error()})
		case was != now:
			w.found.Changes = append(w.found.Changes, Change{path, was, now})
		}
	}
}
