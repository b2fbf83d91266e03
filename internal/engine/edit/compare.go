package edit

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Comparison is the difference between two texts, line by line. Lines end with "\n", and all characters count,
// including whitespace and "\r".
type Comparison struct {
	old, new string
	changes  []change
	part     int // how much of a long line is shown where it doesn't differ; 0: all
}

// change replaces lines of the old text by lines of the new. Offsets are in bytes; lines count from 0.
type change struct {
	oldStart, oldEnd, newStart, newEnd   int
	oldLine, oldCount, newLine, newCount int
}

// Compare finds the lines that differ. It takes about linear time: for very different texts the result is correct, but
// not always minimal.
func Compare(old, new string) Comparison {
	c := Comparison{old: old, new: new}
	if old == new {
		return c
	}
	start := strings.LastIndexByte(old[:sameStart(old, new)], '\n') + 1
	oldEnd, newEnd := commonEnd(old, new, start)
	oldLines, newLines := linesOf(old[start:oldEnd]), linesOf(new[start:newEnd])
	line, oldAt, newAt := strings.Count(old[:start], "\n"), startsOf(oldLines, start), startsOf(newLines, start)
	for _, d := range ChangedLines(oldLines, newLines) {
		c.changes = append(c.changes, change{
			oldStart: oldAt[d.Start], oldEnd: oldAt[d.End], newStart: newAt[d.ReplStart], newEnd: newAt[d.ReplEnd],
			oldLine: line + d.Start, oldCount: d.End - d.Start,
			newLine: line + d.ReplStart, newCount: d.ReplEnd - d.ReplStart,
		})
	}
	return c
}

// ChangedLines returns the ranges of lines that differ, in order.
func ChangedLines(old, new []string) []lcs.Diff {
	d := differ{old: old, new: new}
	d.diff(0, len(old), 0, len(new), 0)
	return d.found
}

// block is how many bytes are compared at once.
const block = 1 << 10

// sameStart returns the length of the longest common prefix.
func sameStart(a, b string) int {
	n, limit := 0, min(len(a), len(b))
	for n+block <= limit && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}

// sameEnd returns the length of the longest common suffix.
func sameEnd(a, b string) int {
	i, j := len(a), len(b)
	for i >= block && j >= block && a[i-block:i] == b[j-block:j] {
		i, j = i-block, j-block
	}
	for i > 0 && j > 0 && a[i-1] == b[j-1] {
		i, j = i-1, j-1
	}
	return len(a) - i
}

// commonEnd returns where in a and in b, from start on, the longest common suffix of whole lines begins.
func commonEnd(a, b string, start int) (int, int) {
	n := sameEnd(a[start:], b[start:])
	i, j := len(a)-n, len(b)-n
	if (i == start || a[i-1] == '\n') && (j == start || b[j-1] == '\n') {
		return i, j
	}
	if n = strings.IndexByte(a[i:], '\n'); n < 0 {
		return len(a), len(b)
	}
	return i + n + 1, j + n + 1
}

// differ finds the differences of two lists of lines: it uses lines that occur once in both as anchors, in their
// longest common order, and a bounded search between them.
type differ struct {
	old, new []string
	found    []lcs.Diff
}

// maxAnchoring bounds the recursion of anchors between anchors.
const maxAnchoring = 16

func (d *differ) diff(i1, i2, j1, j2, depth int) {
	for i1 < i2 && j1 < j2 && d.old[i1] == d.new[j1] {
		i1, j1 = i1+1, j1+1
	}
	for i1 < i2 && j1 < j2 && d.old[i2-1] == d.new[j2-1] {
		i2, j2 = i2-1, j2-1
	}
	if i1 == i2 && j1 == j2 {
		return
	}
	if i1 == i2 || j1 == j2 {
		d.add(lcs.Diff{Start: i1, End: i2, ReplStart: j1, ReplEnd: j2})
		return
	}
	var anchors []anchor
	if depth < maxAnchoring {
		anchors = inOrder(uniqueInBoth(d.old[i1:i2], d.new[j1:j2]))
	}
	if len(anchors) == 0 {
		for _, f := range lcs.DiffLines(d.old[i1:i2], d.new[j1:j2]) {
			d.add(lcs.Diff{Start: i1 + f.Start, End: i1 + f.End, ReplStart: j1 + f.ReplStart, ReplEnd: j1 + f.ReplEnd})
		}
		return
	}
	i, j := i1, j1
	for _, a := range anchors {
		d.diff(i, i1+a.old, j, j1+a.new, depth+1)
		i, j = i1+a.old+1, j1+a.new+1
	}
	d.diff(i, i2, j, j2, depth+1)
}

// add adds a difference, or joins it to the last one if they are adjacent.
func (d *differ) add(f lcs.Diff) {
	if n := len(d.found); n > 0 && d.found[n-1].End == f.Start && d.found[n-1].ReplEnd == f.ReplStart {
		d.found[n-1].End, d.found[n-1].ReplEnd = f.End, f.ReplEnd
		return
	}
	d.found = append(d.found, f)
}

// anchor is a line that is at old in one list and at new in the other.
type anchor struct{ old, new int }

// uniqueInBoth returns the lines that occur exactly once in each list, by their position in the first.
func uniqueInBoth(old, new []string) []anchor {
	type seen struct{ old, new, at int }
	lines := make(map[string]*seen, len(old))
	for _, n := range old {
		if lines[n] == nil {
			lines[n] = &seen{}
		}
		lines[n].old++
	}
	for j, n := range new {
		if s := lines[n]; s != nil {
			s.new, s.at = s.new+1, j
		}
	}
	var out []anchor
	for i, n := range old {
		if s := lines[n]; s.old == 1 && s.new == 1 {
			out = append(out, anchor{i, s.at})
		}
	}
	return out
}

// inOrder returns the longest subsequence of anchors that is in order in both lists.
func inOrder(anchors []anchor) []anchor {
	var tops []int // tops[k]: the anchor with the smallest position that ends a sequence of length k+1
	before := make([]int, len(anchors))
	for i, a := range anchors {
		lo := sort.Search(len(tops), func(k int) bool { return anchors[tops[k]].new >= a.new })
		before[i] = -1
		if lo > 0 {
			before[i] = tops[lo-1]
		}
		if lo == len(tops) {
			tops = append(tops, i)
		} else {
			tops[lo] = i
		}
	}
	out := make([]anchor, len(tops))
	if len(tops) > 0 {
		for k, i := len(tops)-1, tops[len(tops)-1]; i >= 0; k, i = k-1, before[i] {
			out[k] = anchors[i]
		}
	}
	return out
}

// startsOf returns where lines begin, the first one at an offset, and where the last one ends.
func startsOf(lines []string, at int) []int {
	starts := append(make([]int, 0, len(lines)+1), at)
	for _, line := range lines {
		at += len(line)
		starts = append(starts, at)
	}
	return starts
}

// Stat counts what a change adds and removes: lines, and their characters.
type Stat struct {
	AddedLines, RemovedLines, AddedChars, RemovedChars int
}

// Stat counts the differences. A changed line counts as removed and added.
func (c Comparison) Stat() Stat {
	var s Stat
	for _, ch := range c.changes {
		s.AddedLines += ch.newCount
		s.RemovedLines += ch.oldCount
		s.AddedChars += chars(c.new[ch.newStart:ch.newEnd])
		s.RemovedChars += chars(c.old[ch.oldStart:ch.oldEnd])
	}
	return s
}

func chars(s string) int { return utf8.RuneCountInString(s) - strings.Count(s, "\n") }
