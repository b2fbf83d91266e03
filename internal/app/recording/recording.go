// Package recording records a run in the journal of its session, and continues a recorded one.
//
//	r, resumed, err := recording.Open(options, recording.Session{…})
package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/permission"
)

// Options are how a session is recorded.
type Options struct {
	ID     string // of a new session; "": any
	Resume string // the full ID of a session to continue; "": none
	Name   string // for the session; "": it keeps what it has
	Fork   bool   // continue a copy of it, with a new ID
	Off    bool   // the user doesn't want this run recorded
	Keep   bool   // a new session keeps its ID, with an empty journal, even if nothing happens
	// Elsewhere is a journal outside Adze's directory; nil: none. Changes of calls can't be undone then.
	Elsewhere *Elsewhere
}

// Elsewhere is a journal of another program. Its log must not return an error: what can't be recorded must not run.
type Elsewhere struct {
	Log   journal.Log
	Blobs journal.Blobs
	State journal.State // after the entries so far; a session that has started is resumed
}

// SessionID returns the ID of the session.
func (o *Options) SessionID() string {
	switch {
	case o == nil:
	case o.ID != "":
		return o.ID
	case o.Resume != "" && !o.Fork:
		return o.Resume
	}
	return record.NewID()
}

// Session is what is recorded.
type Session struct {
	ID        string
	Off       bool // settings say so
	Directory project.Directory
	Env       project.Env
	Policy    *permission.Policy
	Tools     *builtin.Set
}

// Open starts recording, and restores the state of the tools of a session that continues. Without a recorder nothing is
// recorded; resumed is nil for a new session.
func Open(o *Options, s Session) (_ *Recorder, resumed *Resumed, err error) {
	if o == nil || o.Off || s.Off {
		if o != nil && o.Resume != "" {
			return nil, nil, record.Errorf("can't resume session %s: sessions aren't recorded (general.chatRecording)",
				o.Resume)
		}
		if o != nil && o.Name != "" {
			return nil, nil, record.Errorf("can't name the session: sessions aren't recorded (general.chatRecording)")
		}
		return nil, nil, nil
	}
	all := record.Of(s.Directory)
	if o.Name != "" {
		if err := all.CheckName(o.Name, s.ID); err != nil {
			return nil, nil, record.SessionError(err)
		}
	}
	r := &Recorder{s: s, turns: map[string]int{}, todos: map[string]string{}, tried: map[undo.Ref]bool{}}
	if o.Elsewhere != nil {
		resumed, err := r.openElsewhere(o.Elsewhere)
		return r, resumed, err
	}
	r.Create = func() (*journal.Writer, error) {
		f, err := all.Create(s.ID)
		if err != nil {
			return nil, err
		}
		return s.writer(f, all, journal.State{}), nil
	}
	lost := filepath.Join(all.Dir(s.ID), record.LostName)
	r.lose = func(calls []string) { // without space the file stays empty; the session may not have a directory
		_ = os.WriteFile(lost, []byte(s.Tools.Mask(strings.Join(calls, "\n"))), 0o600)
	}
	switch {
	case o.Resume != "":
		if resumed, err = r.reopen(all, o); err != nil {
			return nil, nil, record.SessionError(err)
		}
		if r.w != nil {
			os.Remove(lost)
		}
	case o.ID != "" || o.Keep:
		if err := r.reserve(all, o.Keep); err != nil {
			return nil, nil, err
		}
	}
	if o.Name != "" {
		r.Write("", journal.Named{Name: o.Name})
	}
	return r, resumed, nil
}

// reserve creates the journal immediately: the ID may exist. keep keeps it even if nothing happens.
func (r *Recorder) reserve(all record.Sessions, keep bool) error {
	f, err := all.Create(r.s.ID)
	var taken *journal.ExistsError
	switch {
	case errors.As(err, &taken):
		return record.SessionError(err)
	case err != nil:
		r.fail(err)
	default:
		r.reserved = r.s.writer(f, all, journal.State{})
		r.discard = func() error {
			if keep {
				return f.Close()
			}
			return errors.Join(f.Close(), all.Delete(r.s.ID))
		}
	}
	return nil
}

