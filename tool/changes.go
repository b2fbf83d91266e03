package tool

import (
	"path/filepath"
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

// maxChanges is how many paths are listed before those of a directory become one entry.
const maxChanges = 1000

// Folded returns at most about a thousand entries: the paths of the directories with the most changes are counted.
func (c Changes) Folded() Changes {
	for len(c.List) > maxChanges {
		shorter := foldDeepest(c.List)
		if len(shorter) == len(c.List) {
			break
		}
		c.List = shorter
	}
	return c
}

// foldDeepest joins the entries of directories at the greatest depth.
func foldDeepest(list []Change) []Change {
	deepest := 0
	for _, c := range list {
		deepest = max(deepest, depth(c))
	}
	type key struct {
		dir       string
		discarded bool
	}
	at := map[key]int{}
	var out []Change
	for _, c := range list {
		dir := filepath.Dir(strings.TrimSuffix(c.Path, "/"))
		if depth(c) < deepest || dir == filepath.Dir(dir) {
			out = append(out, c)
			continue
		}
		k := key{dir, c.Discarded}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, Change{Path: dir + "/", Kind: c.Kind, Files: max(1, c.Files), Discarded: c.Discarded})
			continue
		}
		out[i].Files += max(1, c.Files)
		if out[i].Kind != c.Kind {
			out[i].Kind = Modified
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func depth(c Change) int {
	return strings.Count(strings.TrimSuffix(filepath.ToSlash(c.Path), "/"), "/")
}

// Count returns how many files changed: "3 files changed, 1 new, 2 deleted". "": none did.
func (c Changes) Count() string {
	counts := map[ChangeKind]int{}
	n := 0
	for _, one := range c.List {
		if one.Discarded {
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
		return ""
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
	return text
}

// Summary lists the changed paths for the model, relative to a directory: "a.go, b.go (new), dist/ (412 files)".
func (c Changes) Summary(dir string) string {
	var names []string
	for _, one := range c.List {
		if one.Discarded {
			continue
		}
		name := Visible(relative(one.Path, dir))
		switch {
		case one.Files > 0:
			name += " (" + humanize.Count(one.Files, "file") + ")"
		case one.Kind == Created || one.Kind == LinkChanged && one.Before == "":
			name += " (new)"
		case one.Kind == Renamed:
			name = Visible(relative(one.From, dir)) + " → " + name
		case one.Kind != Modified:
			name += " (" + string(one.Kind) + ")"
		}
		names = append(names, name)
	}
	return humanize.List(names, maxListed)
}

// relative returns a path below a directory relative to it.
func relative(name, dir string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(name), filepath.ToSlash(filepath.Clean(dir))+"/"); ok &&
		dir != "" {
		return rest
	}
	return name
}
