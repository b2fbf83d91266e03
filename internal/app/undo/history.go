package undo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// Call is a call that changed something.
type Call struct {
	Ref
	Name    string
	Title   string  // description for the user
	Target  string  // its path or command
	Turn    int     // of the first agent
	Asked   int64   // entry of the request of that turn
	Entries []int64 // entries that have its changes
	Changes []Change
	Lost    []Lost // what can't be restored
	Undone  bool
	Begun   map[string]bool // paths of an undo that was killed

	restored map[string]bool // paths that were undone, while others weren't
}

// Redoable is an undo that can be reverted.
type Redoable struct {
	Entry   int64
	Calls   []int64
	Changes []Change // as the undo made them
	Begun   map[string]bool
}

// History is the changes of a session, oldest first.
type History struct {
	Calls []Call
	Redo  []Redoable
	IDs   map[string]bool // of all calls that ran
	Turns int             // of the first agent

	log   []Change // of calls, undos and redos, the oldest first
	byRef map[Ref]int
	names map[Ref]callName
	open  map[Ref]openCall // calls that haven't ended, and those whose background commands run
	asked int64
	roots []string
}

// openCall is a call that may still change something.
type openCall struct {
	entry int64
	paths []string // that it writes
}

// callName is the name and target of a started call.
type callName struct{ name, target string }

func (n callName) String() string {
	if n.target == "" {
		return n.name
	}
	return fmt.Sprintf("%s %s", n.name, n.target)
}

// ReadHistory reads the entries of a session. If the session isn't running, what its calls changed isn't known for
// those that were running when it was killed.
func ReadHistory(entries iter.Seq2[journal.Entry, error], blobs journal.Blobs, running bool) (History, error) {
	h := History{IDs: map[string]bool{}, byRef: map[Ref]int{}, names: map[Ref]callName{}, open: map[Ref]openCall{}}
	for e, err := range entries {
		if err != nil {
			return h, err
		}
		data, err := h.read(e, blobs)
		if err != nil {
			return h, err
		}
		h.add(e, data)
	}
	if !running {
		h.killed(nil)
	}
	return h, nil
}

// read decodes what the history needs of an entry; nil: nothing. Results of calls can be large, and are not needed.
func (h *History) read(e journal.Entry, blobs journal.Blobs) (journal.Data, error) {
	switch e.Type {
	case journal.TypeOpened, journal.TypeResumed:
		var at struct{ Roots []string }
		if err := json.Unmarshal(e.Data, &at); err != nil {
			return nil, fmt.Errorf("entry %d (%s): %w", e.Seq, e.Type, err)
		}
		return journal.Resumed{Roots: at.Roots}, nil
	case journal.TypeAsked:
		if e.By != "" {
			return nil, nil
		}
	case journal.TypeFinished:
		if !slices.ContainsFunc([]string{`"changes"`, `"unsaved"`, `"running"`},
			func(s string) bool { return bytes.Contains(e.Data, []byte(s)) }) {
			var call struct{ ID string }
			if err := json.Unmarshal(e.Data, &call); err != nil {
				return nil, fmt.Errorf("entry %d (%s): %w", e.Seq, e.Type, err)
			}
			return journal.Finished{ID: call.ID}, nil
		}
	case journal.TypeChanged, journal.TypeUndone, journal.TypeTried, journal.TypeStarted:
	default:
		return nil, nil
	}
	return decode(e, blobs)
}

const whyKilled = "Adze was killed while this call ran, so what it changed isn't known"

// killed records that calls were killed with the session: those of these entries, or all.
func (h *History) killed(entries []int64) {
	var refs []Ref
	for ref := range h.open {
		refs = append(refs, ref)
	}
	sort.Slice(refs, func(i, j int) bool { return h.open[refs[i]].entry < h.open[refs[j]].entry })
	for _, ref := range refs {
		call := h.open[ref]
		if entries != nil && !slices.Contains(entries, call.entry) {
			continue
		}
		var lost []Lost
		for _, path := range call.paths {
			lost = append(lost, Lost{path, whyKilled})
		}
		h.changed(call.entry, ref, nil, lost)
		delete(h.open, ref)
	}
}

// starts records a call that may change something.
func (h *History) starts(e journal.Entry, d journal.Started) {
	call := openCall{entry: e.Seq}
	for _, a := range d.Access {
		if named(a) {
			call.paths = append(call.paths, a.Target)
		}
	}
	if Scans(d.Access, tool.Decision{Grant: d.Decision.Grant}) {
		call.paths = h.roots
	}
	if len(call.paths) > 0 {
		h.open[Ref{e.By, d.ID}] = call
	}
}

func (h *History) add(e journal.Entry, data journal.Data) {
	switch d := data.(type) {
	case journal.Asked:
		h.Turns, h.asked = d.Turn, e.Seq
	case journal.Tried:
		h.name(Ref{e.By, d.ID}, d.Name, d.Access)
	case journal.Resumed:
		h.killed(nil)
		if len(d.Roots) > 0 {
			h.roots = d.Roots
		}
	case journal.Started:
		h.IDs[d.ID] = true
		h.starts(e, d)
		// for a tried call, keep the command, which is more useful than the paths it wrote
		if ref := (Ref{e.By, d.ID}); h.names[ref] == (callName{}) {
			h.name(ref, d.Name, d.Access)
		}
	case journal.Finished:
		ref := Ref{e.By, d.ID}
		if !d.Running {
			delete(h.open, ref)
		}
		h.changed(e.Seq, ref, FromJournal(d.Changes), lostFromJournal(d.Unsaved))
	case journal.Changed:
		ref := Ref{e.By, d.ID}
		if d.Ended {
			delete(h.open, ref)
		}
		h.changed(e.Seq, ref, FromJournal(d.Changes), lostFromJournal(d.Unsaved))
	case journal.Undone:
		h.undone(e, d)
	}
}

