package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// sweepLimit bounds the number of names in a directory that are checked for leftovers.
const sweepLimit = 10_000

// sweep removes temporary files whose writers are dead. Writers on other machines can't be checked, so a file with the
// ID of a running process is kept for an hour.
func sweep(dir *os.Root) {
	list, err := dir.Open(".")
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(sweepLimit)
	for _, name := range names {
		owner, ok := tempOwner(name)
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(owner)
		// On Windows a file isn't claimed, so that only old ones are certain to be leftovers.
		if err != nil || runtime.GOOS != "windows" && !filelock.Alive(pid) || stale(dir, name) {
			removeUnclaimed(dir, name)
		}
	}
}

func stale(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > time.Hour
}

// tempFile is a temporary file that will be renamed. Until then it is claimed: sweep knows that its writer lives, also
// one in another container, whose process IDs mean nothing here.
type tempFile struct {
	*os.File
	dir     *os.Root
	name    string
	size    int64
	renamed bool
	release func()
}

// temp creates an empty temporary file.
func temp(dir *os.Root, mode fs.FileMode) (*tempFile, error) {
	for range 100 {
		var random [8]byte
		rand.Read(random[:])
		name := fmt.Sprintf("%s%d-%s%s", tempPrefix, os.Getpid(), hex.EncodeToString(random[:]), tempSuffix)
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, mode)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if release, ok := claim(f); ok {
			return &tempFile{File: f, dir: dir, name: name, release: release}, nil
		}
		f.Close() // it was swept between the two steps
	}
	return nil, fmt.Errorf("create a temporary file: every name is taken")
}

// fill writes, syncs and closes a new file. In between, dress sets what writing would remove: the kernel drops
// set-user-id bits and capabilities of a file that is written to.
func (f *tempFile) fill(content io.WriterTo, dress func() error) (err error) {
	if f.size, err = content.WriteTo(f.File); err != nil {
		return err
	}
	if dress != nil {
		if err := dress(); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// discard removes the file unless it was renamed.
func (f *tempFile) discard() {
	f.Close()
	if !f.renamed {
		f.dir.Remove(f.name)
	}
	f.release()
}