// Rename names the session.
func (r *Recorder) Rename(name string) error {
	if r == nil {
		return record.Errorf("can't name this session: it isn't recorded")
	}
	if err := record.Of(r.s.Directory).CheckName(name, r.s.ID); err != nil {
		return record.SessionError(err)
	}
	r.Write("", journal.Named{Name: name})
	return nil
}

// openElsewhere records in the journal of another program, and continues a session that has started there.
func (r *Recorder) openElsewhere(e *Elsewhere) (*Resumed, error) {
	w := journal.NewWriter(e.Log, e.Blobs, e.State)
	w.Mask = r.s.Tools.MaskKnown
	r.discard = e.Log.Close
	if e.State.Opened.ID == "" {
		r.reserved = w
		return nil, nil
	}
	resumed, err := r.resume(w, "")
	if err != nil {
		return nil, record.SessionError(err)
	}
	r.w, r.declared = w, resumed.Declared
	return resumed, nil
}

// writer returns the writer of a journal. It masks known secrets.
func (s Session) writer(log journal.Log, all record.Sessions, state journal.State) *journal.Writer {
	w := journal.NewWriter(log, all.Store(), state)
	w.Mask = s.Tools.MaskKnown
	return w
}

// reopen opens a session to continue it.
func (r *Recorder) reopen(all record.Sessions, o *Options) (*Resumed, error) {
	s, id := r.s, r.s.ID
	var err error
	if o.Fork {
		if err = all.Fork(o.Resume, 0, s.ID); readOnly(err) {
			id = o.Resume // it is only read
		} else if err != nil {
			return nil, err
		}
	}
	var f *journal.File
	var state journal.State
	if err == nil {
		f, state, err = all.Open(id)
	}
	unwritable := err
	if readOnly(err) {
		f, state, err = all.View(id)
	}
	if err != nil {
		return nil, err
	}
	for _, note := range repaired(f.Repair) {
		s.Env.Warn("session %s: %s", s.ID, note)
	}
	if n := state.Lost.Contents; n > 0 {
		s.Env.Warn("session %s: %d of its long texts and media can't be read from %s, and a note replaces each: %v",
			s.ID, n, all.Store().Dir(), state.Lost.Err)
	}
	lost := record.LostCalls(filepath.Join(all.Dir(o.Resume), record.LostName))
	if unwritable == nil {
		w := s.writer(f, all, state)
		var resumed *Resumed
		if resumed, unwritable = r.resume(w, lost); unwritable == nil {
			r.w, r.declared = w, resumed.Declared
			return resumed, nil
		}
	}
	r.fail(unwritable)
	resumed, err := r.resume(journal.NewWriter(unwritten{}, all.Store(), state), lost)
	return resumed, errors.Join(err, f.Close())
}

// readOnly reports whether a session can be read but not written.
func readOnly(err error) bool {
	var foreign *journal.ForeignError
	return errors.Is(err, fs.ErrPermission) && !errors.As(err, &foreign) ||
		errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// unwritten is the journal of a session that continues without being recorded.
type unwritten struct{}

func (unwritten) Append(journal.Entry) error { return nil }
func (unwritten) Read(int64) iter.Seq2[journal.Entry, error] {
	return func(func(journal.Entry, error) bool) {}
}
func (unwritten) Sync() error  { return nil }
func (unwritten) Close() error { return nil }

// repaired describes what was wrong with a journal.
func repaired(r journal.Repair) []string {
	var notes []string
	if r.Torn > 0 {
		notes = append(notes, fmt.Sprintf("the last line of its journal was incomplete; removed %d bytes", r.Torn))
	}
	if r.Broken > 0 {
		notes = append(notes, fmt.Sprintf("line %d of its journal can't be read; the session continues before it, "+
			"and the rest is in %s", r.Broken, r.Kept))
	}
	return notes
}
