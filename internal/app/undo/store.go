package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/sums"
)

// Store stores contents by their hash, for one session. Small ones are in packs, which only grow: records of hash,
// length and content. Large ones are separate files, as clones if the file system supports it. It is safe for
// concurrent use.
type Store struct {
	dir  string
	sums *sums.Recent // nil: contents are hashed

	mu    sync.Mutex
	index map[hash]location
	packs []*os.File
	out   *os.File // the pack that grows; nil: none yet
	end   int64

	// memory has the newest contents of a session that isn't recorded, and the directory none; nil: it is recorded.
	memory map[hash][]byte
	used   int // bytes of it
}

// maxMemory is how much is kept in memory for a session that isn't recorded.
const maxMemory = 16 << 20

// remember keeps a content in memory.
func (s *Store) remember(h hash, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used += len(content); s.used > maxMemory {
		clear(s.memory)
		s.used = len(content)
	}
	s.memory[h] = content
}

type hash = sums.Hash

// location is where a content is in a pack.
type location struct {
	pack   *os.File
	at     int64
	length int64
}

const (
	packed     = 1 << 20 // larger contents are separate files
	headerSize = sha256.Size + 8
	packEnd    = ".pack"
	tempStart  = ".new-"
)

// storeDir returns the directory for the contents of a session.
func storeDir(home, id string) string { return filepath.Join(home, "store", "undo", id) }

// OpenStore opens the store of a session in Adze's directory. Nothing is created before the first content.
func OpenStore(home, id string) (*Store, error) {
	s := &Store{dir: storeDir(home, id), index: map[hash]location{}}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store of session %s: %w", id, err), s.Close())
	}
	return s, nil
}

// RemoveStore removes the contents of a session, and returns their size.
func RemoveStore(home, id string) (int64, error) {
	dir := storeDir(home, id)
	return storeBytes(dir), os.RemoveAll(dir)
}

// Bytes returns the size of the contents of a session.
func Bytes(home, id string) int64 { return storeBytes(storeDir(home, id)) }

// Stores returns the sessions that have contents.
func Stores(home string) ([]string, error) {
	entries, err := os.ReadDir(storeDir(home, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, err
}

// openName is a file in the store of a session whose workspace is saved: Compact removes it.
const openName = "open"

// markOpen records that the store contains more than the session will need.
func (s *Store) markOpen() error {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, openName), nil, 0o600)
	}
	if err != nil {
		return &storeError{s.dir, err}
	}
	return nil
}

// IsOpen reports whether the store of a session contains more than the session will need: it is running, or was killed.
func IsOpen(home, id string) bool {
	_, err := os.Lstat(filepath.Join(storeDir(home, id), openName))
	return err == nil
}

