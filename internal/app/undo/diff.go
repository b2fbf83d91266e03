package undo

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// Net joins changes, the oldest first: each path has the state before its first change and the one after its last.
// Paths that end as they began are omitted. The result is ordered by path.
func Net(changes []Change) []Change {
	at := map[string]int{}
	var joined []Change
	for _, c := range changes {
		if i, ok := at[c.Path]; ok {
			joined[i].After = c.After
			continue
		}
		at[c.Path] = len(joined)
		joined = append(joined, c)
	}
	joined = slices.DeleteFunc(joined, func(c Change) bool { return c.Before == c.After })
	sort.Slice(joined, func(i, j int) bool { return joined[i].Path < joined[j].Path })
	return joined
}

// Net returns what the session changed, without paths that only undone calls changed.
func (h History) Net() ([]Change, []Lost) {
	var lost []Lost
	stays := map[string]bool{}
	for _, c := range h.Calls {
		if c.Undone {
			continue
		}
		lost = append(lost, c.Lost...)
		for _, one := range c.Changes {
			stays[one.Path] = stays[one.Path] || !c.restored[one.Path]
		}
	}
	var changes []Change
	for _, c := range h.log {
		if stays[c.Path] {
			changes = append(changes, c)
		}
	}
	return Net(changes), lost
}

// In reports whether a path is one of these, or in one of these directories. Without any, all are.
func In(path string, paths []string) bool {
	_, ok := names.Within(path, paths)
	return ok || len(paths) == 0
}

// Differ shows changes as patches.
type Differ struct {
	Store  *Store
	Dir    string                 // names are relative to it
	Secret func(path string) bool // files whose content isn't shown
}

// Patched is a change, as a patch for git apply.
type Patched struct {
	tool.Change
	Name   string `json:"-"` // relative
	Patch  string `json:"patch,omitempty"`
	Binary bool   `json:"binary,omitempty"`
}

// maxPatched is the maximum size of a file in a patch.
const maxPatched = 32 << 20

// Patch returns the patch of a change. The error is why the change has no patch. The patch of a directory is empty.
func (d Differ) Patch(c Change) (Patched, error) {
	l := lister{secret: d.Secret}
	p := Patched{Change: l.change(c)}
	rel, err := filepath.Rel(d.Dir, c.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return p, errors.New("outside this directory")
	}
	p.Name = filepath.ToSlash(rel)
	if d.Secret != nil && d.Secret(c.Path) {
		return p, errors.New("a secret file")
	}
	old, err := d.file(c.Before)
	if err != nil {
		return p, err
	}
	new, err := d.file(c.After)
	if err != nil {
		return p, err
	}
	p.Size = 0
	if new != nil {
		p.Size = int64(len(new.Content))
	}
	if p.Patch = edit.GitPatch(p.Name, old, new); p.Patch == "" && (old != nil || new != nil) {
		return p, fmt.Errorf("mode %03o became %03o, which isn't part of a patch", bits(c.Before.Mode),
			bits(c.After.Mode))
	}
	var before, after []byte
	if old != nil {
		before = old.Content
	}
	if new != nil {
		after = new.Content
	}
	if p.Binary = edit.Binary(before) || edit.Binary(after); !p.Binary && (old != nil || new != nil) {
		stat := edit.Compare(string(before), string(after)).Stat()
		p.Lines = &tool.LineCount{Added: stat.AddedLines, Removed: stat.RemovedLines}
	}
	return p, nil
}

// file returns what a state is in a patch.
func (d Differ) file(s State) (*edit.GitFile, error) {
	switch {
	case s.Is == "" || s.IsDir():
		return nil, nil
	case s.isLink():
		return &edit.GitFile{Mode: edit.GitLink, Content: []byte(s.target())}, nil
	case s.unsaved():
		return nil, errors.New("its content isn't saved")
	case d.Store.size(s.Is) > maxPatched:
		return nil, &tooLargeError{maxPatched}
	}
	content, err := d.Store.Get(s.Is)
	if err != nil {
		return nil, err
	}
	f := &edit.GitFile{Mode: edit.GitPlain, Content: content}
	if s.Mode&0o100 != 0 {
		f.Mode = edit.GitExecutable
	}
	return f, nil
}

// StatLine describes the change in a line.
func (p Patched) StatLine() string {
	switch {
	case p.Binary:
		return "binary, " + humanize.Bytes(p.Size)
	case p.Lines != nil && *p.Lines == (tool.LineCount{}):
		return string(p.Kind)
	case p.Lines != nil:
		return fmt.Sprintf("+%d -%d", p.Lines.Added, p.Lines.Removed)
	}
	return string(p.Kind)
}
