package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/workspace/hardlink"
)

// prepareNew writes the content of a new file.
func (w *write) prepareNew() (err error) {
	mode := w.opts.Mode
	if mode == 0 {
		mode = 0o666 // the umask and the directory's default ACL apply
	}
	if w.temp, err = temp(w.dir, mode.Perm()); err != nil {
		return err
	}
	return w.temp.fill(w.content, func() error {
		if w.opts.Mode == 0 {
			return nil
		}
		return w.temp.Chmod(w.opts.Mode)
	})
}

// create gives a new file its name, unless that exists by now.
func (w *write) create() error {
	err := renameNew(w.dir, w.handle, w.temp.name, w.base)
	if errors.Is(err, errNoLinks) {
		err = w.locked(func() error { return w.renameIfFree(w.temp.name) })
	}
	if errors.Is(err, fs.ErrExist) {
		return &ChangedError{Path: w.path, How: "has appeared"}
	}
	if err != nil {
		return err
	}
	w.temp.renamed, w.out.Created = true, true
	return nil
}

// errNoLinks means that the file system can't rename without replacing, and has no hard links.
var errNoLinks = errors.New("no hard links")

// linkNew is renameNew without system support: a hard link never replaces a file.
func linkNew(dir *os.Root, from, to string) error {
	err := dir.Link(from, to)
	switch {
	case err == nil:
		return dir.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return errNoLinks
}

// renameIfFree renames a file if the name isn't taken, which only the directory's lock keeps true.
func (w *write) renameIfFree(from string) error {
	if _, err := w.dir.Lstat(w.base); err == nil {
		return fs.ErrExist
	}
	return renameFile(w.dir, from, w.base)
}

// prepareOver writes the new content of an existing file, or finds why it must be written in place.
func (w *write) prepareOver() error {
	id, names := hardlink.Of(w.info)
	w.split = names > 1 && len(w.opts.Roots) > 0 &&
		!hardlink.Inside(w.opts.Roots, map[hardlink.ID]uint64{id: names})[id]
	if names > 1 && !w.split {
		w.inPlaceFor = fmt.Sprintf("it has %d hard links", names)
		return nil
	}
	f, err := temp(w.dir, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return w.mustStay("its directory is not writable")
	}
	if err != nil {
		return err
	}
	w.temp = f
	var lost string
	err = f.fill(w.content, func() (err error) {
		lost, err = w.dress(f.File)
		return err
	})
	if err != nil || lost == "" {
		return err
	}
	return w.mustStay(lost)
}

// mustStay means that the file must be written in place, which can't be if other names keep the old content.
func (w *write) mustStay(why string) error {
	if w.split {
		return fmt.Errorf("it has hard links outside the workspace, so it must be replaced, but %s", why)
	}
	if w.temp != nil {
		w.temp.discard()
		w.temp = nil
	}
	w.inPlaceFor = why
	return nil
}

// replace renames the new file over the old one, or writes in place if that would lose something.
func (w *write) replace() error {
	if w.inPlaceFor == "" {
		err := w.locked(func() error {
			if err := w.again(); err != nil {
				return err
			}
			return renameFile(w.dir, w.temp.name, w.base)
		})
		if err == nil {
			w.temp.renamed, w.out.Split = true, w.split
			return nil
		}
		why, err := cannotRename(err)
		if err != nil {
			return err
		}
		if err := w.mustStay(why); err != nil {
			return err
		}
	}
	return w.locked(func() error { return w.inPlace(w.inPlaceFor) })
}

// dress copies the metadata of the old file to the new one.
func (w *write) dress(f *os.File) (lost string, err error) {
	old, err := w.open(w.info, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer old.Close()
	return keep(f, old, w.info)
}

// cannotRename returns the reason for an error after which the file is written in place.
func cannotRename(err error) (why string, _ error) {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return "it is a mount point", nil
	case errors.Is(err, syscall.EXDEV):
		return "it is on another file system than its directory", nil
	case errors.Is(err, fs.ErrPermission):
		return "its directory doesn't allow replacing it", nil
	}
	return "", err
}