// load reads the index of the contents. A truncated record ends its pack.
func (s *Store) load() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), packEnd) || strings.HasPrefix(e.Name(), tempStart) {
			continue
		}
		f, err := os.Open(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return err
		}
		s.packs = append(s.packs, f)
		if err := s.loadPack(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadPack(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var header [headerSize]byte
	for at := int64(0); at+headerSize <= info.Size(); {
		if _, err := f.ReadAt(header[:], at); err != nil {
			return err
		}
		length := int64(binary.LittleEndian.Uint64(header[sha256.Size:]))
		at += headerSize
		if length < 0 || length > info.Size()-at {
			return nil
		}
		s.index[hash(header[:sha256.Size])] = location{f, at, length}
		at += length
	}
	return nil
}

// name returns a hash as in the journal.
func name(h hash) string { return filePrefix + hex.EncodeToString(h[:]) }

// parse returns the hash of a name.
func parse(name string) (h hash, ok bool) {
	digits, ok := strings.CutPrefix(name, filePrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return h, false
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return h, false
	}
	return hash(b), true
}

func (s *Store) single(h hash) string { return filepath.Join(s.dir, hex.EncodeToString(h[:])) }

// inPack returns where a content is, if it is in a pack.
func (s *Store) inPack(h hash) (location, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.index[h]
	return at, ok
}

// has reports whether there is such a content.
func (s *Store) has(h hash, size int64) bool {
	_, ok := s.inPack(h)
	if ok || size <= packed {
		return ok
	}
	info, err := os.Lstat(s.single(h))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// contains reports whether there is a content of that hash.
func (s *Store) contains(h hash) bool {
	_, ok := s.inPack(h)
	if !ok {
		_, err := os.Lstat(s.single(h))
		ok = err == nil
	}
	return ok
}

// Put adds a content and returns its name.
func (s *Store) Put(content []byte) (string, error) {
	b := batch{store: s}
	h, err := b.add(content)
	if err == nil {
		err = b.flush()
	}
	return name(h), err
}

// Get returns a content.
func (s *Store) Get(name string) ([]byte, error) {
	h, ok := parse(name)
	if !ok {
		return nil, errNoName(name)
	}
	at, ok := s.inPack(h)
	var content []byte
	var err error
	if s.memory != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if content, ok = s.memory[h]; !ok {
			err = fs.ErrNotExist
		}
	} else if ok {
		content = make([]byte, at.length)
		_, err = at.pack.ReadAt(content, at.at)
		if err == io.EOF && at.length == 0 {
			err = nil
		}
	} else {
		content, err = os.ReadFile(s.single(h))
	}
	if err != nil {
		return nil, s.unreadable(err)
	}
	if sha256.Sum256(content) != h {
		return nil, s.damaged()
	}
	return content, nil
}

func errNoName(name string) error { return fmt.Errorf("%q is not the name of a content", name) }

func (s *Store) damaged() error { return fmt.Errorf("its saved content in %s was changed", s.dir) }

// unreadable describes why a content can't be read.
func (s *Store) unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its saved content is gone from %s", s.dir)
	case err != nil:
		return fmt.Errorf("read its saved content: %w", err)
	}
	return nil
}

// Close closes the packs.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, f := range s.packs {
		err = errors.Join(err, f.Close())
	}
	s.packs, s.out, s.index = nil, nil, map[hash]location{}
	return err
}

// Compact keeps only the contents of these names. The store must not be used meanwhile.
func (s *Store) Compact(names map[string]bool) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	old, keep := s.packs, s
	for h := range s.index {
		if !names[name(h)] {
			if keep, err = s.without(names); err != nil {
				return err
			}
			break
		}
	}
	kept := map[string]bool{}
	for _, f := range keep.packs {
		kept[filepath.Base(f.Name())] = true
	}
	if keep != s {
		for _, f := range old {
			err = errors.Join(err, f.Close())
		}
	}
	for _, e := range entries {
		if !kept[e.Name()] && !names[filePrefix+e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	if len(names) == 0 {
		_ = os.Remove(s.dir) // if it is empty
	}
	s.packs, s.out, s.index, s.end = keep.packs, keep.out, keep.index, keep.end
	return err
}

// without returns a store in the same directory whose new packs have only the contents of these names.
func (s *Store) without(names map[string]bool) (*Store, error) {
	keep := &Store{dir: s.dir, index: map[hash]location{}}
	b := batch{store: keep}
	for h := range s.index {
		if !names[name(h)] {
			continue
		}
		content, err := s.Get(name(h))
		if err != nil {
			continue // it is damaged
		}
		if _, err := b.add(content); err != nil {
			return nil, errors.Join(err, keep.Close())
		}
	}
	if err := b.flush(); err != nil {
		return nil, errors.Join(err, keep.Close())
	}
	return keep, nil
}

// batch collects contents, so that many are written at once. It is not safe for concurrent use.
type batch struct {
	store *Store
	buf   bytes.Buffer
	parts []part
	room  []byte // for reading files
	fresh bool   // the last added content wasn't in the store
}

type part struct {
	h      hash
	at     int64 // in the buffer
	length int64
}

const batchSize = 1 << 20

// add adds a content.
func (b *batch) add(content []byte) (hash, error) {
	h := b.store.sums.Of(content)
	if b.store.memory != nil {
		b.store.remember(h, content)
		return h, nil
	}
	b.fresh = !b.store.has(h, int64(len(content)))
	if !b.fresh {
		return h, nil
	}
	if len(content) > packed {
		return h, b.store.write(h, content)
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(content)))
	b.buf.Write(h[:])
	b.buf.Write(length[:])
	b.parts = append(b.parts, part{h, int64(b.buf.Len()), int64(len(content))})
	b.buf.Write(content)
	if b.buf.Len() < batchSize {
		return h, nil
	}
	return h, b.flush()
}

