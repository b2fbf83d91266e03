package sandbox

import (
	"slices"
	"sort"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Cover is a path, with links resolved, that a command sees differently.
type Cover struct {
	Path string
	As   Kind
	Text string // of a Replaced file
}

// Kind is what a command sees in place of a path. Covers are made in the order of these kinds.
type Kind byte

const (
	Unwritable Kind = iota // the path, read-only even if it doesn't exist, because of deny rules. See Denials
	Unreadable             // a file or directory that can't be opened, because of deny rules
	Empty                  // an empty file
	Replaced               // a file with another text, read-only
	Closed                 // an empty directory,
	Shown                  // except for this file or directory in it
)

// Cover returns covers of this kind.
func (k Kind) Cover(paths ...string) []Cover {
	out := make([]Cover, len(paths))
	for i, path := range paths {
		out[i] = Cover{Path: path, As: k}
	}
	return out
}

// Covered returns the paths of the covers of some kinds.
func Covered(covers []Cover, kinds ...Kind) (paths []string) {
	for _, c := range covers {
		if slices.Contains(kinds, c.As) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// Ordered returns covers in the order in which they are made: by kind and path, each once. What is unreadable, or in an
// unreadable directory, gets no other cover on top of it.
func Ordered(covers []Cover) []Cover {
	unreadable := map[string]bool{}
	for _, path := range Covered(covers, Unreadable) {
		unreadable[path] = true
	}
	var out []Cover
	for _, c := range covers {
		if c.As <= Unreadable || len(unreadable) == 0 || !names.BelowAny(c.Path, unreadable) {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].As != out[j].As {
			return out[i].As < out[j].As
		}
		return out[i].Path < out[j].Path
	})
	return slices.Compact(out)
}

// hides reports whether something looks empty or different.
func (s *Spec) hides() bool {
	return slices.ContainsFunc(s.Covers, func(c Cover) bool { return c.As > Unreadable })
}

// unwritable returns the paths that deny rules make read-only.
func (s *Spec) unwritable() []string { return Covered(s.Covers, Unwritable) }
