package realpath

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Resolver resolves names and caches directories, so that many names in one directory take one lookup each. It is for
// short use: changes of cached directories are not detected. It is not safe for concurrent use; its zero value is
// ready.
type Resolver struct{ directories map[string]reached }

// reached is the result of resolving a directory.
type reached struct {
	walk walk
	err  error
}

// Resolve is like the function Resolve, but for another process: it returns ErrProcess if that would be led elsewhere.
func (r *Resolver) Resolve(name string) (abs string, exists bool, err error) {
	cut := len(name)
	for cut > 0 && !os.IsPathSeparator(name[cut-1]) {
		cut--
	}
	last := name[cut:]
	if cut <= 1 || last == "" || last == "." || last == ".." || filepath.VolumeName(name) != "" {
		w, err := realDisk.walk(name)
		return w.answer(name, err)
	}
	directory, seen := r.directories[name[:cut]]
	if !seen {
		directory.walk = walk{
			disk: realDisk, at: string(filepath.Separator), exists: true, todo: components(name[:cut]),
		}
		directory.err = directory.walk.run()
		if r.directories == nil {
			r.directories = map[string]reached{}
		}
		r.directories[name[:cut]] = directory
	}
	w := directory.walk
	if err = directory.err; err == nil {
		w.todo = []string{last}
		err = w.run()
	}
	return w.answer(name, err)
}

func (w *walk) answer(name string, err error) (abs string, exists bool, _ error) {
	if err == nil && w.own {
		err = ErrProcess
	}
	if err != nil {
		return "", false, &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return w.at, w.exists, nil
}
