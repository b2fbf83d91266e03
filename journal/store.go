package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// storeName is the directory of contents in Adze's directory.
const storeName = "store"

// Store stores contents in files named by their hash, for all sessions. The zero value isn't usable: see
// [Sessions.Store].
type Store struct {
	dir string

	mu      sync.Mutex
	pending []string // files whose content may not survive a power failure yet
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// touchAfter is the age from which a content that is added again is marked as new. Contents younger than twice that are
// never removed: the entry that names them may not be written yet.
const touchAfter = 30 * time.Minute

// Put adds a content.
func (s *Store) Put(content []byte) (Ref, error) {
	ref := RefOf(content)
	path, err := s.path(ref)
	if err != nil {
		return Ref{}, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == ref.Bytes {
		if time.Since(info.ModTime()) < touchAfter {
			return ref, nil
		}
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			return ref, nil // otherwise it was just removed
		}
	}
	if err := s.write(path, content); err != nil {
		return Ref{}, fmt.Errorf("add %d bytes to the store: %w", len(content), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, path)
	return ref, nil
}

// write creates the file of a content. A killed process may leave an incomplete file, which is detected by its size and
// replaced.
func (s *Store) write(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return replace(path, content)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempName)
	if err != nil {
		return err
	}
	return moveTo(path, f, content, time.Now())
}

// moveTo writes a new file with this time, and moves it to a path when it is on disk.
func moveTo(path string, f *os.File, content []byte, at time.Time) error {
	_, err := f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Chtimes(f.Name(), at, at)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Get returns a content. A hash mismatch is an error.
func (s *Store) Get(ref Ref) ([]byte, error) {
	path, err := s.path(ref)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = os.ReadFile(path) // it may have been renamed for a moment: see remove
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(ref)
	}
	if err != nil {
		return nil, fmt.Errorf("read from the store: %w", err)
	}
	if sum := sha256.Sum256(content); hashPrefix+hex.EncodeToString(sum[:]) != ref.Blob {
		return nil, fmt.Errorf("read %s from the store: the file was changed", ref.Blob)
	}
	return content, nil
}

// Sync returns when all contents that were added before survive a power failure. On the common file systems, syncing a
// new file makes its name durable too.
func (s *Store) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock() // a concurrent call waits for the same contents
	var wg sync.WaitGroup
	errs := make([]error, len(s.pending))
	for i, path := range s.pending {
		wg.Go(func() { errs[i] = syncFile(path) })
	}
	wg.Wait()
	s.pending = nil
	return errors.Join(errs...)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	return errors.Join(datasync(f), f.Close())
}

const (
	hashPrefix = "sha256:"
	tempName   = ".new-*"
	goneName   = ".gone-" // prefix of files that are being removed
)

// path returns the file of a content.
func (s *Store) path(ref Ref) (string, error) {
	hash, ok := strings.CutPrefix(ref.Blob, hashPrefix)
	if !ok || len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not the name of a content: expected sha256: and 64 hexadecimal digits", ref.Blob)
	}
	return filepath.Join(s.dir, hash[:2], hash[2:]), nil
}

// each calls f with every content of the store.
func (s *Store) each(f func(ref Ref, path string, info fs.FileInfo)) error {
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && path != s.dir && len(d.Name()) != 2 {
				return fs.SkipDir // not of this store: data for undo
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // removed meanwhile
		}
		name := filepath.Base(path)
		ref := Ref{Blob: hashPrefix + filepath.Base(filepath.Dir(path)) + name, Bytes: info.Size()}
		if _, err := s.path(ref); err != nil {
			ref = Ref{} // left by a killed process
		}
		f(ref, path, info)
		return nil
	})
}

// remove removes a content, unless it was added again meanwhile. The file is renamed first: a later Put writes it
// again, and an earlier one has made it newer.
func (s *Store) remove(path string, before time.Time) error {
	away := filepath.Join(filepath.Dir(path), goneName+filepath.Base(path))
	if err := os.Rename(path, away); err != nil {
		return err
	}
	if info, err := os.Lstat(away); err == nil && info.ModTime().After(before) {
		return os.Rename(away, path)
	}
	return os.Remove(away)
}
