package undo

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Plan is the plan of an undo or a redo.
type Plan struct {
	Steps []Step // by path
	Left  []Left // by path
	store *Store
	// merged are contents by their state, which Save saves.
	merged map[string][]byte
}

// Step is the change of a path from its current state. A step with Now equal to To is already done.
type Step struct {
	Path    string
	Now, To State
	Forced  bool   // it has changed since the call
	Merged  bool   // it has changed since the call, in other lines, which stay
	From    string // where it is now: its content isn't saved, so it is moved back; "": not moved
	away    bool   // it is moved back to another path
}

// Left is a skipped path, with the reason.
type Left struct {
	Path, Why string
	Changed   bool // it has changed since, so that force restores it
	Lost      bool // it can't be restored
}

// Todo returns the steps that change something.
func (p Plan) Todo() []Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Now == s.To })
}

// Verb describes a step, for the user.
func (s Step) Verb() string {
	switch {
	case s.From != "" || s.away:
		return "move"
	case s.Merged:
		return "merge"
	case s.Now.Is == s.To.Is && s.Now.Mode != s.To.Mode:
		return "chmod"
	case s.To.Is == "":
		return "delete"
	case s.Now.Is == "":
		return "create"
	}
	return "restore"
}

// PlanOptions configure how paths are treated that have changed since.
type PlanOptions struct {
	Force bool // revert the changes anyway
	// Begun are the paths of an undo that was killed. They may be incomplete: removed, or a directory without its mode.
	Begun map[string]bool
}

// NewPlan plans to revert changes, the newest last: every path gets the state before the first of its changes. A path
// that has changed since is merged, or skipped.
func NewPlan(changes []Change, store *Store, o PlanOptions) Plan {
	p := Plan{store: store}
	now, to := map[string]State{}, map[string]State{}
	forced, merged, changed, left := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, c := range slices.Backward(changes) {
		if _, seen := now[c.Path]; !seen {
			state, err := peek(c.Path, c.Before.isNode() || c.After.isNode())
			if err != nil {
				left[c.Path] = err.Error()
			}
			now[c.Path], to[c.Path] = state, state
		}
		switch {
		case left[c.Path] != "":
		case same(to[c.Path], c.After), same(to[c.Path], c.Before):
			to[c.Path] = c.Before
		case o.Begun[c.Path] && (to[c.Path].Is == "" || to[c.Path].Is == c.Before.Is):
			to[c.Path] = c.Before
		case o.Force:
			to[c.Path], forced[c.Path] = c.Before, true
		default:
			if state, ok := p.merge(c, now[c.Path], to[c.Path]); ok {
				to[c.Path], merged[c.Path] = state, true
				continue
			}
			left[c.Path], changed[c.Path] = changedSince(now[c.Path], c.After), true
		}
	}
	for path, state := range to {
		if left[path] == "" && state.isFile() && now[path].Is != state.Is && p.merged[state.Is] == nil {
			if err := store.check(state.Is); err != nil {
				left[path] = err.Error()
			}
		}
	}
	from, away := moves(now, to, left)
	for _, path := range slices.Sorted(maps.Keys(to)) {
		if why := left[path]; why != "" {
			p.Left = append(p.Left, Left{Path: path, Why: why, Changed: changed[path]})
			continue
		}
		p.Steps = append(p.Steps, Step{
			Path: path, Now: now[path], To: to[path], Forced: forced[path], Merged: merged[path], From: from[path],
			away: away[path],
		})
	}
	p.keepFull()
	return p
}

// moves returns where the nodes are now that belong at a path, and which paths they leave. What isn't saved can only be
// moved; the rest is added to left.
func moves(now, to map[string]State, left map[string]string) (from map[string]string, away map[string]bool) {
	for n := -1; n != len(left); { // a path that is left can make that of another one unavailable
		n = len(left)
		at := map[string]string{}
		for path, state := range now {
			if left[path] == "" && state.isNode() && to[path].Is != state.Is {
				at[state.Is] = path
			}
		}
		from, away = map[string]string{}, map[string]bool{}
		for path, state := range to {
			if left[path] != "" || !state.isNode() || now[path].Is == state.Is {
				continue
			}
			source := at[state.Is]
			if source == "" || now[path].Is != "" && !now[path].isNode() {
				left[path] = "it is no longer where the call moved it"
			} else {
				from[path], away[source] = source, true
			}
		}
		for path, state := range now {
			if left[path] == "" && state.isNode() && to[path].Is != state.Is && !away[path] {
				left[path] = "its content isn't saved"
			}
		}
	}
	return from, away
}

// same reports whether two states are equal as far as both are known.
func same(a, b State) bool {
	if a.Is == "" || strings.HasPrefix(a.Is, linkPrefix) {
		return a.Is == b.Is
	}
	return a == b
}

// changedSince describes how a path differs from the state after a call.
func changedSince(now, after State) string {
	switch {
	case now.Is == "":
		return "deleted since"
	case after.Is == "":
		return "created since"
	case now.Is == after.Is:
		return "its mode changed since"
	}
	return "changed since"
}

// Lose adds what can't be restored.
func (p *Plan) Lose(lost []Lost) {
	known := map[Lost]bool{}
	for _, l := range p.Left {
		known[Lost{l.Path, l.Why}] = true
	}
	for _, l := range lost {
		if !known[l] {
			p.Left = append(p.Left, Left{Path: l.Path, Why: l.Why, Lost: true})
		}
		known[l] = true
	}
	sort.Slice(p.Left, func(i, j int) bool { return p.Left[i].Path < p.Left[j].Path })
}

// keepFull skips directories that would be deleted or replaced and contain something that stays.
func (p *Plan) keepFull() {
	stays := map[string]State{} // the resulting state of every path of the plan
	for _, s := range p.Steps {
		if stays[s.Path] = s.To; s.away {
			stays[s.Path] = State{Is: isUnsaved} // nothing of it stays, whatever it contains
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		if s.Now.Is != isDir || s.To.Is == isDir {
			return false
		}
		if name := keeps(s.Path, stays); name != "" {
			p.Left = append(p.Left, Left{Path: s.Path, Why: "the directory contains " + name})
			return true
		}
		return false
	})
	sort.Slice(p.Left, func(i, j int) bool { return p.Left[i].Path < p.Left[j].Path })
}
