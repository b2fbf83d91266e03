package undo

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/tool"
)

const (
	maxCounted     = 200       // files whose lines are counted
	maxCountedSize = 256 << 10 // of each
)

// List returns the changes for programs and people. Nothing about the content of secret files is in it.
func (t *Tracker) List(f Found, secret func(path string) bool) tool.Changes {
	out := tool.Changes{During: f.compared, Incomplete: f.missing}
	if t == nil {
		return out
	}
	l := lister{secret: secret}
	if store, err := t.Store(); err == nil {
		l.store = store
	}
	filled := map[string]bool{} // directories with changes below them
	for _, c := range f.Changes {
		for dir := filepath.Dir(c.Path); !filled[dir] && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			filled[dir] = true
		}
	}
	moved := renames(f.Changes)
	for _, c := range f.Changes {
		from, ok := moved.from[c.Path]
		switch {
		case moved.gone[c.Path]:
		case ok:
			out.List = append(out.List, l.rename(from, c))
		case (c.Before.Is == "" || c.After.Is == "") && (c.Before.IsDir() || c.After.IsDir()) && filled[c.Path]:
		default:
			out.List = append(out.List, l.change(c))
		}
	}
	l.lost(f, &out)
	sort.Slice(out.List, func(i, j int) bool { return out.List[i].Path < out.List[j].Path })
	return out
}

// Texts returns a changed text before and after the call; nil: it didn't exist. It isn't ok if a content is secret,
// isn't text, or is large.
func (t *Tracker) Texts(c tool.Change) (before, after *string, ok bool) {
	if t == nil || c.Lines == nil {
		return nil, nil, false
	}
	store, err := t.Store()
	if err != nil {
		return nil, nil, false
	}
	l := lister{store: store}
	old, ok := l.text(State{Is: c.Before})
	now, ok2 := l.text(State{Is: c.After})
	if c.Before != "" {
		before = &old
	}
	if c.After != "" {
		after = &now
	}
	return before, after, ok && ok2
}

// lister describes changes.
type lister struct {
	store   *Store
	secret  func(path string) bool
	hide    bool // the file that is described was secret under its old name
	counted int
}

func (l *lister) change(c Change) tool.Change {
	out := tool.Change{Path: humanize.QuotePath(c.Path), Kind: tool.Modified, Before: c.Before.Is, After: c.After.Is}
	switch was, is := c.Before, c.After; {
	case was.isLink() || is.isLink():
		out.Kind = tool.LinkChanged
		if is.Is == "" {
			out.Kind = tool.Deleted
		}
	case was.Is == "":
		out.Kind = tool.Created
	case is.Is == "":
		out.Kind = tool.Deleted
	case was.Is == is.Is && was.Mode != is.Mode:
		out.Kind = tool.ModeChanged
	}
	if c.Before.Mode != c.After.Mode && c.Before.Mode != 0 && c.After.Mode != 0 { // neither nothing nor a link
		out.ModeBefore, out.ModeAfter = bits(c.Before.Mode), bits(c.After.Mode)
	}
	if c.After.isFile() || c.After.unsaved() {
		if info, err := nofollow.Lstat(c.Path); err == nil && info.Mode().IsRegular() {
			out.Size = info.Size()
		}
	}
	if l.hide || l.isSecret(c.Path) {
		out.Before, out.After = "", ""
		return out
	}
	for _, is := range []*string{&out.Before, &out.After} {
		if s := (State{Is: *is}); s.unsaved() {
			*is = ""
		}
	}
	out.Lines = l.lines(c)
	return out
}

// rename describes a file that only moved. The new name of a secret file doesn't reveal its content.
func (l *lister) rename(from, c Change) tool.Change {
	l.hide = l.hide || l.isSecret(from.Path)
	out := l.change(Change{Path: c.Path, Before: from.Before, After: c.After})
	l.hide = false
	out.Kind, out.From = tool.Renamed, humanize.QuotePath(from.Path)
	return out
}

func (l *lister) isSecret(path string) bool { return l.secret != nil && l.secret(path) }

// lines counts the lines of a text that were added and removed.
func (l *lister) lines(c Change) *tool.LineCount {
	if l.counted >= maxCounted || l.store == nil || c.Before.Is == c.After.Is {
		return nil
	}
	before, ok := l.text(c.Before)
	after, ok2 := l.text(c.After)
	if !ok || !ok2 {
		return nil
	}
	l.counted++
	stat := edit.Compare(before, after).Stat()
	return &tool.LineCount{Added: stat.AddedLines, Removed: stat.RemovedLines}
}

func (l *lister) text(s State) (string, bool) {
	switch {
	case s.Is == "":
		return "", true
	case !s.isFile() || l.store.size(s.Is) > maxCountedSize:
		return "", false
	}
	b, err := l.store.Get(s.Is)
	return string(b), err == nil && utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
}

// lost adds files that can't be restored. What can't be compared makes the list incomplete.
func (l *lister) lost(f Found, out *tool.Changes) {
	known := map[string]Change{}
	for _, c := range f.unsaved {
		known[c.Path] = c
	}
	n := 0
	for _, one := range f.Lost {
		info, err := nofollow.Lstat(one.Path)
		c, ok := known[one.Path]
		switch regular := err == nil && info.Mode().IsRegular(); {
		case ok && (regular || gone(err)):
			out.List = append(out.List, l.change(c))
		case regular:
			out.List = append(out.List, tool.Change{
				Path: humanize.QuotePath(one.Path), Kind: tool.Modified, Size: info.Size(),
			})
		case gone(err):
			out.List = append(out.List, tool.Change{Path: humanize.QuotePath(one.Path), Kind: tool.Deleted})
		default:
			if n++; n == 1 {
				out.Incomplete = tool.Visible(one.Path) + ": " + one.Why
			}
		}
	}
	if n > 1 {
		out.Incomplete += fmt.Sprintf(", and %s more", humanize.Number(n-1))
	}
}

// renamed are the files of a call that only moved.
type renamed struct {
	from map[string]Change // by the new path
	gone map[string]bool   // old paths
}

// renames finds deleted and created files with the same content, or the same inode if it isn't saved. Empty files and
// links prove nothing.
func renames(changes []Change) renamed {
	m := renamed{from: map[string]Change{}, gone: map[string]bool{}}
	deleted := map[string][]Change{}
	for _, c := range changes {
		if (c.Before.isFile() || c.Before.isNode()) && c.After.Is == "" && c.Before.Is != emptyFile {
			deleted[c.Before.Is] = append(deleted[c.Before.Is], c)
		}
	}
	for _, c := range changes {
		if old := deleted[c.After.Is]; c.Before.Is == "" && len(old) > 0 {
			m.from[c.Path], m.gone[old[0].Path] = old[0], true
			deleted[c.After.Is] = old[1:]
		}
	}
	return m
}

// emptyFile is the state of a file without content.
const emptyFile = filePrefix + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Join returns the changes of two parts of a call, one after the other.
func (f Found) Join(next Found) Found {
	f.Changes = Net(slices.Concat(f.Changes, next.Changes))
	f.Lost = append(slices.Clip(f.Lost), next.Lost...)
	f.unsaved = append(slices.Clip(f.unsaved), next.unsaved...)
	for call, job := range next.Jobs {
		f.give(call, difference{changes: job.Changes, lost: job.Lost})
		if job.Ended {
			f.ends(call, job.ID)
		}
	}
	f.Running, f.compared = f.Running || next.Running, f.compared || next.compared
	f.missing = cmp.Or(f.missing, next.missing)
	return f
}
