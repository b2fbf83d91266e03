package trial

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// journal is what keeping is about to do, so that a kill in the middle of it can
// be taken back.
type journal struct {
	Fence  unix.Timespec // before the first step
	Layers []over
	Steps  []step
	Shared map[uint64]bool `json:",omitempty"` // files of the workspace that get another name
	t      *Trial
}

type over struct {
	Lower, Upper string
	Start        unix.Timespec
}

const (
	journalName = "journal" // keeping has begun
	keptName    = "kept"    // keeping has ended
	lockName    = "lock"
	stateLock   = "lock"
)

// write writes the journal in a directory, durably.
func (j *journal) write(dir string) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, journalName)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// rollback takes back the steps that were done, the last one first. What
// something else changed meanwhile is left as it is.
func (k *mover) rollback() {
	ok := true
	for i := k.begun - 1; i >= 0; i-- {
		k.point("rollback %d", i)
		if err := k.undo(i); err != nil {
			ok = false
			k.left = append(k.left, k.path(i))
		}
	}
	if ok {
		os.Remove(filepath.Join(k.dir, journalName))
	}
}

// undo takes back one step, if it was done.
func (k *mover) undo(i int) error {
	s := &k.Steps[i]
	name := filepath.Base(s.Rel)
	lower, err := k.lower(s)
	if err != nil {
		return err
	}
	if s.Op == opMeta {
		return k.setMeta(s, s.Lower, s.Upper)
	}
	upper, err := k.upper(s)
	if err != nil {
		return err
	}
	above, up := statAt(upper, name)
	there, down := statAt(lower, name)
	switch s.Op {
	case opCreate:
		if !down || there.Ino != s.Upper.Ino {
			return nil
		}
		if err := k.ours(lower, name, s); err != nil {
			return err
		}
		return move(lower, name, upper, name, unix.RENAME_NOREPLACE)
	case opExchange:
		if !up || above.Ino == s.Upper.Ino {
			return nil
		}
		if !down { // something else deleted it: what it was comes back
			return move(upper, name, lower, name, unix.RENAME_NOREPLACE)
		}
		if there.Ino != s.Upper.Ino {
			return ErrConflict
		}
		if err := k.ours(lower, name, s); err != nil {
			return err
		}
		return move(upper, name, lower, name, unix.RENAME_EXCHANGE)
	case opDelete:
		if !up || isWhiteout(above) {
			return nil
		}
		return move(upper, name, lower, name, unix.RENAME_NOREPLACE)
	case opInPlace:
		return k.restore(i, lower, name)
	}
	return nil
}

// ours reports whether what a step put in place was changed by something else.
func (k *mover) ours(lower *os.File, name string, s *step) error {
	st, ok := statAt(lower, name)
	if ok && k.Shared[st.Ino] {
		return nil // a file of the workspace: it has another name
	}
	if !ok || !s.Upper.dir() && !s.Upper.sameContent(st) {
		return ErrConflict
	}
	if s.Upper.dir() {
		return k.untouched(lower, name, k.Fence, true)
	}
	return nil
}

// written returns what a file may be that was written in place: everything is set back.
func (s *step) written() seen {
	was := s.Upper
	was.Mtime = unix.Timespec{}
	return was
}

// restore writes back a file that was written in place.
func (k *mover) restore(i int, lower *os.File, name string) error {
	s := &k.Steps[i]
	saved, err := os.Open(k.saved(i))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was not written
	}
	if err != nil {
		return err
	}
	defer saved.Close()
	f, err := openAt(lower, name, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Ino != s.Lower.Ino {
		return ErrConflict
	}
	if err := k.oursInPlace(i, f, saved, &st); err != nil {
		return err
	}
	if err := overwrite(f, saved); err != nil {
		return err
	}
	return k.setMetaAt(f, lower, name, s.Lower, s.written())
}

