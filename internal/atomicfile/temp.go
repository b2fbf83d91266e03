package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// sweepLimit bounds the number of names in a directory that are checked for leftovers.
const sweepLimit = 10_000

// sweep removes temporary files whose writers are dead. The caller holds the directory's lock. Writers on other machines
// can't be checked, so a file with the ID of a running process is kept for an hour.
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
		if err != nil || !alive(pid) || stale(dir, name) {
			dir.Remove(name)
		}
	}
}

func stale(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > time.Hour
}

// temp creates an empty temporary file.
func temp(dir *os.Root, mode fs.FileMode) (*os.File, string, error) {
	for range 100 {
		var random [8]byte
		rand.Read(random[:])
		name := fmt.Sprintf("%s%d-%s%s", tempPrefix, os.Getpid(), hex.EncodeToString(random[:]), tempSuffix)
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, mode)
		if os.IsExist(err) {
			continue
		}
		return f, name, err
	}
	return nil, "", fmt.Errorf("create a temporary file: every name is taken")
}

// fill writes and syncs the content of a new file. In between, dress sets what writing would remove: the kernel drops
// set-user-id bits and capabilities of a file that is written to.
func fill(f *os.File, content []byte, dress func() error) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if dress != nil {
		if err := dress(); err != nil {
			return err
		}
	}
	return f.Sync()
}

func readAll(f *os.File, size int64) ([]byte, error) {
	buf := make([]byte, 0, size+512)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}
