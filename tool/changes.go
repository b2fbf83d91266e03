package tool

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Changes are the files that a call changed.
type Changes struct {
	List []Change `json:"list"` // ordered by path; directories only if they are empty, or stand for many files
	// Incomplete is why there may be more: "over 100,000 files". "": the list is complete.
	Incomplete string `json:"incomplete,omitempty"`
	// During means that the files were compared before and after the call: changes of other programs are in the list.
	During bool `json:"during,omitempty"`
	// Git is what happened in the git repository meanwhile, for users: "1 commit: Fix the flag".
	Git []string `json:"-"`
}

// Change is what a call did to one path.
type Change struct {
	Path string     `json:"path"`           // absolute; not valid UTF-8: quoted, as in Go
	From string     `json:"from,omitempty"` // of a renamed file: its path before
	Kind ChangeKind `json:"kind"`
	Size int64      `json:"size,omitempty"` // of the file after the call, in bytes
	// Lines is nil if they weren't counted: the file isn't text, or is large.
	Lines *LineCount `json:"lines,omitempty"`
	// Before and After are "sha256:…" of a file's content, "link:…" of a link's target, "dir" for a directory. "":
	// nothing exists, or the file is too large.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// ModeBefore and ModeAfter are permission bits, as for chmod, if they differ.
	ModeBefore uint32 `json:"modeBefore,omitempty"`
	ModeAfter  uint32 `json:"modeAfter,omitempty"`
	// Files is how many files of a directory changed, if it stands for them.
	Files int `json:"files,omitempty"`
	// Discarded means that the call was tried and the change wasn't kept.
	Discarded bool `json:"discarded,omitempty"`
}

// LineCount is how many lines were added and removed.
type LineCount struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// ChangeKind is what happened to a path.
type ChangeKind string

// The kinds of changes.
const (
	Created     ChangeKind = "created"
	Modified    ChangeKind = "changed"
	Deleted     ChangeKind = "deleted"
	Renamed     ChangeKind = "renamed" // with the same content
	ModeChanged ChangeKind = "mode"    // only the permissions
	LinkChanged ChangeKind = "link"    // a link was created or changed
)

// None reports whether nothing changed.
func (c Changes) None() bool { return len(c.List) == 0 }

// Reported returns what is written as JSON; nil: nothing changed.
func (c Changes) Reported() *Changes {
	if c.None() && c.Incomplete == "" {
		return nil
	}
	folded := c.Folded()
	if folded.List == nil {
		folded.List = []Change{}
	}
	return &folded
}

// Kept returns the paths of changes that last, with the old ones of renamed files.
func (c Changes) Kept() []string {
	var out []string
	for _, one := range c.List {
		if one.Discarded {
			continue
		}
		if one.From != "" {
			out = append(out, one.From)
		}
		out = append(out, one.Path)
	}
	return out
}

// Masked returns the changes without secret values.
func (c Changes) Masked(mask func(string) string) Changes {
	if text := c.texts(); mask(text) == text { // masking each of 100,000 paths takes long
		return c
	}
	c.Incomplete, c.List = mask(c.Incomplete), slices.Clone(c.List)
	for i := range c.List {
		one := &c.List[i]
		for _, s := range []*string{&one.Path, &one.From, &one.Before, &one.After} {
			*s = mask(*s)
		}
	}
	return c
}

// texts returns everything that may contain secret values.
func (c Changes) texts() string {
	var all strings.Builder
	all.WriteString(c.Incomplete)
	for _, one := range c.List {
		all.WriteString("\n" + one.Path + "\n" + one.From + "\n" + one.Before + "\n" + one.After)
	}
	return all.String()
}

// maxChanges is how many paths are listed before those of a directory become one entry.
const maxChanges = 1000

// Folded returns at most about a thousand entries: the paths of the directories with the most changes are counted.
func (c Changes) Folded() Changes {
	for len(c.List) > maxChanges {
		shorter, changed := fold(c.List)
		if !changed {
			break
		}
		c.List = shorter
	}
	return c
}

// folder is a directory whose entries become one. Kept and discarded changes stay apart.
type folder struct {
	dir       string
	discarded bool
}

