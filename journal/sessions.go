package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// sessionsName is the directory of sessions in Adze's directory.
const sessionsName = "sessions"

// Sessions are the sessions in Adze's directory: Home/sessions/<id>.
type Sessions struct {
	Home string
}

// ExistsError reports that a session with this ID exists.
type ExistsError struct{ ID string }

func (e *ExistsError) Error() string { return fmt.Sprintf("session %s exists already", e.ID) }

// UnknownError reports an ID, or a prefix of one, that no session has.
type UnknownError struct {
	ID    string
	Close []string // similar IDs
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown session %q", e.ID) }

// AmbiguousError reports a word that several sessions match.
type AmbiguousError struct {
	Word    string
	Matches []string // their IDs, or the starts of these with their names
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d sessions match %q", len(e.Matches), e.Word)
}

// ForeignError reports a session that belongs to another user.
type ForeignError struct {
	ID  string
	UID int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("session %s belongs to another user (UID %d)", e.ID, e.UID)
}

// Store returns the store of all sessions.
func (s Sessions) Store() *Store { return &Store{dir: filepath.Join(s.Home, storeName)} }

// Path returns the file of a session's journal.
func (s Sessions) Path(id string) string { return filepath.Join(s.Dir(id), journalName) }

// Dir returns the directory of a session.
func (s Sessions) Dir(id string) string { return filepath.Join(s.Home, sessionsName, id) }

// ValidID reports whether id is a UUID in lower case, as all session IDs are.
func ValidID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func checkID(id string) error {
	if !ValidID(id) {
		return fmt.Errorf("invalid session ID %q: expected a UUID in lower case, such as "+
			"123e4567-e89b-42d3-a456-426614174000", id)
	}
	return nil
}

// Create makes a session, and locks it. The caller's first entry must be an Opened. It returns an ExistsError if the ID
// exists.
func (s Sessions) Create(id string) (*File, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	f, err := s.create(s.Dir(id), id)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, &ExistsError{id}
	case err != nil:
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	return f, nil
}

func (s Sessions) create(dir, id string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockSession(dir, id)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	f, err := create(dir, lock)
	if err != nil {
		return nil, errors.Join(err, release(lock), os.RemoveAll(dir))
	}
	return f, nil
}

// Open opens a session for writing, locks and repairs it, and returns the state to continue from. If a newer version
// wrote it, the error is ErrNewer. See [File.Repair].
func (s Sessions) Open(id string) (*File, State, error) {
	return s.open(id, os.O_RDWR|os.O_APPEND)
}

// View opens a session for reading, and changes nothing. It returns the same state as Open.
func (s Sessions) View(id string) (*File, State, error) {
	return s.open(id, os.O_RDONLY)
}

// Entries opens a session to read its entries: of an archived one those of its archive.
func (s Sessions) Entries(id string) (*File, error) { return s.entries(id, new(bytes.Buffer)) }

// entries uses a buffer for the text of an archive.
func (s Sessions) entries(id string, whole *bytes.Buffer) (*File, error) {
	for tries := 0; ; tries++ {
		f, err := s.journal(id, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		file := newFile(s.Dir(id), f, nil)
		if !isArchived(f) {
			return file, nil
		}
		f.Close()
		err = s.unpack(id, whole)
		if errors.Is(err, fs.ErrNotExist) && tries == 0 {
			continue // another process may have restored it
		}
		if err != nil {
			file.damage = &BrokenError{Path: filepath.Join(s.Dir(id), archiveName), Damage: err}
		}
		file.f, file.in = nil, bytes.NewReader(whole.Bytes())
		return file, nil
	}
}

func (s Sessions) open(id string, how int) (*File, State, error) {
	if how == os.O_RDONLY {
		file, err := s.Entries(id)
		if err != nil {
			return nil, State{}, err
		}
		return s.load(id, file)
	}
	f, err := s.journal(id, how)
	if err != nil {
		return nil, State{}, err
	}
	f.Close()
	lock, err := lockSession(s.Dir(id), id)
	if err != nil {
		return nil, State{}, err
	}
	if err = s.restore(id); err == nil {
		f, err = s.journal(id, how)
	}
	if err != nil {
		release(lock)
		return nil, State{}, err
	}
	return s.load(id, newFile(s.Dir(id), f, lock))
}

// load reads the state of an open session.
func (s Sessions) load(id string, file *File) (*File, State, error) {
	state, err := file.load(s.Store())
	if err == nil && file.lock != nil && file.newest > Version {
		err = ErrNewer
	}
	if err != nil {
		file.Close()
		return nil, State{}, fmt.Errorf("open session %s: %w", id, err)
	}
	return file, state, nil
}

// journal opens the file of a session's journal, if it is a regular file of this user.
func (s Sessions) journal(id string, how int) (*os.File, error) {
	if !ValidID(id) {
		return nil, &UnknownError{ID: id}
	}
	path := filepath.Join(s.Dir(id), journalName)
	if info, err := os.Lstat(s.Dir(id)); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open session %s: %s is not a directory", id, s.Dir(id))
	}
	f, err := os.OpenFile(path, how|noFollow, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &UnknownError{ID: id}
		}
		if info, e := os.Lstat(s.Dir(id)); e == nil {
			if uid, foreign := owner(info); foreign {
				return nil, &ForeignError{id, uid}
			}
		}
		return nil, fmt.Errorf("open session %s: %w", id, err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("open session %s: %s is not a regular file", id, path))
	}
	if uid, foreign := owner(info); foreign {
		f.Close()
		return nil, &ForeignError{id, uid}
	}
	return f, nil
}