// name names a call by its tool and its first changed target.
func (h *History) name(ref Ref, called string, access []tool.Access) {
	h.names[ref] = callName{name: called}
	for _, a := range access {
		if a.Changes() {
			h.names[ref] = callName{called, a.Target}
			break
		}
	}
}

// changed adds changes of a call.
func (h *History) changed(entry int64, ref Ref, changes []Change, lost []Lost) {
	if len(changes)+len(lost) == 0 {
		return
	}
	i, ok := h.byRef[ref]
	if !ok || h.Calls[i].Undone { // a background command continues after an undo
		i = len(h.Calls)
		h.byRef[ref] = i
		h.Calls = append(h.Calls, Call{
			Ref: ref, Name: h.names[ref].name, Title: h.names[ref].String(), Target: h.names[ref].target, Turn: h.Turns,
			Asked: h.asked,
		})
	}
	h.log = append(h.log, changes...)
	c := h.Calls[i]
	for _, one := range changes {
		delete(c.restored, one.Path)
	}
	c.Entries = append(c.Entries, entry)
	c.Changes, c.Lost = append(c.Changes, changes...), append(c.Lost, lost...)
	h.Calls = append(slices.Delete(h.Calls, i, i+1), c) // calls are ordered by their last change
	for j := i; j < len(h.Calls); j++ {
		h.byRef[h.Calls[j].Ref] = j
	}
}

// undone records an undo or a redo.
func (h *History) undone(e journal.Entry, d journal.Undone) {
	if len(d.Calls) == 0 {
		return
	}
	h.killed(d.Calls)
	changes := FromJournal(d.Changes)
	paths := map[string]bool{}
	for _, c := range changes {
		paths[c.Path] = true
	}
	for i := range h.Calls {
		c := &h.Calls[i]
		switch {
		case !slices.ContainsFunc(c.Entries, func(seq int64) bool { return slices.Contains(d.Calls, seq) }):
		case d.Begun:
			c.Begun = paths
		default:
			c.Begun = nil
			c.revert(paths, d.Redo == 0, d.Partial)
		}
	}
	if !d.Begun {
		h.log = append(h.log, changes...)
	}
	switch {
	case d.Redo > 0 && d.Begun:
		for i := range h.Redo {
			if h.Redo[i].Entry == d.Redo {
				h.Redo[i].Begun = paths
			}
		}
	case d.Redo > 0:
		for i := range h.Redo {
			if h.Redo[i].Entry == d.Redo {
				h.Redo[i].Begun = nil
				h.Redo[i].Changes = slices.DeleteFunc(h.Redo[i].Changes, func(c Change) bool { return paths[c.Path] })
			}
		}
		h.Redo = slices.DeleteFunc(h.Redo, func(r Redoable) bool {
			return r.Entry == d.Redo && (!d.Partial || len(r.Changes) == 0)
		})
	case !d.Begun && len(d.Changes) > 0:
		h.Redo = append(h.Redo, Redoable{Entry: e.Seq, Calls: d.Calls, Changes: changes})
	}
}

// revert records which paths of the call were undone or, if undo is false, redone. Partial: others were not.
func (c *Call) revert(paths map[string]bool, undo, partial bool) {
	if c.restored == nil {
		c.restored = map[string]bool{}
	}
	for _, one := range c.Changes {
		if c.Undone || undo && !partial {
			c.restored[one.Path] = true
		}
		if paths[one.Path] {
			c.restored[one.Path] = undo
		}
	}
	c.Undone = undo && (!partial || len(c.Open(nil)) == 0 && len(c.Lost) == 0)
}

// Open returns the changes in these paths that aren't undone.
func (c Call) Open(in []string) []Change {
	return slices.DeleteFunc(slices.Clone(c.Changes), func(one Change) bool {
		return c.restored[one.Path] || !In(one.Path, in)
	})
}

// decode decodes an entry. Its texts may be missing from the store; its changes aren't in the store.
func decode(e journal.Entry, blobs journal.Blobs) (journal.Data, error) {
	data, lost, err := journal.Recover(e, blobs)
	if err == nil && lost.Contents > 0 && changesOf(data) == nil && bytes.Contains(e.Data, []byte(`"changes"`)) {
		err = fmt.Errorf("entry %d (%s): %w", e.Seq, e.Type, lost.Err)
	}
	return data, err
}

func changesOf(data journal.Data) []journal.Change {
	switch d := data.(type) {
	case journal.Finished:
		return d.Changes
	case journal.Changed:
		return d.Changes
	case journal.Undone:
		return d.Changes
	}
	return nil
}

// Names returns the contents that the history needs.
func Names(entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) (map[string]bool, error) {
	names := map[string]bool{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		var changes []journal.Change
		switch e.Type {
		case journal.TypeFinished, journal.TypeChanged, journal.TypeUndone:
			if !bytes.Contains(e.Data, []byte(`"changes"`)) {
				continue
			}
			// Without what the call printed and showed, which may be long.
			var only struct {
				Changes json.RawMessage `json:"changes"`
			}
			if json.Unmarshal(e.Data, &only) == nil && only.Changes != nil {
				e.Data = fmt.Appendf(nil, `{"changes":%s}`, only.Changes)
			}
			data, err := decode(e, blobs)
			if err != nil {
				return nil, err
			}
			changes = changesOf(data)
		}
		for _, c := range changes {
			names[c.Before], names[c.After] = true, true
		}
	}
	delete(names, "")
	delete(names, isDir)
	return names, nil
}
