package journal

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Fork makes a session from the entries of another one up to seq; 0: all. The new session's first entry names both. The
// other session can be in use. The new one isn't opened.
func (s Sessions) Fork(id string, seq int64, newID string) error {
	from, state, err := s.View(id)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.Create(newID)
	if err != nil {
		return err
	}
	err = s.copyTo(to, from, Parent{ID: id, Seq: cmp.Or(seq, state.Seq)}, seq)
	err = errors.Join(err, to.Close())
	if err != nil {
		os.RemoveAll(s.Dir(newID))
		return fmt.Errorf("fork session %s: %w", id, err)
	}
	return nil
}

func (s Sessions) copyTo(to, from *File, parent Parent, seq int64) error {
	out := bufio.NewWriterSize(to.f, 1<<20)
	var line []byte
	var last int64
	for e, err := range from.Read(1) {
		var broken *BrokenError
		if errors.As(err, &broken) && last > 0 && seq == 0 {
			break // the entries before it are valid
		}
		if err != nil {
			return err
		}
		if seq > 0 && e.Seq > seq {
			break
		}
		if e.V > Version {
			return ErrNewer
		}
		if e.Seq == 1 {
			if e, err = s.forked(e, to, parent); err != nil {
				return err
			}
		}
		if line, err = appendLine(line[:0], e); err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
		last = e.Seq
	}
	switch {
	case last == 0:
		return errNoEntries
	case seq > 0 && last < seq:
		return fmt.Errorf("entry %d doesn't exist: the last one is %d", seq, last)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	to.last = last
	return to.Sync()
}

// forked returns the first entry of a fork.
func (s Sessions) forked(e Entry, to *File, parent Parent) (Entry, error) {
	data, _, err := Recover(e, s.Store())
	if err != nil {
		return e, err
	}
	opened, ok := data.(Opened)
	if !ok {
		return e, errNoEntries
	}
	opened.ID, opened.Parent = filepath.Base(to.dir), &parent
	raw, err := encode(opened)
	if err != nil {
		return e, err
	}
	e.At = time.Now().UTC().Round(0)
	e.Data, err = pack(raw, s.Store(), nil)
	return e, err
}
