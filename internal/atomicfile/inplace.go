package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// inPlace overwrites the file after saving its old content.
func (w *write) inPlace(why string) error {
	f, err := w.open(w.info, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("%s, and writing in place failed: %w", why, cause(err))
	}
	defer f.Close()
	if w.opts.Backup == "" {
		return fmt.Errorf("%s, and the old content can't be saved: no directory", why)
	}
	saved, err := save(w.opts.Backup, w.base, w.old)
	if err != nil {
		return fmt.Errorf("%s, and saving the old content first failed: %w", why, err)
	}
	if err := w.overwrite(f, saved); err != nil {
		return err
	}
	w.out.InPlace, w.out.Backup = why, saved
	return nil
}

// overwrite writes the new content to an open file. If that fails, it restores the old content.
func (w *write) overwrite(f *os.File, saved string) error {
	err := w.again()
	if err == nil {
		err = reserve(f, int64(len(w.old)), int64(len(w.content)))
	}
	if err != nil {
		os.Remove(saved)
		return err
	}
	err = w.refill(f, w.content)
	if err == nil {
		return nil
	}
	if back := w.refill(f, w.old); back != nil {
		return fmt.Errorf("%w; restoring the old content also failed (%v): it is saved in %s", err, back, saved)
	}
	os.Remove(saved)
	return err
}

func (w *write) refill(f *os.File, content []byte) error {
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	// Writing drops set-user-id bits; only the owner can set them again.
	if now, err := f.Stat(); err == nil && now.Mode() != w.info.Mode() {
		f.Chmod(w.info.Mode())
	}
	return f.Sync()
}

// save saves a content in the backup directory, and syncs it.
func save(folder, base string, content []byte) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	f, name, err := temp(dir, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	final := time.Now().UTC().Format("20060102T150405.000000000") + "-" + shortened(base)
	err = errors.Join(fill(f, content, nil), f.Close())
	if err == nil {
		err = dir.Rename(name, final)
	}
	if err != nil {
		dir.Remove(name)
		return "", err
	}
	return filepath.Join(folder, final), nil
}

// shortened limits a long name to what every file system accepts.
func shortened(base string) string {
	if len(base) <= 120 {
		return base
	}
	return strings.ToValidUTF8(base[:60]+"-"+base[len(base)-40:], "")
}
