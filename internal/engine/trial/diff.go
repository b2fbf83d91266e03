package trial

import (
	"bytes"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/edit"
)

const (
	maxDiffFile = 256 << 10 // larger files are shown without a diff
	maxDiff     = 1 << 20   // for all diffs of a trial together
)

// Diffs describes the changes of a trial, within a limit for all of them together.
type Diffs struct {
	t    *Trial
	used int
}

// Diffs starts the description of changes.
func (t *Trial) Diffs() *Diffs { return &Diffs{t: t} }

// Of returns the diff of a text under the name that it is shown with. counted is false if the content is the same,
// isn't text, or is too long.
func (d *Diffs) Of(c Change, name string) (diff string, lines edit.Stat, counted bool) {
	if c.Kind == ModeOnly {
		return "", lines, false
	}
	before, ok := text(c.Old, c.Path, d.t.Before)
	after, ok2 := text(c.New, c.Path, d.t.After)
	if !ok || !ok2 || before == after {
		return "", lines, false
	}
	compared := edit.Compare(before, after)
	if unified := compared.Unified(name, name); d.used+len(unified) <= maxDiff {
		diff = unified
		d.used += len(unified)
	}
	return diff, compared.Stat(), true
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
