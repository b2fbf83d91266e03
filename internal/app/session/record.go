package session

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/journal"
)

// Recording configures how a session is recorded.
type Recording struct {
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

// id returns the ID of the session.
func (o *Recording) id() string {
	switch {
	case o == nil:
	case o.ID != "":
		return o.ID
	case o.Resume != "" && !o.Fork:
		return o.Resume
	}
	return NewID()
}

// record starts recording, and restores the state of a resumed session.
func (s *Session) record(o *Recording) error {
	if o == nil || o.Off || !s.Settings.General.ChatRecording {
		if o != nil && o.Resume != "" {
			return record.Errorf("can't resume session %s: sessions aren't recorded (general.chatRecording)",
				o.Resume)
		}
		if o != nil && o.Name != "" {
			return record.Errorf("can't name the session: sessions aren't recorded (general.chatRecording)")
		}
		s.tracker, s.Executor.Around = s.track(false), s.around
		return nil
	}
	all := record.Of(s.Directory)
	if o.Name != "" {
		if err := all.CheckName(o.Name, s.ID); err != nil {
			return record.SessionError(err)
		}
	}
	s.recorder = &recorder{tools: s.Tools, todos: map[string]string{},
		tell: func(err error) { s.Env.Notice(notRecorded(err)) },
		opened: func() journal.Opened {
			return journal.Opened{
				ID: s.ID, CWD: s.Directory.Path, Roots: s.Tools.Roots(), Version: s.Env.Version,
				Mode: s.Policy.Mode().String(),
			}
		}}
	if o.Elsewhere != nil {
		s.tracker = s.track(true)
		return s.recordElsewhere(o.Elsewhere)
	}
	s.recorder.create = func() (*journal.Writer, error) {
		f, err := all.Create(s.ID)
		if err != nil {
			return nil, err
		}
		return s.writer(f, all, journal.State{}), nil
	}
	lost := filepath.Join(all.Dir(s.ID), record.LostName)
	s.recorder.lose = func(calls []string) { // without space the file stays empty; the session may not have a directory
		_ = os.WriteFile(lost, []byte(s.Tools.Mask(strings.Join(calls, "\n"))), 0o600)
	}
	switch {
	case o.Resume != "":
		if err := s.reopen(all, o); err != nil {
			return record.SessionError(err)
		}
		if s.recorder.w != nil {
			os.Remove(lost)
		}
	case o.ID != "" || o.Keep:
		f, err := all.Create(s.ID) // immediately: the ID may exist
		var taken *journal.ExistsError
		switch {
		case errors.As(err, &taken):
			return record.SessionError(err)
		case err != nil:
			s.recorder.fail(err)
		default:
			s.recorder.reserved = s.writer(f, all, journal.State{})
			s.recorder.discard = func() error {
				if o.Keep {
					return f.Close()
				}
				return errors.Join(f.Close(), all.Delete(s.ID))
			}
		}
	}
	s.tracker = s.track(false)
	s.Executor.Around, s.Executor.Tries = s.around, s.recorder.tries
	if o.Name != "" {
		s.recorder.write("", journal.Named{Name: o.Name})
	}
	return nil
}

// Rename names the session.
func (s *Session) Rename(name string) error {
	if s.recorder == nil {
		return record.Errorf("can't name this session: it isn't recorded")
	}
	if err := record.Of(s.Directory).CheckName(name, s.ID); err != nil {
		return record.SessionError(err)
	}
	s.recorder.write("", journal.Named{Name: name})
	return nil
}

// recordElsewhere records in the journal of another program, and continues a session that has started there.
func (s *Session) recordElsewhere(e *Elsewhere) error {
	w := journal.NewWriter(e.Log, e.Blobs, e.State)
	w.Mask = s.Tools.Mask
	r := s.recorder
	r.discard = e.Log.Close
	s.Executor.Around, s.Executor.Tries = s.around, r.tries
	if e.State.Opened.ID == "" {
		r.reserved = w
		return nil
	}
	first := e.State.Agent("")
	r.before, r.model = first.Turn, first.Model
	var err error
	if s.resumed, err = s.resume(w, ""); err != nil {
		return record.SessionError(err)
	}
	r.w, r.declared = w, s.resumed.declared
	return nil
}

// historyOf returns a function that returns the recorded conversation of an agent as text; nil: there is no journal.
func (s *Session) historyOf(o *Recording) func(by string) (string, error) {
	if o == nil || o.Off || o.Elsewhere != nil || !s.Settings.General.ChatRecording {
		return nil
	}
	return func(by string) (string, error) {
		s.recorder.works() // waits until the journal exists
		var b strings.Builder
		err := record.Of(s.Directory).History(&b, s.ID, by)
		return b.String(), err
	}
}

// keeps returns what compactions of an agent's conversation keep besides prompts: the approved plan and the to-do list.
func (s *Session) keeps(by string) (texts []string) {
	if plan := s.Tools.Plan(); plan != "" && by == "" {
		texts = append(texts, "The plan that the user approved:\n"+plan)
	}
	if list := s.Tools.Todos(by); len(list) > 0 {
		texts = append(texts, "The to-do list:\n"+list.Markdown())
	}
	return texts
}

// writer returns the writer of a journal. It masks known secrets.
func (s *Session) writer(log journal.Log, all record.Sessions, state journal.State) *journal.Writer {
	w := journal.NewWriter(log, all.Store(), state)
	w.Mask = s.Tools.Mask
	return w
}

// reopen opens a session to continue it.
func (s *Session) reopen(all record.Sessions, o *Recording) error {
	id := s.ID
	var err error
	if o.Fork {
		if err = record.Of(s.Directory).Fork(o.Resume, 0, s.ID); readOnly(err) {
			id = o.Resume // it is only read
		} else if err != nil {
			return err
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
		return err
	}
	for _, note := range repaired(f.Repair) {
		s.Env.Warn("session %s: %s", s.ID, note)
	}
	if n := state.Lost.Contents; n > 0 {
		s.Env.Warn("session %s: %d of its long texts and media can't be read from %s, and a note replaces each: %v",
			s.ID, n, all.Store().Dir(), state.Lost.Err)
	}
	first := state.Agent("")
	r := s.recorder
	r.before, r.model = first.Turn, first.Model
	lost := record.LostCalls(filepath.Join(all.Dir(o.Resume), record.LostName))
	if unwritable == nil {
		w := s.writer(f, all, state)
		if s.resumed, unwritable = s.resume(w, lost); unwritable == nil {
			r.w, r.declared = w, s.resumed.declared
			return nil
		}
	}
	r.fail(unwritable)
	s.resumed, err = s.resume(journal.NewWriter(unwritten{}, all.Store(), state), lost)
	return errors.Join(err, f.Close())
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