// fold joins the entries of the directories with the most, until few remain. If none has many, it joins those of the
// deepest directories.
func fold(list []Change) (out []Change, changed bool) {
	sizes := map[folder]int{}
	for _, c := range list {
		if dir, ok := parent(c); ok {
			sizes[folder{dir, c.Discarded}]++
		}
	}
	var order []folder
	for f := range sizes {
		order = append(order, f)
	}
	sort.Slice(order, func(i, j int) bool {
		if a, b := sizes[order[i]], sizes[order[j]]; a != b {
			return a > b
		}
		return order[i].dir < order[j].dir
	})
	at := map[folder]int{} // index in out; -1: not there yet
	deepest := 0
	for left, i := len(list), 0; i < len(order); i++ {
		deepest = max(deepest, strings.Count(filepath.ToSlash(order[i].dir), "/"))
		if n := sizes[order[i]]; n > 10 && left > maxChanges {
			left -= n - 1
			at[order[i]] = -1
		}
	}
	if len(at) == 0 {
		for _, f := range order {
			if strings.Count(filepath.ToSlash(f.dir), "/") == deepest {
				at[f] = -1
			}
		}
	}
	for _, c := range list {
		dir, ok := parent(c)
		f := folder{dir, c.Discarded}
		i, folds := at[f]
		if own := (folder{humanize.UnquotePath(strings.TrimSuffix(c.Path, "/")), c.Discarded}); c.Files > 0 {
			if j, known := at[own]; known { // it stands for files of a directory that is folded again
				f, i, folds, ok = own, j, true, true
			}
		}
		switch {
		case !ok || !folds:
			out = append(out, c)
		case i < 0:
			at[f], changed = len(out), true
			out = append(out, Change{
				Path: humanize.QuotePath(f.dir + "/"), Kind: c.Kind, Files: max(1, c.Files), Discarded: c.Discarded,
			})
		default:
			out[i].Files += max(1, c.Files)
			if out[i].Kind != c.Kind {
				out[i].Kind = Modified
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, changed
}

// parent returns the directory of an entry, unless it is the root.
func parent(c Change) (dir string, ok bool) {
	dir = filepath.Dir(strings.TrimSuffix(humanize.UnquotePath(c.Path), "/"))
	return dir, dir != filepath.Dir(dir)
}

// Count returns what happened in git and how many files changed: "1 commit: Fix the flag; 3 files changed, 1 new". "":
// nothing did. The files of git itself are counted only if it isn't known what happened there.
func (c Changes) Count() string {
	counts := map[ChangeKind]int{}
	n := 0
	const inGit = "/.git/"
	notes := slices.Clone(c.Git)
	for _, one := range c.List {
		if one.Discarded || len(notes) > 0 && strings.Contains(filepath.ToSlash(one.Path)+"/", inGit) {
			continue
		}
		kind := one.Kind
		if kind == LinkChanged && one.Before == "" {
			kind = Created
		}
		counts[kind] += max(1, one.Files)
		n += max(1, one.Files)
	}
	if n == 0 {
		return strings.Join(notes, "; ")
	}
	text := humanize.Count(n, "file") + " changed"
	for _, k := range []struct {
		kind ChangeKind
		name string
	}{{Created, "new"}, {Deleted, "deleted"}, {Renamed, "renamed"}} {
		if counts[k.kind] > 0 {
			text += ", " + humanize.Number(counts[k.kind]) + " " + k.name
		}
	}
	return strings.Join(append(notes, text), "; ")
}

// Summary lists the changed paths for the model, relative to a directory: "a.go, b.go (new), dist/ (412 files)".
func (c Changes) Summary(dir string) string {
	var names []string
	for _, one := range c.List {
		if one.Discarded {
			continue
		}
		name := shown(one.Path, dir)
		switch {
		case one.Files > 0:
			name += " (" + humanize.Count(one.Files, "file") + ")"
		case one.Kind == Created || one.Kind == LinkChanged && one.Before == "":
			name += " (new)"
		case one.Kind == Renamed:
			name = shown(one.From, dir) + " → " + name
		case one.Kind != Modified:
			name += " (" + string(one.Kind) + ")"
		}
		names = append(names, name)
	}
	return humanize.List(names, maxListed)
}

// shown returns a path for the model.
func shown(path, dir string) string {
	return humanize.Shorten(oneLine(Visible(relative(path, dir))), 300)
}

// relative returns a path below a directory relative to it.
func relative(name, dir string) string {
	name = humanize.UnquotePath(name)
	if rest, ok := strings.CutPrefix(filepath.ToSlash(name), filepath.ToSlash(filepath.Clean(dir))+"/"); ok &&
		dir != "" {
		return rest
	}
	return name
}
