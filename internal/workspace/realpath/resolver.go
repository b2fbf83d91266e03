package realpath

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Resolver resolves names and remembers the directories it went through, so that many names in one directory cost one
// look each. It is for one moment: that a directory has changed since it was seen is not noticed. It is not safe for
// concurrent use; its zero value is ready.
type Resolver struct{ folders map[string]reached }

// reached is where the walk to a directory ended.
type reached struct {
	walk walk
	err  error
}

// Resolve returns as the function of that name, but for another process than this one: ErrProcess where it would be led
// elsewhere.
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
	folder, seen := r.folders[name[:cut]]
	if !seen {
		folder.walk = walk{disk: realDisk, at: string(filepath.Separator), exists: true, todo: components(name[:cut])}
		folder.err = folder.walk.run()
		if r.folders == nil {
			r.folders = map[string]reached{}
		}
		r.folders[name[:cut]] = folder
	}
	w := folder.walk
	if err = folder.err; err == nil {
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
