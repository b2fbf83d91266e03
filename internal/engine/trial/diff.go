package trial

import (
	"bytes"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/edit"
)

const (
	maxDiffFile = 256 << 10 // larger files are shown without a diff
	maxDiff     = 1 << 20   // for all diffs of a trial together
	maxTexts    = 8 << 20   // for the texts that they compare
)

// Diffs describes the changes of a trial, within a limit for all of them together.
type Diffs struct {
	t     *Trial
	used  int // by diffs,
	texts int // and by the texts that they compare
}

// Shown is how the change of a file is shown.
type Shown struct {
	Diff    string // unified; "" if there is no room for it
	Lines   edit.Stat
	Counted bool    // false if the content is the same, isn't text, or is too long
	Before  *string // the texts that Diff compares, if there is room for them; nil: the file is new
	After   string
}

// Diffs starts the description of changes.
func (t *Trial) Diffs() *Diffs { return &Diffs{t: t} }

// Of describes a change under the name that the file is shown with.
func (d *Diffs) Of(c Change, name string) (s Shown) {
	if c.Kind == ModeOnly {
		return s
	}
	before, ok := text(c.Old, c.Path, d.t.Before)
	after, ok2 := text(c.New, c.Path, d.t.After)
	if !ok || !ok2 || before == after {
		return s
	}
	compared := edit.Compare(before, after)
	s.Lines, s.Counted = compared.Stat(), true
	unified := compared.Unified(name, name)
	if d.used+len(unified) > maxDiff {
		return s
	}
	d.used += len(unified)
	s.Diff = unified
	if d.texts += len(before) + len(after); d.texts <= maxTexts {
		s.After = after
		if c.Old.Exists() {
			s.Before = &before
		}
	}
	return s
}

// text returns the content of a file that is text; ok is false for others.
func text(f File, path string, read func(string) ([]byte, error)) (s string, ok bool) {
	if !f.Exists() {
		return "", true
	}
	if !f.Mode.IsRegular() || f.Size > maxDiffFile {
		return "", false
	}
	b, err := read(path)
	if err != nil || bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}
