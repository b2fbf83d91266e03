package search

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// portableFolder reads directories with package os. It is what other systems than Linux use; on Linux tests compare it
// with the fast one.
type portableFolder struct{ path string }

func openPortable(path string, _ bool) (folder, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "search", Path: path, Err: fs.ErrInvalid}
	}
	return portableFolder{path}, nil
}

func (f portableFolder) list(into *listing) error {
	dir, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	into.reset()
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			into.add(e.Name(), kindOf(e.Type()))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (f portableFolder) open(_ *scratch, name []byte) (io.ReadCloser, error) {
	return os.Open(f.path + string(filepath.Separator) + string(name))
}

func (f portableFolder) enter(name string) (folder, error) {
	return portableFolder{f.path + string(filepath.Separator) + name}, nil
}

func (f portableFolder) stat(name []byte, follow bool) (kind, time.Time, error) {
	path := f.path + string(filepath.Separator) + string(name)
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	st, err := look(path)
	if err != nil {
		return other, time.Time{}, err
	}
	return kindOf(st.Mode()), st.ModTime(), nil
}

func (f portableFolder) describe(name []byte) (Stat, error) {
	info, err := os.Lstat(f.path + string(filepath.Separator) + string(name))
	if err != nil {
		return Stat{}, err
	}
	return StatOf(info), nil
}

func (portableFolder) close() {}
