package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
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
	minArchived = 16 << 10             // smaller journals stay as they are
	// typeArchived is the type of the third entry of a short journal. It and those after it name the contents that the
	// journal uses, so that these aren't removed.
	typeArchived    Type = "archived"
	archivedVersion      = Version + 1
	namesInEntry         = 5000
)

// archived is the data of an entry of typeArchived.
type archived struct {
	Contents []string `json:"contents,omitempty"`
}

func (archived) Type() Type { return typeArchived }

// isArchived reports whether a journal is the short one of an archived session.
func isArchived(f io.ReaderAt) bool {
	start := make([]byte, 64<<10)
	n, _ := f.ReadAt(start, 0)
	lines := bytes.SplitN(start[:n], []byte("\n"), 4)
	if len(lines) < 4 {
		return false
	}
	e, _, ok := head(lines[2])
	return ok && e.Type == typeArchived
}

// Archive compresses the journals that weren't used for a time. It skips those that a process has open, and continues
// after an error. stop, if not nil, reports whether to end early.
func (s Sessions) Archive(unused time.Duration, now time.Time, stop func() bool) error {
	all, err := s.LastUsed()
	for _, a := range all {
		if now.Sub(a.Last) < unused || stop != nil && stop() {
			break
		}
		failed := s.archive(a.ID)
		var used *InUseError
		if failed != nil && !errors.As(failed, &used) {
			err = errors.Join(err, fmt.Errorf("compress session %s: %w", a.ID, failed))
		}
	}
	return err
}

func (s Sessions) archive(id string) error {
	f, err := s.journal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < minArchived || isArchived(f) {
		return err
	}
	lock, err := lockSession(s.Dir(id), id)
	if err != nil {
		return err
	}
	defer release(lock)
	if now, err := os.Lstat(s.Path(id)); err != nil || !os.SameFile(info, now) {
		return err // another process archived it, or it was deleted
	}
	short, err := s.short(id)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = io.Copy(z, f)
	err = errors.Join(err, z.Close())
	f.Close() // some systems don't replace an open file
	if err == nil {
		err = s.replace(id, archiveName, info.ModTime(), packed.Bytes())
	}
	if err == nil {
		err = s.replace(id, journalName, info.ModTime(), short)
	}
	return err
}

// short returns the journal of an archived session: what a list shows, and the contents that the session uses.
func (s Sessions) short(id string) ([]byte, error) {
	i, err := s.Info(id)
	used := map[string]bool{}
	if err == nil {
		err = s.namedIn(id, used)
	}
	all := []Data{
		Opened{ID: id, CWD: i.CWD, Model: i.Model, Parent: i.Parent}, Message{Message: model.Prompt(i.Title)},
		archived{},
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(used)), namesInEntry) {
		all = append(all, archived{names})
	}
	if i.State == StateClosed {
		all = append(all, Closed{Turns: i.Turns, Model: i.Model, Name: i.Name})
	} else {
		all = append(all, Answer{Turns: i.Turns, Model: i.Model, Name: i.Name})
	}
	var out []byte
	for n, data := range all {
		e := Entry{V: archivedVersion, Seq: int64(n + 1), At: i.Created, Type: data.Type()}
		if n == len(all)-1 {
			e.At = i.Updated
		}
		if err == nil {
			e.Data, err = encode(data)
		}
		if err == nil {
			out, err = appendLine(out, e)
		}
	}
	return out, err
}

// replace writes a file of a session so that a killed process leaves the old one or the new one.
func (s Sessions) replace(id, name string, at time.Time, content []byte) error {
	path := filepath.Join(s.Dir(id), newName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return err
	}
	if err := moveTo(filepath.Join(s.Dir(id), name), f, content, at); err != nil {
		return err
	}
	return syncDir(s.Dir(id))
}

// restore replaces the short journal of a session, which is locked, by the whole one.
func (s Sessions) restore(id string) error {
	var whole bytes.Buffer
	f, err := s.entries(id, &whole)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.f != nil { // it is the whole one
		return nil
	}
	info, err := os.Lstat(s.Path(id))
	if err = cmp.Or(f.damage, err); err == nil {
		err = s.replace(id, journalName, info.ModTime(), whole.Bytes())
	}
	if err == nil {
		err = os.Remove(filepath.Join(s.Dir(id), archiveName))
	}
	if err != nil {
		return fmt.Errorf("open session %s: %w", id, err)
	}
	return nil
}

// unpack writes the whole journal of an archived session, as far as it can be read.
func (s Sessions) unpack(id string, whole *bytes.Buffer) error {
	f, err := os.OpenFile(filepath.Join(s.Dir(id), archiveName), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	if err == nil {
		_, err = whole.ReadFrom(z)
	}
	return err
}
