package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// lockName is a file beside the journal, locked while a process writes it. It names that process.
const lockName = "lock"

// Owner is the process that has a session open.
type Owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Start time.Time `json:"start"`
}

// InUseError reports a session that another process, or this one, has open.
type InUseError struct {
	ID    string
	Owner Owner
}

func (e *InUseError) Error() string {
	if e.Owner.PID == 0 {
		return fmt.Sprintf("session %s is in use", e.ID)
	}
	return fmt.Sprintf("session %s is in use by process %d on %s since %s", e.ID, e.Owner.PID, e.Owner.Host,
		e.Owner.Start.Local().Format(time.DateTime))
}

// lockSession locks the session in a directory. The caller unlocks it with release.
func lockSession(dir, id string) (*os.File, error) {
	const (
		tries  = 2000 // another Delete or a list of sessions may come in between
		probes = 10   // a list of sessions may try the lock at the same moment
	)
	var err error
	for try := 0; try < tries; {
		var f *os.File
		f, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
		if err != nil {
			return nil, err
		}
		try++
		if filelock.Lock(f) != nil {
			owner := readOwner(f)
			f.Close()
			// A list of sessions on a busy machine may hold the lock for long, but it isn't the owner.
			if try >= tries || try >= probes && owner.alive() {
				return nil, &InUseError{id, owner}
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if filelock.IsAt(f, filepath.Join(dir, lockName)) {
			if err = writeOwner(f); err != nil {
				release(f)
				return nil, err
			}
			return f, nil
		}
		filelock.Close(f)
	}
	return nil, fmt.Errorf("lock %s: it was repeatedly removed: %w", dir, err)
}

// Hold locks a session until release is called, so that no process opens it for writing.
func (s Sessions) Hold(id string) (unlock func() error, err error) {
	f, err := lockSession(s.Dir(id), id)
	if err != nil {
		return nil, err
	}
	return func() error { return release(f) }, nil
}

// locked reports whether a process has the session open. It changes nothing.
func locked(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|noFollow, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
	}
	defer f.Close()
	if filelock.Lock(f) != nil {
		return true
	}
	filelock.Unlock(f)
	return false
}

// release unlocks a session and removes the owner from the lock file.
func release(f *os.File) error {
	err := f.Truncate(0)
	return errors.Join(err, filelock.Close(f))
}

// alive reports whether the process may still exist.
func (o Owner) alive() bool {
	if o.PID <= 0 {
		return false
	}
	host, _ := os.Hostname()
	return o.Host != host || filelock.Alive(o.PID) // a process on another host is unknown
}

func writeOwner(f *os.File) error {
	host, _ := os.Hostname()
	b, err := json.Marshal(Owner{os.Getpid(), host, time.Now().UTC().Round(time.Second)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

func readOwner(f *os.File) Owner {
	var o Owner
	if b, err := io.ReadAll(io.NewSectionReader(f, 0, 4<<10)); err == nil {
		_ = json.Unmarshal(b, &o) // otherwise the process is unknown
	}
	return o
}
