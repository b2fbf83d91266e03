package atomicfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// Step is a change of one file in [All].
type Step struct {
	Path    string
	Content Content // nil: the file is deleted
	Options Options
}

// StepError is the error of one step.
type StepError struct {
	Index int // of the step
	Err   error
}

func (e *StepError) Error() string { return e.Err.Error() }

func (e *StepError) Unwrap() error { return e.Err }

// All makes all steps, or none: their new contents are written and synced before the first file changes, and a step
// that fails undoes those before it. If the process is killed in between, [Recover] undoes them; for that, the old
// contents are in dir, which All creates and removes. With an empty dir, nothing is saved. No file may be in two steps.
func All(dir string, steps []Step) ([]Outcome, error) {
	if len(steps) == 1 { // it is all or nothing by itself
		out, err := WriteFrom(steps[0].Path, steps[0].Content, steps[0].Options)
		if err != nil {
			return nil, &StepError{0, err}
		}
		return []Outcome{out}, nil
	}
	return (&batch{dir: dir, at: func(int) {}}).run(steps)
}

type batch struct {
	dir    string
	at     func(done int) // for tests: called before each step, and after the last one
	writes []*write
	undo   []undoStep
}

// undoStep is how a step is undone.
type undoStep struct {
	Path  string
	New   *Hash       // what the step writes; nil: nothing
	Old   bool        // there was a file, and its content is in the file with the number of the step
	Mode  fs.FileMode // of that file
	Made  []string    // directories that are made for the step, outermost first
	Roots []string

	content []byte // the old content
}

// planName is the name of the plan in a batch's directory. Without it, nothing is undone.
const planName = "plan.json"

func (b *batch) run(steps []Step) (out []Outcome, err error) {
	defer func() {
		for _, w := range slices.Backward(b.writes) {
			w.close(err != nil)
		}
		if b.dir != "" && !errors.Is(err, errNotUndone) {
			os.RemoveAll(b.dir)
		}
	}()
	for i, s := range steps {
		if err := b.prepare(s); err != nil {
			return nil, &StepError{i, failure(s.Path, err)}
		}
	}
	if err := b.save(); err != nil {
		return nil, fmt.Errorf("save the old contents: %w", nofollow.Cause(err))
	}
	for i, w := range b.writes {
		b.at(i)
		if err := w.commit(); err != nil {
			err = failure(steps[i].Path, err)
			if back := undo(b.dir, b.undo[:i+1]); back != nil {
				err = fmt.Errorf("%w, and %w: %w", err, errNotUndone, back)
			}
			return nil, &StepError{i, err}
		}
		out = append(out, w.out)
	}
	b.at(len(b.writes))
	if b.dir != "" {
		_ = os.Remove(filepath.Join(b.dir, planName)) // from here on, nothing is undone
	}
	return out, nil
}

// errNotUndone means that files of a failed batch have their new content.
var errNotUndone = errors.New("restoring the files before it failed")

func (b *batch) prepare(s Step) error {
	w, err := newWrite(s.Path, s.Content, s.Options)
	if err != nil {
		return err
	}
	b.writes = append(b.writes, w)
	if err := w.prepare(); err != nil {
		return err
	}
	u := undoStep{Path: w.path, Made: w.out.Made, Roots: s.Options.Roots}
	if s.Content != nil {
		h := sha256.New()
		if _, err := s.Content.WriteTo(h); err != nil {
			return err
		}
		u.New = (*Hash)(h.Sum(nil))
	}
	if w.info != nil {
		f, err := w.open(w.info, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		u.Old, u.Mode = true, w.info.Mode().Perm()
		if u.content, err = io.ReadAll(f); err != nil {
			return err
		}
	}
	b.undo = append(b.undo, u)
	return nil
}

// save writes the old contents and then the plan, durably.
func (b *batch) save() error {
	if b.dir == "" {
		return nil
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	for i, u := range b.undo {
		if u.Old {
			if _, err := Write(filepath.Join(b.dir, strconv.Itoa(i)), u.content, Options{Mode: 0o600}); err != nil {
				return err
			}
		}
	}
	plan, err := json.Marshal(b.undo)
	if err == nil {
		_, err = Write(filepath.Join(b.dir, planName), plan, Options{Mode: 0o600})
	}
	return err
}

// Recover undoes the steps of a batch whose process was killed, and reports whether dir is gone. A file that has
// another content by now is skipped.
func Recover(dir string) (gone bool) {
	plan, err := os.ReadFile(filepath.Join(dir, planName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a plan, no step was begun, or all were done
		return false
	}
	var steps []undoStep
	_ = json.Unmarshal(plan, &steps) // an incomplete plan has no steps
	for i := range steps {
		if steps[i].Old {
			if steps[i].content, err = os.ReadFile(filepath.Join(dir, strconv.Itoa(i))); err != nil {
				return false
			}
		}
	}
	return undo(dir, steps) == nil && os.RemoveAll(dir) == nil
}

// undo undoes steps, the last one first. Steps that weren't done, and files that another program changed, are skipped.
// What a file has that must be written in place is saved in dir.
func undo(dir string, steps []undoStep) error {
	var failed error
	for _, u := range slices.Backward(steps) {
		w := &write{path: u.Path, base: filepath.Base(u.Path), opts: Options{Old: u.New, Mode: u.Mode, Roots: u.Roots,
			Canonical: true, Backup: cmp.Or(dir, os.TempDir())}}
		if u.Old {
			w.content = inMemory(u.content)
		}
		err := w.run()
		var changed *ChangedError
		if err != nil && !errors.As(err, &changed) {
			failed = errors.Join(failed, fmt.Errorf("restore %s: %w", u.Path, nofollow.Cause(err)))
		}
		for _, made := range slices.Backward(u.Made) {
			if err == nil {
				_ = os.Remove(made) // unless it contains something else by now
			}
		}
	}
	return failed
}
