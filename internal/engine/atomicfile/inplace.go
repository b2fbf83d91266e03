package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// inPlace overwrites the file after saving its old content. The caller holds the directory's lock.
func (w *write) inPlace(why string) error {
	f, err := w.open(w.info, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("%s, and writing in place failed: %w", why, nofollow.Cause(err))
	}
	defer f.Close()
	if w.opts.Backup == "" {
		return fmt.Errorf("%s, and the old content can't be saved: no directory", why)
	}
	saved, size, err := save(w.opts.Backup, w.base, f)
	if err != nil {
		return fmt.Errorf("%s, and saving the old content first failed: %w", why, err)
	}
	if err := w.overwrite(f, saved, size); err != nil {
		return err
	}
	w.out.InPlace, w.out.Backup = why, saved
	return nil
}

// overwrite writes the new content to an open file. If that fails, it restores the old content.
func (w *write) overwrite(f *os.File, saved string, size int64) error {
	err := w.again()
	if err == nil {
		err = reserve(f, size, w.content.Size())
	}
	if err != nil {
		os.Remove(saved)
		return err
	}
	err = w.refill(f, w.content)
	if err == nil {
		return nil
	}
	if back := w.restore(f, saved); back != nil {
		return fmt.Errorf("%w; restoring the old content also failed (%v): it is saved in %s", err, back, saved)
	}
	os.Remove(saved)
	return err
}

func (w *write) restore(f *os.File, saved string) error {
	old, err := os.Open(saved)
	if err != nil {
		return err
	}
	defer old.Close()
	return w.refill(f, old)
}

func (w *write) refill(f *os.File, content io.WriterTo) error {
	n, err := content.WriteTo(io.NewOffsetWriter(f, 0))
	if err != nil {
		return err
	}
	if err := f.Truncate(n); err != nil {
		return err
	}
	// Writing drops set-user-id bits; only the owner can set them again.
	if now, err := f.Stat(); err == nil && now.Mode() != w.info.Mode() {
		f.Chmod(w.info.Mode())
	}
	return f.Sync()
}

// save saves a content in the backup directory, and syncs it.
func save(dirPath, base string, content io.WriterTo) (path string, size int64, err error) {
	if err := os.MkdirAll(dirPath, 0o700); err != nil {
		return "", 0, err
	}
	dir, err := os.OpenRoot(dirPath)
	if err != nil {
		return "", 0, err
	}
	defer dir.Close()
	f, err := temp(dir, 0o600)
	if err != nil {
		return "", 0, err
	}
	defer f.discard()
	if err := f.fill(content, nil); err != nil {
		return "", 0, err
	}
	final := time.Now().UTC().Format("20060102T150405.000000000") + "-" + shortened(base)
	if err := dir.Rename(f.name, final); err != nil {
		return "", 0, err
	}
	f.renamed = true
	return filepath.Join(dirPath, final), f.size, nil
}

// shortened limits a long name to what every file system accepts.
func shortened(base string) string {
	if len(base) <= 120 {
		return base
	}
	return strings.ToValidUTF8(base[:60]+"-"+base[len(base)-40:], "")
}
