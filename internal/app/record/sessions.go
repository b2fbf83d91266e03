// Package record is the recorded sessions in Adze's directory: their list, how long they are kept, exports, and undo.
//
//	all := record.Of(directory)
//	id, err := all.Latest()
//	u, err := all.OpenUndo(id, record.Selection{}, environ)
package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/journal/export"
)

// Sessions are the recorded sessions in Adze's directory, with what is saved beside their journals.
type Sessions struct {
	journal.Sessions
	directory project.Directory
}

// Of returns the recorded sessions for a working directory.
func Of(d project.Directory) Sessions { return Sessions{journal.Sessions{Home: d.Home}, d} }

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
		return Errorf("line %d of the session's journal can't be read: not a valid entry\nThe "+
			"journal is %s.", broken.Line, broken.Path)
	case errors.Is(err, journal.ErrNewer):
		next = "Update Adze to continue it. 'adze session show' and 'adze session export' can read it."
	default:
		return Errorf("%v", err)
	}
	return Errorf("%v\n%s", err, next)
}

// maxMatches is the maximum number of sessions in an error.
const maxMatches = 8

// Recorded returns the recorded sessions of the directory, or of all directories, the newest first.
func (f Sessions) Recorded(all bool) ([]journal.Info, error) {
	found, err := f.List()
	if err != nil {
		return nil, err
	}
	if !all {
		found = slices.DeleteFunc(found, func(s journal.Info) bool { return s.CWD != f.directory.Path })
	}
	return found, nil
}

// Latest returns the ID of the directory's newest session that has a prompt.
func (f Sessions) Latest() (string, error) {
	found, err := f.Recorded(false)
	if err != nil {
		return "", err
	}
	for _, s := range found {
		if s.Title != "" || s.Turns > 0 { // a prompt without text has no title
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("no session to continue in %s\nSee 'adze session list --all'.", f.directory.Path)
}

// DeleteSession deletes a session and its saved results.
func (f Sessions) DeleteSession(id string) error {
	if err := f.Delete(id); err != nil {
		return err
	}
	_, err := f.removeRest(id)
	return err
}

// removeRest removes the data of a session besides its journal, and returns its size.
func (f Sessions) removeRest(id string) (int64, error) {
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

// Retain deletes sessions that are too old or too large, and saved results without a session, for a limited time. When
// it returns, the deletion has stopped, unless the user is in a hurry or the file system hangs.
func (f Sessions) Retain(g settings.General) {
	mark := filepath.Join(f.Home, retained)
	if info, err := os.Lstat(mark); err == nil && f.directory.Env.Time().Sub(info.ModTime()).Abs() < retentionPause {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), retentionTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if f.CleanUp(ctx, g) == nil && ctx.Err() == nil { // otherwise it is tried again next time
			now := f.directory.Env.Time()
			if os.WriteFile(mark, nil, 0o600) == nil {
				os.Chtimes(mark, now, now)
			}
		}
	}()
	select {
	case <-done:
	case <-f.directory.Env.Hurry:
	case <-time.After(2 * retentionTime):
	}
}

// CleanUp deletes until ctx ends.
func (f Sessions) CleanUp(ctx context.Context, g settings.General) error {
	stop := func() bool { return ctx.Err() != nil }
	ids, err := f.IDs()
	if err == nil {
		err = f.cleanStores(ids, stop) // first: what killed sessions don't need counts too
	}
	results, rest := f.otherBytes(stop)
	_, failed := f.Clean(journal.Limits{
		MaxAge: time.Duration(max(g.CleanupPeriodDays, 0)) * 24 * time.Hour, MaxBytes: max(g.MaxStateBytes, 0),
		Other: results + rest - undo.OpenBytes(f.Home), Now: f.directory.Env.Time(),
		Removed: func(id string) int64 {
			n, _ := f.removeRest(id) // tried again next time
			return n
		},
		Stop: stop,
	})
	err = errors.Join(err, failed)
	if ids, failed = f.IDs(); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, spill.Clean(f.Home, f.directory.Env.Time(), spill.Age, func(id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return found || stop()
	}))
}

// cleanStores removes undo data of sessions that no longer exist, and data that killed ones don't need.
func (f Sessions) cleanStores(ids []string, stop func() bool) error {
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
func (f Sessions) compact(id string) error {
	lock, _, err := f.Open(id)
	if err != nil {
		return nil // it is running, or can't be read
	}
	defer lock.Close()
	names, err := f.UndoNames(id)
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
func (f Sessions) Use() (Use, error) {
	size, err := f.Size()
	use := Use{Size: size}
	use.Results, use.Other = f.otherBytes(func() bool { return false })
	return use, err
}

// otherBytes returns the space besides sessions and their contents: that of saved results, and of the rest.
func (f Sessions) otherBytes(stop func() bool) (results, rest int64) {
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

// maskedWriter masks tokens, which journals of older versions may contain.
type maskedWriter struct {
	to     io.Writer
	stream redact.Stream
	err    error
}

func (w *maskedWriter) give(p []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
}

func (w *maskedWriter) Write(p []byte) (int, error) {
	w.stream.Write(p, w.give)
	return len(p), w.err
}

func (w *maskedWriter) close() error {
	w.stream.Flush(w.give)
	return w.err
}

// ExportFormats returns the formats of an export.
func ExportFormats() []string { return []string{"md", "html", "json"} }

// Export writes a recorded session in a format for users or programs; "" is Markdown.
func (f Sessions) Export(w io.Writer, id, format string) error {
	log, err := f.Entries(id)
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
		return Errorf("session %s has no entries: %s is empty, or was cut in its first line", id,
			log.Path())
	}
	masked := &maskedWriter{to: w, stream: redact.NewMask(nil, redact.NewTable(nil)).Stream()}
	out := bufio.NewWriterSize(masked, 64<<10)
	if err := write(out, log.Read(1), f.Store()); err != nil {
		return SessionError(err)
	}
	if log.Torn() {
		f.directory.Env.Warn("%s was cut in the middle of its last entry, which is missing here", log.Path())
	}
	return errors.Join(out.Flush(), masked.close())
}

// UndoNames returns the contents that undo needs for a session.
func (f Sessions) UndoNames(id string) (map[string]bool, error) {
	log, err := f.Entries(id)
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return undo.Names(log.Read(1), f.Store())
}

// Fork copies a session up to an entry, with its undo data.
func (f Sessions) Fork(id string, seq int64, newID string) error {
	if err := f.Sessions.Fork(id, seq, newID); err != nil {
		return err
	}
	names, err := f.UndoNames(newID)
	if err == nil {
		err = undo.CopyStore(f.Home, id, newID, names)
	}
	return err
}

// Errorf returns an error about a recorded session.
func Errorf(format string, args ...any) error {
	return project.Errorf(project.ErrSession, format, args...)
}
