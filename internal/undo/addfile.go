package undo

import (
	"crypto/sha256"
	"io"
	"os"

	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// addFile adds the content of an open file, of about that size.
func (b *batch) addFile(f *os.File, size, limit int64) (hash, error) {
	if size > packed {
		if h, ok, err := b.addClone(f, limit); ok || err != nil {
			return h, err
		}
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

// addClone adds a large file as a clone; ok is false if the file system doesn't support it.
func (b *batch) addClone(f *os.File, limit int64) (h hash, ok bool, err error) {
	s := b.store
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return h, false, nil
	}
	to, err := os.CreateTemp(s.dir, tempStart)
	if err != nil {
		return h, false, nil
	}
	defer to.Close()
	if clone(to, f) != nil {
		os.Remove(to.Name())
		return h, false, nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, to)
	if err == nil && n > limit {
		err = &tooLargeError{limit}
	}
	if err == nil {
		h, b.fresh = hash(sum.Sum(nil)), true
		err = os.Rename(to.Name(), s.single(h))
	}
	if err != nil {
		os.Remove(to.Name())
	}
	return h, true, err
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
