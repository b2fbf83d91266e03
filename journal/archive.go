package journal

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/model"
)

// A session that wasn't used for a while is archived: journal.jsonl.gz has its journal, and journal.jsonl only what a
// list of sessions shows. A killed process leaves a complete journal.jsonl, with or without a copy: it counts. Versions
// of Adze that know no archives list the session, and refuse to continue what a newer version wrote.
const (
	archiveName = journalName + ".gz"
	newName     = journalName + ".new" // a file that replaces another
	copyName    = "adze-journal-*"     // for readers of an archive
	minArchived = 16 << 10             // smaller journals stay as they are
	// typeArchived marks the third entry of the short journal. Contents that the journal uses are named in it and in
	// entries after it, so that they are not removed.
	typeArchived    Type = "archived"
	archivedVersion      = Version + 1
	namesInEntry         = 5000
)

// archived is the data of an entry of typeArchived.
type archived struct {
	Bytes    int64    `json:"bytes,omitempty"`
	Contents []string `json:"contents,omitempty"`
}

// isArchived reports whether a journal is the short one of an archived session.
func isArchived(f *os.File) bool {
	const start = 64 << 10
	in := readLines(f, 0, start)
	for range 3 {
		line, _, _, err := in.next()
		if err != nil {
			return false
		}
		if e, _, ok := head(line); ok && e.Type == typeArchived {
			return true
		}
	}
	return false
}

// Archive compresses the journals that weren't used for a time. It skips those that a process has open, and continues
// after an error. stop, if not nil, reports whether to end early.
func (s Sessions) Archive(unused time.Duration, now time.Time, stop func() bool) error {
	all, err := s.ages()
	for _, a := range all {
		if now.Sub(a.last) < unused || stop != nil && stop() {
			break
		}
		failed := s.archive(a.id)
		var used *InUseError
		if failed != nil && !errors.As(failed, &used) {
			err = errors.Join(err, fmt.Errorf("compress session %s: %w", a.id, failed))
		}
	}
	return err
}

func (s Sessions) archive(id string) error {
	f, err := s.journal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	skip := err == nil && (info.Size() < minArchived || isArchived(f))
	f.Close()
	if err != nil || skip {
		return err
	}
	lock, err := lockSession(s.Dir(id), id)
	if err != nil {
		return err
	}
	defer release(lock)
	if f, err = s.journal(id, os.O_RDONLY); err != nil { // it may have changed before it was locked
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || isArchived(f) {
		return err
	}
	short, err := s.short(id, info.Size())
	if err != nil {
		return err
	}
	err = s.replace(id, archiveName, info.ModTime(), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, f)
		return errors.Join(err, z.Close())
	})
	if err == nil {
		err = s.replace(id, journalName, info.ModTime(), func(w io.Writer) error {
			_, err := w.Write(short)
			return err
		})
	}
	return err
}

// short returns the journal of an archived session: what a list shows, and the contents that the session uses.
func (s Sessions) short(id string, size int64) ([]byte, error) {
	i, err := s.Info(id)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	if err := s.namedIn(id, used); err != nil {
		return nil, err
	}
	opened := Opened{ID: id, CWD: i.CWD, Model: i.Model, Parent: i.Parent}
	data := []any{opened, Message{Message: model.Prompt(i.Title)}, archived{Bytes: size}}
	types := []Type{TypeOpened, TypeMessage, typeArchived}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(used)), namesInEntry) {
		data, types = append(data, archived{Contents: names}), append(types, typeArchived)
	}
	last := TypeAnswer
	if i.State == StateClosed {
		last = TypeClosed
	}
	data, types = append(data, Closed{Turns: i.Turns, Model: i.Model, Name: i.Name}), append(types, last)
	var out []byte
	for n := range data {
		e := Entry{V: archivedVersion, Seq: int64(n + 1), At: i.Created, Type: types[n]}
		if n == len(data)-1 {
			e.At = i.Updated
		}
		if known, ok := data[n].(Data); ok {
			e.Data, err = encode(known)
		} else {
			e.Data, err = json.Marshal(data[n])
		}
		if err == nil {
			out, err = appendLine(out, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replace writes a file of a session so that a killed process leaves the old one or the new one.
func (s Sessions) replace(id, name string, at time.Time, write func(io.Writer) error) error {
	path := filepath.Join(s.Dir(id), newName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync())
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Chtimes(path, at, at)
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(s.Dir(id), name))
	}
	if err != nil {
		os.Remove(path)
		return err
	}
	return syncDir(s.Dir(id))
}

// restore replaces the short journal of a session, which is locked, by the whole one.
func (s Sessions) restore(id string) error {
	f, err := s.journal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	is := isArchived(f)
	info, err := f.Stat()
	f.Close()
	if err != nil || !is {
		return err
	}
	err = s.replace(id, journalName, info.ModTime(), func(w io.Writer) error { return s.unpackTo(w, id) })
	var damaged *damagedError
	if errors.As(err, &damaged) {
		return fmt.Errorf("%w\nThe entries before the damage can be read: adze session show %s", err, id)
	}
	if err != nil {
		return err
	}
	return os.Remove(filepath.Join(s.Dir(id), archiveName))
}

// unpackTo writes the whole journal of an archived session, as far as it can be read.
func (s Sessions) unpackTo(w io.Writer, id string) error {
	path := filepath.Join(s.Dir(id), archiveName)
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return &damagedError{path, err}
	}
	in := &source{from: z}
	_, err = io.Copy(w, in)
	if in.err != nil && in.err != io.EOF {
		return &damagedError{path, in.err}
	}
	return err
}

// source remembers the error of a reader: io.Copy also returns those of the writer.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (n int, err error) {
	n, s.err = s.from.Read(p)
	return n, s.err
}

// damagedError reports an archive that can't be read to its end.
type damagedError struct {
	path string
	err  error
}

func (e *damagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.path, e.err) }
func (e *damagedError) Unwrap() error { return e.err }

// whole returns the journal, to read: of an archived session a copy, and the path that it has if it can't be removed
// yet. A damaged archive ends like a journal that was cut.
func (s Sessions) whole(id string, f *os.File) (*os.File, string, error) {
	for isArchived(f) {
		temp, err := os.CreateTemp(s.Dir(id), copyName)
		if err != nil { // another user's, or on a read-only disk
			temp, err = os.CreateTemp("", copyName)
		}
		if err != nil {
			f.Close()
			return nil, "", fmt.Errorf("open session %s: %w", id, err)
		}
		path := temp.Name()
		if movesOpen && os.Remove(path) == nil {
			path = ""
		}
		err = s.unpackTo(temp, id)
		f.Close()
		var damaged *damagedError
		if err == nil || errors.As(err, &damaged) {
			return temp, path, nil
		}
		temp.Close()
		if path != "" {
			os.Remove(path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("open session %s: %w", id, err)
		}
		// Another process may have restored it.
		if f, err = s.journal(id, os.O_RDONLY); err != nil {
			return nil, "", err
		}
		if isArchived(f) {
			f.Close()
			return nil, "", fmt.Errorf("open session %s: %s is missing", id, filepath.Join(s.Dir(id), archiveName))
		}
	}
	return f, "", nil
}
