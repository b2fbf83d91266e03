package undo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// addFile adds the content of an open file, of about that size.
func (b *batch) addFile(f *os.File, size, limit int64) (hash, error) {
	if size > packed && b.store.memory != nil {
		if size > limit {
			return hash{}, &tooLargeError{limit}
		}
		return b.store.sums.File(f)
	}
	if size > packed {
		copied, _, err := b.store.hold(f, limit)
		if err != nil {
			return hash{}, err
		}
		h, fresh, err := b.store.settle(copied)
		b.fresh = fresh
		return h, err
	}
	content, err := readFile(f, size, limit)
	if err != nil {
		return hash{}, err
	}
	return b.add(content)
}

// readFile reads a file that may grow meanwhile.
func readFile(f *os.File, size, limit int64) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case int64(len(buf)) > limit:
			return nil, &tooLargeError{limit}
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// hold copies a file into the store, without a name: as a clone if the file system supports it, never as a hard link,
// which a write in place would change. It isn't hashed, so a clone takes no time.
func (s *Store) hold(f *os.File, limit int64) (copied string, cloned bool, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", false, &storeError{s.dir, err}
	}
	to, err := os.CreateTemp(s.dir, tempStart)
	if err != nil {
		return "", false, &storeError{s.dir, err}
	}
	defer to.Close()
	if cloned = clone(to, f) == nil; !cloned {
		err = s.copyIn(to, f, limit)
	}
	if err != nil {
		os.Remove(to.Name())
		return "", false, err
	}
	return to.Name(), cloned, nil
}

func (s *Store) copyIn(to, from *os.File, limit int64) error {
	if info, err := from.Stat(); err != nil || info.Size() > limit {
		return cmp.Or(err, error(&tooLargeError{limit}))
	}
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	switch {
	case err != nil:
		return &storeError{s.dir, err}
	case n > limit:
		return &tooLargeError{limit}
	}
	return nil
}

// settle names a held copy by its hash. fresh reports whether the store didn't contain it.
func (s *Store) settle(copied string) (h hash, fresh bool, err error) {
	if h, err = s.hashOf(copied); err != nil {
		return h, false, &storeError{s.dir, err}
	}
	if s.contains(h) {
		return h, false, os.Remove(copied)
	}
	return h, true, os.Rename(copied, s.single(h))
}

// hashOf returns the hash of a file.
func (s *Store) hashOf(path string) (hash, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return hash{}, err
	}
	defer f.Close()
	return s.sums.File(f)
}

// CopyTo writes a content to a file. What was written is wrong if it fails.
func (s *Store) CopyTo(to *os.File, name string) error {
	h, ok := parse(name)
	if !ok {
		return errNoName(name)
	}
	_, small := s.inPack(h)
	if small {
		content, err := s.Get(name)
		if err == nil {
			_, err = io.Copy(to, bytes.NewReader(content))
		}
		return err
	}
	from, err := os.Open(s.single(h))
	if err != nil {
		return s.unreadable(err)
	}
	defer from.Close()
	sum := sha256.New()
	if clone(to, from) == nil {
		_, err = io.Copy(sum, from)
	} else {
		_, err = io.Copy(io.MultiWriter(sum, to), from)
	}
	if err != nil {
		return s.unreadable(err)
	}
	if hash(sum.Sum(nil)) != h {
		return s.damaged()
	}
	return nil
}

// check reports whether a content can be read. Large ones are only compared when they are used.
func (s *Store) check(name string) error {
	h, ok := parse(name)
	if !ok {
		return errNoName(name)
	}
	_, small := s.inPack(h)
	if small {
		_, err := s.Get(name)
		return err
	}
	_, err := os.Lstat(s.single(h))
	return s.unreadable(err)
}

// size returns the size of a content.
func (s *Store) size(name string) int64 {
	h, _ := parse(name)
	at, small := s.inPack(h)
	if small {
		return at.length
	}
	if info, err := os.Lstat(s.single(h)); err == nil {
		return info.Size()
	}
	return 0
}

// readAny saves the content of a regular file, without following a link.
func readAny(path string, size, limit int64, b *batch) (hash, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return hash{}, err
	}
	defer f.Close()
	return b.addFile(f, size, limit)
}

// isStore reports whether an error is about the store, not about the file to save.
func isStore(err error) bool {
	var failed *storeError
	return errors.As(err, &failed)
}
