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
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// journal is the plan of keeping, so that it can be undone if the process is killed halfway.
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
	fenceName   = "fence"
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

// rollback undoes the steps that were done, the last one first. Files that another process changed meanwhile are
// skipped.
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

// undo undoes one step, if it was done.
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
		if !down { // another process deleted it: restore the old state
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

// ours returns an error if another process changed what a step put in place.
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

// written returns the possible state of a file that was written in place: everything is restored.
func (s *step) written() seen {
	was := s.Upper
	was.Mtime = unix.Timespec{}
	return was
}

// restore restores a file that was written in place.
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

// oursInPlace returns an error if another process wrote a file that was written in place. After a kill, only its
// content shows that.
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

// partlyWritten reports whether a file is an old content partly overwritten by a new one, or the reverse: every byte is
// from one of them, and its length is one of their lengths or in between.
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

// Recover undoes incomplete changes of sessions that were killed while keeping a trial, and removes their files: in a
// state directory, and in workspaces. Running sessions are skipped. The error names files that another process changed
// meanwhile.
func Recover(state string, roots []string) error {
	dirs := []string{state}
	for _, root := range roots {
		dirs = append(dirs, filepath.Join(root, Hidden))
	}
	var errs []error
	// A session may have files in several of them, so nothing is removed before everything is undone.
	for _, do := range []func(string) error{rollbackSession, removeSession} {
		for _, dir := range dirs {
			if err := recoverIn(dir, do); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// recoverIn calls do for each session of a state directory that isn't running.
func recoverIn(state string, do func(dir string) error) error {
	all, err := lockState(state, lockWait)
	if err != nil {
		return err
	}
	defer all.Close()
	defer removeUnused(state)
	entries, err := os.ReadDir(state)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(state, e.Name())
		if strings.HasPrefix(e.Name(), tryPrefix) {
			os.RemoveAll(dir)
		}
		if !strings.HasPrefix(e.Name(), "s-") || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, lockName)
		lock, err := locked(path, filelock.TryExisting, 0)
		if err != nil && ownerGone(path) {
			// A child process that was just being started has the lock until it executes its program.
			lock, err = locked(path, filelock.TryExisting, lockWait)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a lock it was being created or removed
			continue // it runs
		}
		errs = append(errs, do(dir))
		lock.Close()
	}
	return errors.Join(errs...)
}

// removeSession removes the files of a session. Processes of a killed session end soon after it and may still write
// there. The next session removes the rest.
func removeSession(dir string) error {
	for range 100 {
		if removeAll(dir) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// rollbackSession undoes incomplete changes of a session.
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
	if len(left) > 0 { // it has the old state
		aside := filepath.Join(filepath.Dir(dir), "left-"+filepath.Base(dir))
		if err := os.Rename(dir, aside); err != nil {
			return err
		}
		return fmt.Errorf("recover a trial that was killed: these files changed meanwhile and were left as they are: "+
			"%s (earlier versions: %s)", strings.Join(left, ", "), aside)
	}
	return nil
}

// owner identifies a process: its ID, and its PID namespace.
func owner(pid int) string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("%d %s", pid, space)
}

// ownerGone reports whether the session in a lock file has ended.
func ownerGone(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.Fields(string(text) + " x")[0])
	return err == nil && string(text) == owner(pid) && !filelock.Alive(pid)
}
