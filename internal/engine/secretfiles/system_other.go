//go:build !linux

package secretfiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// dirReader is an open directory.
type dirReader struct{ file *os.File }

func openDir(path string, _ []byte) (*dirReader, error) {
	st, err := lstat(path)
	if err == nil && st.kind != kindDir {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	return &dirReader{f}, err
}

func (l *dirReader) close() { l.file.Close() }

// each visits the entries until visit returns false.
func (l *dirReader) each(visit func(name string, kind kind) bool) error {
	for {
		entries, err := l.file.ReadDir(512)
		for _, e := range entries {
			if !visit(e.Name(), typeOf(e.Type())) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *dirReader) stamp() (stamp, error) { return lstat(l.file.Name()) }

func typeOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindDir
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}
