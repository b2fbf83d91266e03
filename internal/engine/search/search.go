// Package search finds lines and files under directories, honoring ignore files, as fast as the disk cache allows.
//
//	p, err := search.Compile(search.Query{Pattern: `func \w+Error\(`})
//	res, err := search.Grep(ctx, search.GrepRequest{Scope: search.Scope{Paths: []string{"/home/me/app"}}, Pattern: p})
//	for _, f := range res.Files { for _, l := range f.Lines { fmt.Println(f.Path, l.Number, l.Text) } }
//
// Ignored directories and ".git" are never entered, links are not followed, and files that an AI ignore file denies are
// skipped whatever the options. Totals count everything, including results beyond a limit; a search that couldn't
// finish sets Incomplete. Memory is bounded by the number of workers, the limit and the number of directories not yet
// visited, not by the size of files; what searches of a session share (Shared) is bounded too.
//
// The package knows nothing about tools or models; package builtin formats its results. It builds no index and changes
// nothing.
//
// How it is fast:
//
//	walk     getdents64 and openat on raw descriptors, ignore rules as linked sets    directory_linux.go, walk.go
//	shared   directories are listed again only if their times changed                 shared.go
//	pass     searches that begin together read each file once                         pass.go, content.go
//	finder   the rarest byte of a literal every match must contain, then the line     literal.go, scan.go, finder.go
//	dfa      a lazy DFA over bytes where there is no literal, and to confirm          program.go, dfa.go
//	regexp   only for lines with characters beyond ASCII, and to place the match
package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// Scope is where to search.
type Scope struct {
	// Paths are absolute files or directories. Links in them are followed, and results have the resolved path. Named
	// paths are searched even if git ignores them, with a note.
	Paths []string
	// Rules decide what is ignored; nil makes rules whose roots are the Paths.
	Rules *ignore.Rules
	// NoIgnore disables git's rules. AI ignore files still apply.
	NoIgnore bool
	// SkipHidden omits files and directories whose name begins with a dot.
	SkipHidden bool
	// Globs restrict the search to matching paths, relative to the directory it begins in; one with a leading "!"
	// excludes. One without a slash matches the last element of a path at any depth.
	Globs []string
	// Types restrict the search to types of files, see Types.
	Types []string
	// Withhold, if not nil, is called with each directory. all: nothing in it is visited, and it is counted once.
	// Otherwise Grep counts files whose name withheld accepts (nil: none) and never opens them, and Files lists them
	// last. All this depends on names alone. A name is only valid during the call.
	Withhold func(dir string) (all bool, withheld func(name string) bool)
	// Timeout ends the search with the results so far; 0: none.
	Timeout time.Duration
	// Workers is the number of threads; 0 is one per processor.
	Workers int

	// Shared is what searches of a session share; nil: nothing.
	Shared *Shared

	portable bool // for tests: the walk of other systems
	buffer   int  // for tests: the size of the buffer instead of bufferSize
}

func (s *Scope) bufferSize() int {
	if s.buffer > 0 {
		return s.buffer
	}
	return bufferSize
}

// Incomplete is why a search is incomplete.
type Incomplete string

const (
	Complete  Incomplete = ""
	TimedOut  Incomplete = "it timed out"
	Cancelled Incomplete = "it was canceled"
	Enough    Incomplete = "enough was found"
)

// Problem is a path that couldn't be searched.
type Problem struct {
	Path string
	Err  error
}

func (p Problem) Error() string { return fmt.Sprintf("search %s: %v", p.Path, p.Err) }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// Summary describes how a search went.
type Summary struct {
	Incomplete Incomplete // not empty: there may be more results
	Seen       int        // files searched, after ignore rules and filters
	Ignored    int        // files and directories omitted because of git's rules
	Refused    int        // files and directories that AI ignore files protect
	Withheld   int        // files that Scope.Withhold withholds
	Closed     int        // directories that it withholds
	Unreadable int        // files and directories that could not be read
	Problems   []Problem  // some of these
	Notes      []string   // for the caller, such as that a named directory is git-ignored
}

const maxProblems = 20

func (s *Summary) problem(path string, err error) {
	s.Unreadable++
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, Problem{filepath.FromSlash(path), err})
	}
}

