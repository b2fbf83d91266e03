package tool

import (
	"slices"
	"strconv"
	"strings"
)

// Nearest returns up to n names similar to name, closest first, for "did you mean".
func Nearest(name string, names []string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	want := fold(name)
	if len(want) > 200 {
		return nil
	}
	for _, s := range names {
		have := fold(s)
		d := Distance(want, have)
		switch {
		case want == "" || d >= max(len(want), len(have)): // nothing of it is left
			continue
		case d > max(2, len(have)/3) && !partOf(want, have):
			continue
		case partOf(want, have):
			d = min(d, 2)
		}
		found = append(found, candidate{s, d})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, c := range found[:min(n, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// fold makes fileName, file-name and file_name the same.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

func partOf(a, b string) bool {
	return min(len(a), len(b)) >= 4 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// Distance is the number of single-byte changes, or swaps of two neighbors, that make a into b.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			if a[i] == b[j] {
				row[j+1] = last[j]
				continue
			}
			row[j+1] = 1 + min(last[j], last[j+1], row[j])
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

func quoteList(names []string, or string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + or + quoted[len(quoted)-1]
}
