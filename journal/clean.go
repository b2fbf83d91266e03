package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Limits select the sessions that Clean keeps.
type Limits struct {
	MaxAge   time.Duration // since the last entry; 0: any
	MaxBytes int64         // of all sessions, contents and Other; 0: any
	Other    int64         // further bytes in Adze's directory
	Now      time.Time     // zero: now
	// Removed is called after a session was removed, to remove other data of it, and returns the size of that data.
	Removed func(id string) int64
	// Stop, if not nil, reports whether Clean should end early.
	Stop func() bool
}

// Cleaned is what Clean removed.
type Cleaned struct {
	Sessions []string
	Contents int
	Bytes    int64
}

// Clean removes sessions that are too old, then the oldest ones while the total is too large, and contents that no
// session uses. It never removes a session that a process has open. It continues after an error.
func (s Sessions) Clean(l Limits) (Cleaned, error) {
	if l.Now.IsZero() {
		l.Now = time.Now()
	}
	var done Cleaned
	all, err := s.LastUsed()
	errs := []error{err, s.sweep()}
	var over int64 // bytes
	if l.MaxBytes > 0 {
		size, err := s.Size()
		errs, over = append(errs, err), size.Sessions+size.Contents+l.Other-l.MaxBytes
	}
	var contents shares
	if over > 0 {
		if contents, err = s.removeUnused(&done, l.Now); err != nil {
			return done, errors.Join(append(errs, err)...)
		}
		over -= done.Bytes
	}
	for _, a := range all {
		if old := l.MaxAge > 0 && l.Now.Sub(a.Last) > l.MaxAge; !old && over <= 0 || l.Stop != nil && l.Stop() {
			break
		}
		if err := s.Delete(a.ID); err != nil {
			var inUse *InUseError
			if !errors.As(err, &inUse) {
				errs = append(errs, err)
			}
			continue
		}
		freed := a.bytes
		if l.Removed != nil {
			freed += l.Removed(a.ID)
		}
		done.Sessions, done.Bytes = append(done.Sessions, a.ID), done.Bytes+freed
		over -= freed + contents.drop(a.ID)
	}
	if info, err := os.Lstat(s.deletedMark()); err == nil {
		if _, err = s.removeUnused(&done, l.Now); err == nil && info.ModTime().Before(l.Now.Add(-newFor)) {
			err = os.Remove(s.deletedMark())
		}
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

// deletedMark is a file that exists while the store may have contents of deleted sessions: those that are new are
// removed later.
func (s Sessions) deletedMark() string { return filepath.Join(s.Home, "deleted") }

// newFor is how long a content isn't removed, because a session that is being written may name it.
const newFor = 2 * touchAfter

// shares are the contents that each session uses, and how many sessions use each.
type shares struct {
	names map[string]map[string]bool // by session
	count map[string]int             // by content
	bytes map[string]int64           // by content
}

// drop returns the bytes of the contents that only this session uses.
func (s shares) drop(id string) int64 {
	var sum int64
	for name := range s.names[id] {
		if s.count[name]--; s.count[name] == 0 {
			sum += s.bytes[name]
		}
	}
	return sum
}

// Used is when a session was last used.
type Used struct {
	ID    string
	Last  time.Time
	bytes int64
}

// LastUsed returns all sessions of this user, the oldest first. It uses the modification times of their files.
func (s Sessions) LastUsed() ([]Used, error) {
	ids, err := s.IDs()
	var all []Used
	for _, id := range ids {
		info, err := os.Lstat(filepath.Join(s.Dir(id), journalName))
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Lstat(s.Dir(id)) // killed while it was created
		}
		if err != nil {
			continue
		}
		if _, foreign := owner(info); !foreign {
			all = append(all, Used{id, info.ModTime(), treeSize(s.Dir(id))})
		}
	}
	sorted.By(all, func(a, b Used) int { return a.Last.Compare(b.Last) })
	return all, err
}

// sweep removes what a killed Delete left.
func (s Sessions) sweep() error {
	entries, err := os.ReadDir(filepath.Join(s.Home, sessionsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), goneName) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Home, sessionsName, e.Name())))
		}
	}
	return err
}

// Size is how much space sessions take.
type Size struct {
	Count    int   // sessions
	Sessions int64 // bytes of their directories
	Contents int64 // bytes in the store
}

// Size measures the sessions.
func (s Sessions) Size() (Size, error) {
	ids, err := s.IDs()
	size := Size{Count: len(ids)}
	for _, id := range ids {
		size.Sessions += treeSize(s.Dir(id))
	}
	size.Contents = treeSize(filepath.Join(s.Home, storeName))
	return size, err
}

// treeSize returns the total size of the readable files in a directory.
func treeSize(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // skip unreadable files
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// removeUnused removes the contents that no session uses and that are not new. If the contents that a session uses are
// unknown, it removes nothing.
func (s Sessions) removeUnused(done *Cleaned, now time.Time) (shares, error) {
	all := shares{map[string]map[string]bool{}, map[string]int{}, map[string]int64{}}
	ids, err := s.IDs()
	for _, id := range ids {
		all.names[id] = map[string]bool{}
		err = errors.Join(err, s.namedIn(id, all.names[id]))
		for name := range all.names[id] {
			all.count[name]++
		}
	}
	if err != nil {
		return all, err
	}
	store := s.Store()
	before := now.Add(-newFor)
	return all, store.each(func(ref Ref, path string, info fs.FileInfo) {
		all.bytes[ref.Blob] = ref.Bytes
		if all.count[ref.Blob] > 0 || info.ModTime().After(before) {
			return
		}
		if ref.Blob == "" {
			_ = os.Remove(path) // Clean tries again the next time
			return
		}
		if store.remove(path, before) == nil {
			done.Contents++
			done.Bytes += info.Size()
		}
	})
}

// namedIn adds the contents that any file of a session names: the journal, and lines that were removed from it.
func (s Sessions) namedIn(id string, used map[string]bool) error {
	entries, err := os.ReadDir(s.Dir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), journalName) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(s.Dir(id), e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = namedBy(f, used)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// namedBy finds the names of contents in a text of any length.
func namedBy(r io.Reader, used map[string]bool) error {
	const length = len(hashPrefix) + 64
	buf := make([]byte, 0, 1<<20)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		rest := buf
		for {
			i := bytes.Index(rest, []byte(hashPrefix))
			if i < 0 || len(rest)-i < length {
				break
			}
			used[string(rest[i:i+length])] = true
			rest = rest[i+len(hashPrefix):]
		}
		buf = append(buf[:0], rest[max(0, len(rest)-length):]...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