// IDs returns the IDs of all sessions, in the order of their names.
func (s Sessions) IDs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.Home, sessionsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if ValidID(e.Name()) && e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Find returns the ID that starts with prefix. It returns an UnknownError or an AmbiguousError if there isn't exactly
// one.
func (s Sessions) Find(prefix string) (string, error) {
	ids, err := s.IDs()
	if err != nil {
		return "", fmt.Errorf("find session %q: %w", prefix, err)
	}
	want := strings.ToLower(strings.TrimSpace(prefix))
	var matches []string
	for _, id := range ids {
		if want != "" && strings.HasPrefix(id, want) {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", &UnknownError{prefix, similar(want, ids)}
	}
	return "", &AmbiguousError{prefix, matches}
}

// similar returns up to three IDs with the same beginning as want, except for one character.
func similar(want string, ids []string) []string {
	type near struct {
		id    string
		score int
	}
	var found []near
	for _, id := range ids {
		common, wrong := 0, 0
		for i := range min(len(want), len(id)) {
			if want[i] != id[i] {
				wrong++
			} else if wrong == 0 {
				common++
			}
		}
		if common >= 4 || len(want) >= 4 && wrong <= 2 {
			found = append(found, near{id, common - wrong})
		}
	}
	sorted.By(found, func(a, b near) int { return b.score - a.score })
	var out []string
	for _, n := range found[:min(len(found), 3)] {
		out = append(out, n.id)
	}
	return out
}

// Delete removes a session. It returns an InUseError if a process has it open.
func (s Sessions) Delete(id string) error {
	f, err := s.journal(id, os.O_RDONLY)
	var unknown *UnknownError
	if errors.As(err, &unknown) && ValidID(id) {
		if _, e := os.Lstat(s.Dir(id)); e == nil {
			err = nil // a directory without a journal: killed while it was created
		}
	}
	if err != nil {
		return err
	}
	if f != nil {
		f.Close()
	}
	lock, err := lockSession(s.Dir(id), id)
	if err != nil {
		return err
	}
	if !movesOpen {
		release(lock)
	}
	away := filepath.Join(s.Home, sessionsName, goneName+id)
	err = errors.Join(os.RemoveAll(away), os.Rename(s.Dir(id), away))
	if movesOpen {
		release(lock)
	}
	if err == nil {
		err = errors.Join(os.RemoveAll(away), os.WriteFile(s.deletedMark(), nil, 0o600))
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}
