package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/spill"
	"github.com/adze-dev/adze/journal"
)

// Recorded are the recorded sessions of the directory, or of all directories, the newest first.
func (f Folder) Recorded(all bool) ([]journal.Info, error) {
	found, err := f.Sessions().List()
	if err != nil {
		return nil, err
	}
	if !all {
		found = slices.DeleteFunc(found, func(s journal.Info) bool { return s.CWD != f.Path })
	}
	return found, nil
}

// Latest is the ID of the directory's newest session that has a prompt.
func (f Folder) Latest() (string, error) {
	found, err := f.Recorded(false)
	if err != nil {
		return "", err
	}
	for _, s := range found {
		if s.Title != "" {
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("no session to continue in %s\nSee 'adze session list --all'.", f.Path)
}

// DeleteSession deletes a session and its saved results.
func (f Folder) DeleteSession(id string) error {
	if err := f.Sessions().Delete(id); err != nil {
		return err
	}
	_, err := spill.Remove(f.Home, id)
	return err
}

// retentionTime is how long the end of a session waits for the deletion of old ones. What is left is deleted next time.
const retentionTime = 500 * time.Millisecond

// retain deletes sessions that are too old or take too much space, and saved results that no session has. It runs in the
// background, so that a start doesn't wait for it, and an end only shortly.
func (s *Session) retain() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.clean() // what can't be deleted now is tried again
	}()
	select {
	case <-done:
	case <-s.env.Hurry:
	case <-time.After(retentionTime):
	}
}

func (s *Session) clean() error {
	all, g := s.Folder.Sessions(), s.Settings.General
	_, err := all.Clean(journal.Limits{
		MaxAge: time.Duration(g.CleanupPeriodDays) * 24 * time.Hour, MaxBytes: g.MaxStateBytes, Other: s.Folder.otherBytes(),
		Removed: func(id string) int64 {
			n, _ := spill.Remove(s.Folder.Home, id) // tried again with the next cleaning
			return n
		},
	})
	ids, failed := all.IDs()
	if failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, spill.Clean(s.Folder.Home, time.Now(), spill.Age, func(id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return found
	}))
}

// otherBytes is the space in Adze's directory besides sessions and their contents.
func (f Folder) otherBytes() int64 {
	var sum int64
	_ = filepath.WalkDir(f.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what can't be read isn't counted
		case d.IsDir() && (path == filepath.Join(f.Home, "sessions") || path == filepath.Join(f.Home, "store")):
			return fs.SkipDir
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
