package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/spill"
	"github.com/adze-dev/adze/internal/undo"
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
		if s.Title != "" || s.Turns > 0 { // a prompt without text has no title
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
	_, err := f.removeRest(id)
	return err
}

// removeRest removes what belongs to a session besides its journal, and returns the bytes of that.
func (f Folder) removeRest(id string) (int64, error) {
	results, err := spill.Remove(f.Home, id)
	saved, failed := undo.RemoveStore(f.Home, id)
	return results + saved, errors.Join(err, failed)
}

// retentionTime is how long the end of a session waits at most for the deletion of old ones; usually it takes milliseconds.
// What is left is deleted next time.
const retentionTime = 5 * time.Second

// retain deletes sessions that are too old or take too much space, and saved results that no session has, for a while. When it
// returns, nothing is being deleted anymore, unless the user is in a hurry or the file system hangs.
func (s *Session) retain() {
	ctx, cancel := context.WithTimeout(context.Background(), retentionTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.clean(ctx) // what can't be deleted now is tried again
	}()
	select {
	case <-done:
	case <-s.env.Hurry:
	case <-time.After(2 * retentionTime):
	}
}

// clean deletes until ctx ends.
func (s *Session) clean(ctx context.Context) error {
	all, g := s.Folder.Sessions(), s.Settings.General
	stop := func() bool { return ctx.Err() != nil }
	results, rest := s.Folder.otherBytes(stop)
	_, err := all.Clean(journal.Limits{
		MaxAge: time.Duration(max(g.CleanupPeriodDays, 0)) * 24 * time.Hour, MaxBytes: max(g.MaxStateBytes, 0), Other: results + rest, Now: s.env.now(),
		Removed: func(id string) int64 {
			n, _ := s.Folder.removeRest(id) // tried again with the next cleaning
			return n
		},
		Stop: stop,
	})
	ids, failed := all.IDs()
	if failed != nil {
		return errors.Join(err, failed)
	}
	err = errors.Join(err, s.Folder.cleanStores(ids, stop))
	return errors.Join(err, spill.Clean(s.Folder.Home, s.env.now(), spill.Age, func(id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return found || stop()
	}))
}

// cleanStores removes what is kept for undo of sessions that don't exist, and what killed ones don't need.
func (f Folder) cleanStores(ids []string, stop func() bool) error {
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

// compact drops what a session that was killed saved of its workspace and doesn't need.
func (f Folder) compact(id string) error {
	lock, _, err := f.Sessions().Open(id)
	if err != nil {
		return nil // it runs, or can't be read
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

// Total is all of it.
func (u Use) Total() int64 { return u.Sessions + u.Contents + u.Results + u.Other }

// Use measures Adze's directory.
func (f Folder) Use() (Use, error) {
	size, err := f.Sessions().Size()
	use := Use{Size: size}
	use.Results, use.Other = f.otherBytes(func() bool { return false })
	return use, err
}

// otherBytes is the space besides sessions and their contents: that of saved results, and of the rest.
func (f Folder) otherBytes(stop func() bool) (results, rest int64) {
	_ = filepath.WalkDir(f.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case stop():
			return fs.SkipAll
		case err != nil:
			return nil // what can't be read isn't counted
		case d.IsDir() && (path == filepath.Join(f.Home, "sessions") || path == filepath.Join(f.Home, "store")):
			return fs.SkipDir
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if rel, err := filepath.Rel(filepath.Join(f.Home, "spill"), path); err == nil && filepath.IsLocal(rel) {
				results += info.Size()
			} else {
				rest += info.Size()
			}
		}
		return nil
	})
	return results, rest
}
