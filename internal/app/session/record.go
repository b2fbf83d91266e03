package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/journal/export"
)

// Recording configures how a session is recorded.
type Recording struct {
	ID     string // of a new session; "": any
	Resume string // the full ID of a session to continue; "": none
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

// Sessions returns the recorded sessions.
func (f Directory) Sessions() journal.Sessions { return journal.Sessions{Home: f.Home} }

// record starts recording, and restores the state of a resumed session.
func (s *Session) record(o *Recording) error {
	if o == nil || o.Off || !s.Settings.General.ChatRecording {
		if o != nil && o.Resume != "" {
			return Errorf(ErrSession, "can't resume session %s: sessions aren't recorded (general.chatRecording)",
				o.Resume)
		}
		return nil
	}
	all := s.Directory.Sessions()
	s.recorder = &recorder{tools: s.Tools, todos: map[string]string{},
		tell: func(err error) { s.Env.Notice(notRecorded(err)) },
		opened: func() journal.Opened {
			return journal.Opened{
				ID: s.ID, CWD: s.Directory.Path, Roots: s.Tools.Roots(), Version: s.Env.Version,
				Mode: s.Policy.Mode().String(),
			}
		}}
	if o.Elsewhere != nil {
		return s.recordElsewhere(o.Elsewhere)
	}
	s.recorder.create = func() (*journal.Writer, error) {
		f, err := all.Create(s.ID)
		if err != nil {
			return nil, err
		}
		return s.writer(f, all, journal.State{}), nil
	}
	lost := filepath.Join(all.Dir(s.ID), lostName)
	s.recorder.lose = func(calls []string) { // without space the file stays empty; the session may not have a directory
		_ = os.WriteFile(lost, []byte(s.Tools.Mask(strings.Join(calls, "\n"))), 0o600)
	}
	switch {
	case o.Resume != "":
		if err := s.reopen(all, o); err != nil {
			return SessionError(err)
		}
		if s.recorder.w != nil {
			os.Remove(lost)
		}
	case o.ID != "" || o.Keep:
		f, err := all.Create(s.ID) // immediately: the ID may exist
		var taken *journal.ExistsError
		switch {
		case errors.As(err, &taken):
			return SessionError(err)
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
	s.tracker = s.track()
	s.recorder.tracker = s.tracker
	s.Executor.Around, s.Executor.Tries = s.recorder.around, s.recorder.tries
	return nil
}

// recordElsewhere records in the journal of another program, and continues a session that has started there.
func (s *Session) recordElsewhere(e *Elsewhere) error {
	w := journal.NewWriter(e.Log, e.Blobs, e.State)
	w.Mask = s.Tools.Mask
	r := s.recorder
	r.discard = e.Log.Close
	s.Executor.Around, s.Executor.Tries = r.around, r.tries
	if e.State.Opened.ID == "" {
		r.reserved = w
		return nil
	}
	first := e.State.Agent("")
	r.before, r.model = first.Turn, first.Model
	var err error
	if s.resumed, err = s.resume(w, ""); err != nil {
		return SessionError(err)
	}
	r.w, r.declared = w, s.resumed.declared
	return nil
}

// writer returns the writer of a journal. It masks known secrets.
func (s *Session) writer(log journal.Log, all journal.Sessions, state journal.State) *journal.Writer {
	w := journal.NewWriter(log, all.Store(), state)
	w.Mask = s.Tools.Mask
	return w
}

// reopen opens a session to continue it.
func (s *Session) reopen(all journal.Sessions, o *Recording) error {
	id := s.ID
	var err error
	if o.Fork {
		if err = s.Directory.Fork(o.Resume, 0, s.ID); readOnly(err) {
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
	lost := lostCalls(filepath.Join(all.Dir(o.Resume), lostName))
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

// SessionError returns an error about a recorded session, with the next step.
func SessionError(err error) error {
	var unknown *journal.UnknownError
	var many *journal.AmbiguousError
	var used *journal.InUseError
	var taken *journal.ExistsError
	var foreign *journal.ForeignError
	var broken *journal.BrokenError
	next := ""
	switch {
	case errors.As(err, &unknown) && len(unknown.Close) > 0:
		next = "Did you mean " + strings.Join(unknown.Close, " or ") + "?"
	case errors.As(err, &unknown):
		next = "See 'adze session list --all'."
	case errors.As(err, &many):
		next = "Use more characters of one of these: " + strings.Join(many.Matches[:min(len(many.Matches), maxMatches)],
			", ")
	case errors.As(err, &used):
		next = "Close it there, or continue a copy with --fork-session."
	case errors.As(err, &taken):
		next = "Use another ID, or continue it with --resume."
	case errors.As(err, &foreign), errors.Is(err, fs.ErrPermission):
		next = "Only its owner can use it. ADZE_HOME chooses the directory of your own sessions."
	case errors.As(err, &broken):
		return Errorf(ErrSession, "line %d of the session's journal can't be read: not a valid entry\nThe "+
			"journal is %s.", broken.Line, broken.Path)
	case errors.Is(err, journal.ErrNewer):
		next = "Update Adze to continue it. 'adze session show' and 'adze session export' can read it."
	default:
		return Errorf(ErrSession, "%v", err)
	}
	return Errorf(ErrSession, "%v\n%s", err, next)
}

// maxMatches is the maximum number of sessions in an error.
const maxMatches = 8

// Recorded returns the recorded sessions of the directory, or of all directories, the newest first.
func (f Directory) Recorded(all bool) ([]journal.Info, error) {
	found, err := f.Sessions().List()
	if err != nil {
		return nil, err
	}
	if !all {
		found = slices.DeleteFunc(found, func(s journal.Info) bool { return s.CWD != f.Path })
	}
	return found, nil
}

// Latest returns the ID of the directory's newest session that has a prompt.
func (f Directory) Latest() (string, error) {
	found, err := f.Recorded(false)
	if err != nil {
		return "", err
	}
	for _, s := range found {
		if s.Title != "" || s.Turns > 0 { // a prompt without text has no title
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("no session to continue in %s\nSee 'adze session list --all'.", f.Path)
}

// DeleteSession deletes a session and its saved results.
func (f Directory) DeleteSession(id string) error {
	if err := f.Sessions().Delete(id); err != nil {
		return err
	}
	_, err := f.removeRest(id)
	return err
}

// removeRest removes the data of a session besides its journal, and returns its size.
func (f Directory) removeRest(id string) (int64, error) {
	results, err := spill.Remove(f.Home, id)
	saved, failed := undo.RemoveStore(f.Home, id)
	return results + saved, errors.Join(err, failed)
}

// retentionTime bounds the deletion of old sessions at the end of a session; usually it takes milliseconds. The rest is
// deleted next time.
const retentionTime = 5 * time.Second

// retentionPause is how long nothing is deleted after everything was looked at, which takes longer with many sessions.
const retentionPause = time.Hour

// retained is the file whose time is that of the last complete deletion.
const retained = "cleaned"

// retain deletes sessions that are too old or too large, and saved results without a session, for a limited time. When
// it returns, the deletion has stopped, unless the user is in a hurry or the file system hangs.
func (s *Session) retain() {
	mark := filepath.Join(s.Directory.Home, retained)
	if info, err := os.Lstat(mark); err == nil && s.Env.Time().Sub(info.ModTime()).Abs() < retentionPause {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), retentionTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.clean(ctx) == nil && ctx.Err() == nil { // otherwise it is tried again next time
			now := s.Env.Time()
			if os.WriteFile(mark, nil, 0o600) == nil {
				os.Chtimes(mark, now, now)
			}
		}
	}()
	select {
	case <-done:
	case <-s.Env.Hurry:
	case <-time.After(2 * retentionTime):
	}
}

// clean deletes until ctx ends.
func (s *Session) clean(ctx context.Context) error {
	all, g := s.Directory.Sessions(), s.Settings.General
	stop := func() bool { return ctx.Err() != nil }
	ids, err := all.IDs()
	if err == nil {
		err = s.Directory.cleanStores(ids, stop) // first: what killed sessions don't need counts too
	}
	results, rest := s.Directory.otherBytes(stop)
	_, failed := all.Clean(journal.Limits{
		MaxAge: time.Duration(max(g.CleanupPeriodDays, 0)) * 24 * time.Hour, MaxBytes: max(g.MaxStateBytes, 0),
		Other: results + rest - undo.OpenBytes(s.Directory.Home), Now: s.Env.Time(),
		Removed: func(id string) int64 {
			n, _ := s.Directory.removeRest(id) // tried again next time
			return n
		},
		Stop: stop,
	})
	err = errors.Join(err, failed)
	if ids, failed = all.IDs(); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, spill.Clean(s.Directory.Home, s.Env.Time(), spill.Age, func(id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return found || stop()
	}))
}

// cleanStores removes undo data of sessions that no longer exist, and data that killed ones don't need.
func (f Directory) cleanStores(ids []string, stop func() bool) error {
	stores, err := undo.Stores(f.Home)
	for _, id := range stores {
		if stop() {
			break
		}
		if _, found := slices.BinarySearch(ids, id); !found {
			_, failed := undo.RemoveStore(f.Home, id)
			err = errors.Join(err, failed)
		} else if undo.IsOpen(f.Home, id) {
			err = errors.Join(err, f.compact(id))
		}
	}
	return err
}

// compact drops saved workspace data that a killed session doesn't need.
func (f Directory) compact(id string) error {
	lock, _, err := f.Sessions().Open(id)
	if err != nil {
		return nil // it is running, or can't be read
	}
	defer lock.Close()
	names, err := f.undoNames(id)
	if err != nil {
		return err
	}
	store, err := undo.OpenStore(f.Home, id)
	if err != nil {
		return err
	}
	return errors.Join(store.Compact(names), store.Close())
}

// Use is the space that Adze's directory takes, in bytes.
type Use struct {
	journal.Size
	Results int64 // saved results
	Other   int64 // settings, logs, caches
}

// Total returns all of it.
func (u Use) Total() int64 { return u.Sessions + u.Contents + u.Results + u.Other }

// Use measures Adze's directory.
func (f Directory) Use() (Use, error) {
	size, err := f.Sessions().Size()
	use := Use{Size: size}
	use.Results, use.Other = f.otherBytes(func() bool { return false })
	return use, err
}

// otherBytes returns the space besides sessions and their contents: that of saved results, and of the rest.
func (f Directory) otherBytes(stop func() bool) (results, rest int64) {
	_ = filepath.WalkDir(f.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case stop():
			return fs.SkipAll
		case err != nil:
			return nil // skip unreadable files
		case d.IsDir() && (path == filepath.Join(f.Home, "sessions") || path == filepath.Join(f.Home, "store")):
			return fs.SkipDir
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if names.Below(path, filepath.Join(f.Home, "spill")) {
				results += info.Size()
			} else {
				rest += info.Size()
			}
		}
		return nil
	})
	return results, rest
}

// ExportFormats returns the formats of an export.
func ExportFormats() []string { return []string{"md", "html", "json"} }

// Export writes a recorded session in a format for users or programs; "" is Markdown.
func (f Directory) Export(w io.Writer, id, format string) error {
	all := f.Sessions()
	log, err := all.Entries(id)
	if err != nil {
		return SessionError(err)
	}
	defer log.Close()
	write := export.Markdown
	switch format {
	case "html":
		write = export.HTML
	case "json":
		write = export.JSON
	}
	empty := true
	for range log.Read(1) {
		empty = false
		break
	}
	if empty {
		return Errorf(ErrSession, "session %s has no entries: %s is empty, or was cut in its first line", id,
			log.Path())
	}
	out := bufio.NewWriter(w)
	if err := write(out, log.Read(1), all.Store()); err != nil {
		return SessionError(err)
	}
	if log.Torn() {
		f.env.Warn("%s was cut in the middle of its last entry, which is missing here", log.Path())
	}
	return out.Flush()
}