// oursInPlace reports whether something else wrote a file that was written in place. After a kill, only its content can tell.
func (k *mover) oursInPlace(i int, f, saved *os.File, st *unix.Stat_t) error {
	if after, ok := k.after[i]; ok {
		if !after.sameContent(st) {
			return ErrConflict
		}
		return nil
	}
	upper, err := k.upper(&k.Steps[i])
	if err != nil {
		return err
	}
	written, err := openAt(upper, filepath.Base(k.Steps[i].Rel), unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer written.Close()
	ours, err := partlyWritten(f, saved, written)
	if err != nil {
		return err
	}
	if _, err := saved.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !ours {
		return ErrConflict
	}
	return nil
}

// partlyWritten reports whether a file is an old content that a new one was being written over, or the reverse: every byte
// is that of one of them, and it is as long as one of them or in between.
func partlyWritten(now, old, written io.Reader) (bool, error) {
	readers := [3]*bufio.Reader{bufio.NewReader(now), bufio.NewReader(old), bufio.NewReader(written)}
	for {
		var b [3]byte
		var ended [3]bool
		for i, r := range readers {
			var err error
			if b[i], err = r.ReadByte(); err == io.EOF {
				ended[i] = true
			} else if err != nil {
				return false, err
			}
		}
		if ended[0] {
			return ended[1] || ended[2], nil
		}
		if (ended[1] || b[0] != b[1]) && (ended[2] || b[0] != b[2]) {
			return false, nil
		}
	}
}

// Recover undoes what sessions that were killed had begun to keep, and removes
// what they left: in a state directory, and in workspaces. Sessions that run are
// left alone. The error names files that something else changed meanwhile.
func Recover(state string, roots []string) error {
	dirs := []string{state}
	for _, root := range roots {
		dirs = append(dirs, filepath.Join(root, Hidden))
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !exists(dir) })
	var errs []error
	// One session may have files in several of them, so nothing is removed before
	// all is taken back.
	for _, do := range []func(string) error{rollbackSession, removeSession} {
		for _, dir := range dirs {
			errs = append(errs, recoverIn(dir, do))
		}
	}
	return errors.Join(errs...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// recoverIn does something with each session of a state directory that doesn't
// run.
func recoverIn(state string, do func(dir string) error) error {
	all, err := lockState(state)
	if err != nil {
		return err
	}
	defer all.Close()
	entries, err := os.ReadDir(state)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "s-") || !e.IsDir() {
			continue
		}
		dir := filepath.Join(state, e.Name())
		path := filepath.Join(dir, lockName)
		lock, err := locked(path, 0)
		if err != nil && ownerGone(path) {
			// A process that it was just starting when it was killed has the lock
			// until it executes its program.
			lock, err = locked(path, lockWait)
		}
		if err != nil {
			continue // it runs
		}
		errs = append(errs, do(dir))
		lock.Close()
	}
	return errors.Join(errs...)
}

// removeSession removes what a session left. Processes of a session that was
// killed end soon after it and may still write there. What can't be removed is
// for the next session.
func removeSession(dir string) error {
	for range 100 {
		if removeAll(dir) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// rollbackSession undoes what a session had begun to keep.
func rollbackSession(dir string) error {
	journals, _ := filepath.Glob(filepath.Join(dir, "t*", journalName))
	var left []string
	for _, path := range journals {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		k := &mover{dir: filepath.Dir(path), dirs: map[dirKey]*os.File{}, after: map[int]seen{}, own: map[uint64]bool{}}
		if err := json.Unmarshal(text, &k.journal); err != nil {
			return fmt.Errorf("recover %s: %w", path, err)
		}
		k.begun = len(k.Steps)
		k.rollback()
		k.close()
		left = append(left, k.left...)
	}
	if len(left) > 0 { // what it was before is in there
		aside := filepath.Join(filepath.Dir(dir), "left-"+filepath.Base(dir))
		if err := os.Rename(dir, aside); err != nil {
			return err
		}
		return fmt.Errorf("recover a trial that was killed: these files changed meanwhile and were left as they are: %s (earlier versions: %s)", strings.Join(left, ", "), aside)
	}
	return nil
}

// owner names a process: its number, and the namespace that counts it.
func owner(pid int) string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("%d %s", pid, space)
}

// ownerGone reports whether the session that a lock names has ended.
func ownerGone(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.Fields(string(text) + " x")[0])
	return err == nil && string(text) == owner(pid) && unix.Kill(pid, 0) == unix.ESRCH
}

// lockWait is how long a session waits for others that are just being opened or
// recovered. One that was stopped in between doesn't stop all others for good.
const lockWait = 30 * time.Second

// lockState locks a state directory while sessions are added or recovered.
func lockState(state string) (*os.File, error) {
	return locked(filepath.Join(state, stateLock), lockWait)
}

// locked locks a file that exists or is made. A lock that another process has for
// longer than wait is an error.
func locked(path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != unix.EINTR && err != unix.EWOULDBLOCK || !time.Now().Before(until) {
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
		}
	}
}
