package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/journal"
)

// State is the state of a path.
type State struct {
	// Is is "" if nothing exists, "sha256:…" for a file with that content, "link:…" for a link to that target, "dir"
	// for a directory, "node:…" for a file or a directory whose content isn't saved and that can only be moved back,
	// "?" for anything else.
	Is   string
	Mode fs.FileMode // permission bits of a file or a directory
}

const (
	filePrefix = "sha256:"
	linkPrefix = "link:"
	nodePrefix = "node:"
	isDir      = "dir"
	isUnsaved  = "?"
)

// modeBits are the restored bits of a mode.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// IsDir reports whether it is a directory.
func (s State) IsDir() bool { return s.Is == isDir }

func (s State) isFile() bool { return strings.HasPrefix(s.Is, filePrefix) }

func (s State) isLink() bool { return strings.HasPrefix(s.Is, linkPrefix) }

func (s State) isNode() bool { return strings.HasPrefix(s.Is, nodePrefix) }

func (s State) unsaved() bool { return s.isNode() || s.Is == isUnsaved }

// nodeState returns the state of something that isn't saved: as long as it isn't changed, it is the same after a move.
func nodeState(st search.Stat) State {
	if st.Mode.IsDir() {
		st.Size = 0
	}
	return State{fmt.Sprintf("%s%x.%x.%x", nodePrefix, st.Inode, st.Size, st.Modified), st.Mode & modeBits}
}

// Change is a path that a call changed.
type Change struct {
	Path          string
	Before, After State
}

// Lost is a path that a call changed, or may have changed, and that can't be restored.
type Lost struct{ Path, Why string }

// linkTo returns a link's state. A target that isn't valid UTF-8 is quoted.
func linkTo(target string) State { return State{Is: linkPrefix + humanize.QuotePath(target)} }

// target returns the target of a link.
func (s State) target() string { return humanize.UnquotePath(strings.TrimPrefix(s.Is, linkPrefix)) }

// Journaled returns changes for the journal.
func Journaled(changes []Change) []journal.Change {
	var out []journal.Change
	for _, c := range changes {
		out = append(out, journal.Change{
			Path: humanize.QuotePath(c.Path), Before: c.Before.Is, After: c.After.Is, Mode: bits(c.Before.Mode),
			ModeAfter: bits(c.After.Mode),
		})
	}
	return out
}

// FromJournal reverses Journaled.
func FromJournal(changes []journal.Change) []Change {
	var out []Change
	for _, c := range changes {
		out = append(out, Change{
			Path: humanize.UnquotePath(c.Path), Before: State{c.Before, mode(c.Mode)},
			After: State{c.After, mode(c.ModeAfter)},
		})
	}
	return out
}

// JournaledLost returns paths that can't be restored for the journal.
func JournaledLost(lost []Lost) []journal.Unsaved {
	var out []journal.Unsaved
	for _, l := range lost {
		out = append(out, journal.Unsaved{Path: humanize.QuotePath(l.Path), Why: l.Why})
	}
	return out
}

func lostFromJournal(lost []journal.Unsaved) []Lost {
	var out []Lost
	for _, l := range lost {
		out = append(out, Lost{humanize.UnquotePath(l.Path), l.Why})
	}
	return out
}

// bits returns the permission bits of a mode as for chmod.
func bits(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	for i, bit := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if m&bit != 0 {
			n |= 0o1000 << i
		}
	}
	return n
}

func mode(n uint32) fs.FileMode {
	m := fs.FileMode(n & 0o777)
	for i, bit := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if n&(0o1000<<i) != 0 {
			m |= bit
		}
	}
	return m
}

// tooLargeError reports a file over a limit.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string { return "over " + humanize.Bytes(e.limit) }

// gone reports whether an error means that nothing exists at a path, including a file in place of a parent directory.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, nofollow.ErrChanged) || isNotDir(err)
}

// look returns the state of a path, and saves its content. A file over the limit has the state of an unsaved one, with
// an error.
func look(path string, limit int64, b *batch) (State, error) {
	return stateOf(path, func(info fs.FileInfo) (State, error) { return lookFile(path, info, limit, b) })
}

// stateOf returns the state of a path: file returns that of a regular file.
func stateOf(path string, file func(fs.FileInfo) (State, error)) (State, error) {
	info, err := nofollow.Lstat(path)
	if gone(err) {
		return State{}, nil
	}
	if err != nil {
		return State{Is: isUnsaved}, err
	}
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		return linkTo(target), err
	case fs.ModeDir:
		return State{isDir, info.Mode() & modeBits}, nil
	case 0:
		return file(info)
	}
	return State{Is: isUnsaved}, fmt.Errorf("it is %s", nofollow.Kind(info.Mode()))
}

func lookFile(path string, info fs.FileInfo, limit int64, b *batch) (State, error) {
	s := State{isUnsaved, info.Mode() & modeBits}
	f, err := nofollow.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	h, err := b.addFile(f, info.Size(), limit)
	if err != nil {
		return s, err
	}
	s.Is = name(h)
	return s, nil
}
