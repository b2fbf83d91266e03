package undo

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// Call is a call that changed something.
type Call struct {
	Ref
	Name    string
	Title   string  // what it does, for the user
	Turn    int     // of the first agent
	Asked   int64   // entry of the request of that turn
	Entries []int64 // entries that have its changes
	Changes []Change
	Undone  bool
	Begun   map[string]bool // paths of an undo that was killed
}

// Redoable is an undo that can be taken back.
type Redoable struct {
	Entry   int64
	Calls   []int64
	Changes []Change // as the undo made them
	Begun   map[string]bool
}

// History is what a session changed, oldest first.
type History struct {
	Calls []Call
	Redo  []Redoable
	IDs   map[string]bool // of all calls that ran
	Turns int             // of the first agent

	byRef map[Ref]int
	names map[Ref]string
	asked int64
}

// ReadHistory reads the entries of a session.
func ReadHistory(entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) (History, error) {
	h := History{IDs: map[string]bool{}, byRef: map[Ref]int{}, names: map[Ref]string{}}
	for e, err := range entries {
		if err != nil {
			return h, err
		}
		switch e.Type {
		case journal.TypeFinished, journal.TypeChanged, journal.TypeUndone, journal.TypeTried, journal.TypeStarted:
		case journal.TypeAsked:
			if e.By != "" {
				continue
			}
		default:
			continue
		}
		if e.Type == journal.TypeFinished && !bytes.Contains(e.Data, []byte(`"changes"`)) {
			continue
		}
		data, err := journal.Decode(e, blobs)
		if err != nil {
			return h, err
		}
		h.add(e, data)
	}
	return h, nil
}

func (h *History) add(e journal.Entry, data journal.Data) {
	switch d := data.(type) {
	case journal.Asked:
		h.Turns, h.asked = d.Turn, e.Seq
	case journal.Tried:
		h.name(Ref{e.By, d.ID}, d.Name, d.Access)
	case journal.Started:
		h.IDs[d.ID] = true
		if ref := (Ref{e.By, d.ID}); h.names[ref] == "" { // of a tried call the command is better than what it wrote
			h.name(ref, d.Name, d.Access)
		}
	case journal.Finished:
		h.changed(e, d.ID, d.Changes)
	case journal.Changed:
		h.changed(e, d.ID, d.Changes)
	case journal.Undone:
		h.undone(e, d)
	}
}

// name names a call by its tool and the first thing that it changes.
func (h *History) name(ref Ref, called string, access []tool.Access) {
	h.names[ref] = called
	for _, a := range access {
		if a.Changes() {
			h.names[ref] = fmt.Sprintf("%s %s", called, a.Target)
			break
		}
	}
}

// changed adds changes of a call.
func (h *History) changed(e journal.Entry, id string, changes []journal.Change) {
	if len(changes) == 0 {
		return
	}
	ref := Ref{e.By, id}
	i, ok := h.byRef[ref]
	if !ok || h.Calls[i].Undone { // a background command continues after an undo
		i = len(h.Calls)
		h.byRef[ref] = i
		h.Calls = append(h.Calls, Call{Ref: ref, Title: h.names[ref], Turn: h.Turns, Asked: h.asked})
	}
	c := h.Calls[i]
	c.Entries = append(c.Entries, e.Seq)
	c.Changes = append(c.Changes, FromJournal(changes)...)
	h.Calls = append(slices.Delete(h.Calls, i, i+1), c) // the last one that changed something is last
	for j := i; j < len(h.Calls); j++ {
		h.byRef[h.Calls[j].Ref] = j
	}
}

// undone notes an undo or a redo.
func (h *History) undone(e journal.Entry, d journal.Undone) {
	if len(d.Calls) == 0 {
		return
	}
	paths := map[string]bool{}
	if d.Begun {
		for _, c := range d.Changes {
			paths[unplain(c.Path)] = true
		}
	}
	for i := range h.Calls {
		c := &h.Calls[i]
		if slices.ContainsFunc(c.Entries, func(seq int64) bool { return slices.Contains(d.Calls, seq) }) {
			c.Begun = paths
			if !d.Begun {
				c.Undone = d.Redo == 0 && !d.Partial
			}
		}
	}
	switch {
	case d.Redo > 0 && d.Begun:
		for i := range h.Redo {
			if h.Redo[i].Entry == d.Redo {
				h.Redo[i].Begun = paths
			}
		}
	case d.Redo > 0 && !d.Partial:
		h.Redo = slices.DeleteFunc(h.Redo, func(r Redoable) bool { return r.Entry == d.Redo })
	case d.Redo == 0 && !d.Begun && len(d.Changes) > 0:
		h.Redo = append(h.Redo, Redoable{Entry: e.Seq, Calls: d.Calls, Changes: FromJournal(d.Changes)})
	}
}

// Names are the contents that the history needs.
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
			data, err := journal.Decode(e, blobs)
			if err != nil {
				return nil, err
			}
			switch d := data.(type) {
			case journal.Finished:
				changes = d.Changes
			case journal.Changed:
				changes = d.Changes
			case journal.Undone:
				changes = d.Changes
			}
		}
		for _, c := range changes {
			names[c.Before], names[c.After] = true, true
		}
	}
	delete(names, "")
	delete(names, isDir)
	return names, nil
}