// flush writes what was added.
func (b *batch) flush() error {
	if len(b.parts) == 0 {
		return nil
	}
	s := b.store
	pack, at, err := s.reserve(int64(b.buf.Len()))
	if err == nil {
		_, err = pack.WriteAt(b.buf.Bytes(), at)
	}
	if err != nil {
		b.buf.Reset()
		b.parts = b.parts[:0]
		return &storeError{s.dir, err}
	}
	s.mu.Lock()
	for _, p := range b.parts {
		s.index[p.h] = location{pack, at + p.at, p.length}
	}
	s.mu.Unlock()
	b.buf.Reset()
	b.parts = b.parts[:0]
	return nil
}

// reserve reserves space in the growing pack.
func (s *Store) reserve(n int64) (*os.File, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, 0, err
		}
		f, err := os.CreateTemp(s.dir, "*"+packEnd)
		if err != nil {
			return nil, 0, err
		}
		s.out, s.end = f, 0
		s.packs = append(s.packs, f)
	}
	at := s.end
	s.end += n
	return s.out, at, nil
}

// write creates a separate file for a content.
func (s *Store) write(h hash, content []byte) error {
	return s.place(h, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// place creates the file of a content; fill writes it.
func (s *Store) place(h hash, fill func(*os.File) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return &storeError{s.dir, err}
	}
	f, err := os.CreateTemp(s.dir, tempStart)
	if err != nil {
		return &storeError{s.dir, err}
	}
	err = errors.Join(fill(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.single(h))
	}
	if err != nil {
		os.Remove(f.Name())
		return &storeError{s.dir, err}
	}
	return nil
}

// storeError reports that contents can't be saved.
type storeError struct {
	dir string
	err error
}

func (e *storeError) Error() string { return fmt.Sprintf("save file contents in %s: %v", e.dir, e.err) }
func (e *storeError) Unwrap() error { return e.err }

// CopyStore copies the contents of these names from one session to another.
func CopyStore(home, from, to string, names map[string]bool) error {
	if len(names) == 0 {
		return nil
	}
	source, err := OpenStore(home, from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := OpenStore(home, to)
	if err != nil {
		return err
	}
	b := batch{store: target}
	for n := range names {
		if source.check(n) != nil {
			continue // it can't be undone in the other session either
		}
		if failed := b.addFrom(source, n); failed != nil {
			return errors.Join(failed, target.Close())
		}
	}
	return errors.Join(b.flush(), target.Close())
}

// addFrom adds a content of another store.
func (b *batch) addFrom(source *Store, name string) error {
	if source.size(name) > packed {
		h, _ := parse(name)
		return b.store.place(h, func(f *os.File) error { return source.CopyTo(f, name) })
	}
	content, err := source.Get(name)
	if err == nil {
		_, err = b.add(content)
	}
	return err
}

// OpenBytes returns the size of the stores of sessions that are running: they shrink when the sessions end.
func OpenBytes(home string) int64 {
	ids, _ := Stores(home)
	var sum int64
	for _, id := range ids {
		if IsOpen(home, id) {
			sum += storeBytes(storeDir(home, id))
		}
	}
	return sum
}

func storeBytes(dir string) int64 {
	var sum int64
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
