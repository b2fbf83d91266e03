package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

const (
	nonblock = 0
	noFollow = 0
)

// keep leaves owner and access list to the directory's inheritance, as Windows
// programs do.
func keep(f, _ *os.File, info fs.FileInfo) (lost string, err error) {
	return "", f.Chmod(info.Mode())
}

// lockDirectory opens a file that can have only one handle and is deleted with it. With wait it tries until it can.
func lockDirectory(dir *os.File, wait bool) (unlock func(), ok bool) {
	name, err := windows.UTF16PtrFromString(filepath.Join(dir.Name(), ".adze-lock"))
	if err != nil {
		return func() {}, true
	}
	for {
		h, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS,
			windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
		switch {
		case err == nil:
			return func() { windows.CloseHandle(h) }, true
		case !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_DELETE_PENDING):
			return func() {}, true
		case !wait:
			return nil, false
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// claim does nothing: only old files are swept.
func claim(*os.File) (release func(), ok bool) { return func() {}, true }

func removeUnclaimed(dir *os.Root, name string) { dir.Remove(name) }

func syncDirectory(*os.File) error { return nil }

// renameFile retries while a virus scanner or an editor has the file open.
func renameFile(dir *os.Root, from, to string) error {
	err := dir.Rename(from, to)
	for pause := 20 * time.Millisecond; err != nil && pause < 200*time.Millisecond; pause *= 2 {
		time.Sleep(pause)
		err = dir.Rename(from, to)
	}
	return err
}

func renameNew(dir *os.Root, _ *os.File, from, to string) error { return linkNew(dir, from, to) }

func reserve(*os.File, int64, int64) error { return nil }
