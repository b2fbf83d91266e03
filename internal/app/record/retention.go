package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/spill"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/journal"
)

// What a session has besides its journal expires: contents for undo, and saved results.
const (
	copiesAge   = 30 * 24 * time.Hour // since the session was used
	copiesBytes = 2 << 30             // of all sessions
	archiveAge  = 7 * 24 * time.Hour  // after which journals are compressed
)

// announced is a file that exists once the user knows that copies expire.
const announced = "expiry-announced"

// retentionTime bounds the work at the end of a session; usually it takes milliseconds. The rest is
// deleted next time.
const retentionTime = 5 * time.Second

// retentionPause is how long nothing is deleted after everything was looked at, which takes longer with many sessions.
const retentionPause = time.Hour

// retained is the file whose time is that of the last complete deletion.
const retained = "cleaned"

// Retain compresses journals that aren't used, and deletes copies that are too old or too large, for a limited time. It
// deletes sessions only if the settings say so. When it returns, the work has stopped, unless the user is in a hurry or
// the file system hangs.
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
	err = errors.Join(err, failed, f.expire(stop), f.Archive(archiveAge, f.directory.Env.Time(), stop))
	if ids, failed = f.IDs(); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, spill.Clean(f.Home, f.directory.Env.Time(), spill.Age, func(id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return found || stop()
	}))
}

// expire removes the copies of sessions that weren't used for copiesAge, then the oldest while all of them are larger
// than copiesBytes. Before the first time, it only says so.
func (f Sessions) expire(stop func() bool) error {
	all, err := f.LastUsed()
	sizes := map[string]int64{}
	var total int64
	for _, s := range all {
		sizes[s.ID] = undo.Bytes(f.Home, s.ID) + spill.Bytes(f.Home, s.ID)
		total += sizes[s.ID]
	}
	old := f.directory.Env.Time().Add(-copiesAge)
	for _, s := range all {
		if stop() || !s.Last.Before(old) && total <= copiesBytes {
			break
		}
		if sizes[s.ID] == 0 {
			continue
		}
		if known, failed := f.announce(); !known {
			return errors.Join(err, failed)
		}
		unlock, failed := f.Hold(s.ID)
		if failed != nil {
			continue // it is in use
		}
		removed, failed := f.removeRest(s.ID)
		err = errors.Join(err, failed, unlock())
		total -= removed
	}
	return err
}

// announce tells the user once that copies expire, and reports whether the user knew it.
func (f Sessions) announce() (known bool, err error) {
	path := filepath.Join(f.Home, announced)
	if _, err := os.Lstat(path); err == nil {
		return true, nil
	}
	f.directory.Env.Warn("copies for undo and saved results of sessions that weren't used for 30 days " +
		"will be deleted; the sessions stay")
	return false, os.WriteFile(path, nil, 0o600)
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
