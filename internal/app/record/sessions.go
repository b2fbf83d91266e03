// Package record is the recorded sessions in Adze's directory: their list, how long they are kept, exports, and undo.
//
//	all := record.Of(directory)
//	id, err := all.Latest()
//	u, err := all.OpenUndo(id, record.Selection{}, environ)
package record

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/redact"
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
		next = "Use more of one of these:\n  " + strings.Join(many.Matches[:min(len(many.Matches), maxMatches)], "\n  ")
	case errors.As(err, &used):
		next = "Close it there, or continue a copy with --fork-session."
	case errors.As(err, &taken):
		next = "Use another ID, or continue it with --resume."
	case errors.As(err, &foreign), errors.Is(err, fs.ErrPermission):
		next = "Only its owner can use it. ADZE_HOME chooses the directory of your own sessions."
	case errors.As(err, &broken) && broken.Damage != nil:
		next = "'adze session show' and 'adze session export' can read the entries before the damage."
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

// maskedWriter masks tokens.
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
	for _, err := range log.Read(1) {
		if err != nil { // nothing can be read
			return Errorf("%v", err)
		}
		empty = false
		break
	}
	if empty {
		return Errorf("session %s has no entries: %s is empty, or was cut in its first line", id,
			log.Path())
	}
	err = writeMasked(w, func(out io.Writer) error { return write(out, log.Read(1), f.Store()) })
	switch {
	case err != nil:
	case log.Torn():
		f.directory.Env.Warn("%s was cut in the middle of its last entry, which is missing here", log.Path())
	}
	return err
}

// History writes the conversation of one agent of a session as text, from its start. Results of calls that read it are
// omitted: they would repeat it, and each other.
func (f Sessions) History(w io.Writer, id, by string) error {
	log, err := f.Entries(id)
	if err != nil {
		return SessionError(err)
	}
	defer log.Close()
	readers := map[string]bool{} // IDs of calls that read the history
	own := func(yield func(journal.Entry, error) bool) {
		for e, err := range log.Read(1) {
			if mine := e.By == by || e.Type == journal.TypeOpened || err != nil; !mine {
				continue
			}
			e.By = ""
			switch e.Type {
			case journal.TypeCalled, journal.TypeStarted:
				if bytes.Contains(e.Data, []byte(`"`+builtin.HistoryPath+`"`)) {
					readers[idOf(e)] = true
				}
			case journal.TypeFinished:
				if len(readers) > 0 && readers[idOf(e)] {
					e.Data = fmt.Appendf(nil, readHistory, idOf(e))
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return writeMasked(w, func(out io.Writer) error { return export.Markdown(out, own, f.Store()) })
}

// readHistory is the outcome of a call that read the history.
const readHistory = `{"id":%q,"outcome":{"name":"","status":"success","result":{"llmContent":"(as here)"},"ms":0}}`

// idOf returns the ID of the call that an entry is about.
func idOf(e journal.Entry) string {
	var d struct {
		ID   string
		Call struct{ ID string }
	}
	_ = json.Unmarshal(e.Data, &d) // an entry without an ID is about no call
	return cmp.Or(d.ID, d.Call.ID)
}

// writeMasked writes a document without tokens, which journals of older versions may contain.
func writeMasked(w io.Writer, write func(io.Writer) error) error {
	masked := &maskedWriter{to: w, stream: redact.NewMask(nil, redact.NewTable(nil)).Stream()}
	out := bufio.NewWriterSize(masked, 64<<10)
	if err := write(out); err != nil {
		return SessionError(err)
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

// NewID returns a unique ID for a session or message.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:]) // every piece of an answer has one: fmt takes five times as long
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