func (s *Summary) add(o *Summary) {
	s.Seen += o.Seen
	s.Ignored += o.Ignored
	s.Refused += o.Refused
	s.Withheld += o.Withheld
	s.Closed += o.Closed
	s.Unreadable += o.Unreadable
	s.Notes = append(s.Notes, o.Notes...)
	s.Problems = append(s.Problems, o.Problems[:min(len(o.Problems), maxProblems-len(s.Problems))]...)
}

// conclude sets why a search ended early. A canceled context is an error, a timeout is not: the results so far count.
func (s *Summary) conclude(ctx context.Context, timed context.Context, stopped bool) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		s.Incomplete = Cancelled
		return ctx.Err()
	case timed.Err() != nil && stopped:
		s.Incomplete = TimedOut
	case stopped:
		s.Incomplete = Enough
	}
	return nil
}

// taker turns matches in the current buffer into numbered lines with context. Its offsets are relative to that buffer,
// and slide adjusts them when the buffer moves.
type taker struct {
	p             *Pattern
	before, after int
	maxLine       int
	max           int  // maximum number of matches whose lines are taken; the rest are only counted
	on            bool // lines are needed

	count   int // matching lines so far
	number  int // of the line that begins at counted
	counted int // offset up to which line endings were counted
	next    int // beginning of the first line that wasn't taken
	due     int // lines of context still to take

	lines []Line
	ends  []int  // where each line's text ends in text
	text  []byte // of all lines, in one allocation
}

func (t *taker) reset(on bool) {
	t.on, t.count, t.number, t.counted, t.next, t.due = on, 0, 1, 0, 0, 0
	t.lines, t.ends, t.text = t.lines[:0], t.ends[:0], t.text[:0]
}

// match takes a matching line and the context before it.
func (t *taker) match(data []byte, from, to int) {
	t.count++
	if !t.on {
		return
	}
	t.context(data, from)
	begin := from
	for k := 0; k < t.before && begin > t.next; k++ {
		begin = bytes.LastIndexByte(data[:begin-1], '\n') + 1
	}
	for begin < from {
		end := lineEnd(data, begin)
		t.add(data, begin, end, false)
		begin = end + 1
	}
	t.add(data, from, to, true)
	t.next, t.due = to+1, t.after
	if t.count >= t.max && t.max > 0 {
		t.on = t.due > 0
	}
}

// context takes the context after the last match, up to an offset where another match begins.
func (t *taker) context(data []byte, upTo int) {
	for t.due > 0 && t.next < upTo {
		end := lineEnd(data, t.next)
		t.add(data, t.next, end, false)
		t.next = end + 1
		t.due--
	}
}

// slide adjusts to the removal of the first n bytes of the buffer.
func (t *taker) slide(data []byte, n int) {
	if t.on {
		t.countTo(data, n)
		t.counted = 0
	}
	t.next = max(0, t.next-n)
}

// countTo updates the line number up to an offset.
func (t *taker) countTo(data []byte, at int) {
	if at > t.counted {
		t.number += bytes.Count(data[t.counted:at], newline)
		t.counted = at
	}
}

var newline = []byte("\n")

func (t *taker) add(data []byte, from, to int, match bool) {
	t.countTo(data, from)
	line := t.p.trimCR(data[from:to])
	l := Line{Number: t.number, Match: match}
	if len(line) > t.maxLine {
		l.Cut = true
		l.Offset, line = t.cut(line, match)
	}
	t.text = append(t.text, line...)
	t.lines, t.ends = append(t.lines, l), append(t.ends, len(t.text))
}

// cut selects the part of a long line with the match and some text before it.
func (t *taker) cut(line []byte, match bool) (int, []byte) {
	start := 0
	if match {
		// If the line is so long that searching for the position would take noticeable time, it is shown from its
		// beginning.
		if loc := t.p.full.FindIndex(line[:min(len(line), 1<<20)]); loc != nil {
			start = max(0, min(loc[0]-t.maxLine/4, len(line)-t.maxLine))
		}
	}
	end := start + t.maxLine
	for start > 0 && start < end && !utf8.RuneStart(line[start]) {
		start++
	}
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	return start, line[start:end]
}

// taken returns the lines.
func (t *taker) taken() []Line {
	text, lines := string(t.text), slices.Clone(t.lines)
	start := 0
	for i, end := range t.ends {
		lines[i].Text = text[start:end]
		start = end
	}
	return lines
}
