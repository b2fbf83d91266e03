package ignore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
)

// maxIgnoreFile bounds the size of an ignore file; a longer one counts as unreadable.
const maxIgnoreFile = 16 << 20

// repository returns the rules for a whole repository: .git/info/exclude, then core.excludesFile.
func (r *Rules) repository(top string, w *watch) *level {
	dotGit := filepath.Join(filepath.FromSlash(top), ".git")
	gitDir, common := gitconfig.Dirs(dotGit)
	if gitDir != dotGit {
		w.add(dotGit)
	}
	conf := r.gitConfig(gitDir, common, w)
	var l *level
	if conf.excludesFile != "" {
		file := conf.excludesFile
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.FromSlash(top), file)
		}
		l = sharedLevel(file, top, conf.ignoreCase, l, w)
	}
	l = sharedLevel(filepath.Join(common, "info", "exclude"), top, conf.ignoreCase, l, w)
	if l == nil {
		// A level without patterns marks a repository with these settings.
		l = &level{set: compile(nil, conf.ignoreCase), base: top}
	}
	return l
}

func sharedLevel(file, base string, fold bool, outer *level, w *watch) *level {
	w.add(file)
	data, err := readBounded(file, os.O_RDONLY)
	if err != nil {
		return outer
	}
	return &level{set: compile(parse(data), fold), file: file, base: base, outer: outer}
}

// readLevel reads one ignore file of a directory. Git doesn't follow a link named .gitignore; a link named .aiignore is
// followed, because it is meant to protect.
func (r *Rules) readLevel(d *Dir, name string, outer *level, w *watch) *level {
	file := filepath.FromSlash(d.path) + string(filepath.Separator) + name
	w.add(file)
	git := name == ".gitignore"
	flag := os.O_RDONLY
	if git {
		flag |= noFollow
	}
	data, err := readBounded(file, flag)
	l := &level{file: file, base: d.path, outer: outer}
	switch {
	case err == nil && git:
		l.set = compile(parse(data), d.git != nil && d.git.set.fold)
	case err == nil:
		l.set = compile(parse(data), caseless)
	case git || errors.Is(err, errNotFile):
		return outer
	default:
		l.cause = err
	}
	return l
}

// errNotFile reports that the name of an ignore file isn't a regular file.
var errNotFile = errors.New("not a regular file")

func readBounded(file string, flag int) ([]byte, error) {
	// Don't block on a FIFO.
	f, err := os.OpenFile(file, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: file, Err: errNotFile}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if err == nil && len(data) > maxIgnoreFile {
		return nil, &fs.PathError{Op: "read", Path: file, Err: errors.New("longer than 16 MB")}
	}
	return data, err
}
