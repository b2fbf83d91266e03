package workspace

import (
	"fmt"
	"slices"
	"strings"
)

// Range is lines First to Last, counted from 1, both included.
type Range struct{ First, Last int }

func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Lines formats ranges for users: "1-20, 35". Long lists are cut.
func Lines(rs []Range) string {
	const shown = 20
	var b strings.Builder
	for i, r := range rs {
		if i == shown {
			fmt.Fprintf(&b, " and %d more places", len(rs)-shown)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.String())
	}
	return b.String()
}

// LineChange is a run of lines replaced by others: from line At on (old
// numbering), Removed lines became Added lines. An insertion before line At
// removes none.
type LineChange struct{ At, Removed, Added int }

// maxRanges bounds the ranges of one file; beyond it the shortest are dropped, so that those lines have to be read
// again.
const maxRanges = 4096

// ranges are ascending, with gaps of at least one line.
type ranges []Range

func (rs ranges) add(r Range) ranges {
	r.First = max(r.First, 1)
	if r.Last < r.First {
		return rs
	}
	// Merge all ranges that touch r.
	i, _ := slices.BinarySearchFunc(rs, r.First-1, func(e Range, first int) int { return e.Last - first })
	j := i
	for j < len(rs) && rs[j].First <= r.Last+1 {
		r.First, r.Last = min(r.First, rs[j].First), max(r.Last, rs[j].Last)
		j++
	}
	rs = slices.Replace(rs, i, j, r)
	if len(rs) > maxRanges {
		rs = rs.withoutShortest()
	}
	return rs
}

func (rs ranges) withoutShortest() ranges {
	least := 0
	for i, r := range rs {
		if r.Last-r.First < rs[least].Last-rs[least].First {
			least = i
		}
	}
	return slices.Delete(rs, least, least+1)
}

// missing returns the lines of 1..lines that are not in rs.
func (rs ranges) missing(lines int) []Range {
	var out []Range
	next := 1
	for _, r := range rs {
		if r.First > lines {
			break
		}
		if r.First > next {
			out = append(out, Range{next, r.First - 1})
		}
		next = r.Last + 1
	}
	if next <= lines {
		out = append(out, Range{next, lines})
	}
	return out
}

// shift moves ranges to the positions of their lines after the changes, and adds the new lines.
func (rs ranges) shift(changes []LineChange) ranges {
	var out ranges
	delta, from := 0, 1 // lines from..change.At-1 move by delta
	keep := func(to int) {
		for _, r := range rs {
			if r.Last >= from && r.First <= to {
				out = out.add(Range{max(r.First, from) + delta, min(r.Last, to) + delta})
			}
		}
	}
	for _, c := range changes {
		keep(c.At - 1)
		if c.Added > 0 {
			out = out.add(Range{c.At + delta, c.At + delta + c.Added - 1})
		}
		from, delta = c.At+c.Removed, delta+c.Added-c.Removed
	}
	keep(int(^uint(0)>>1) / 2)
	return out
}
