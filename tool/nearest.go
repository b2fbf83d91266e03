package tool

import (
	"slices"
	"strconv"
	"strings"
)

// nearest finds the names that name was probably meant to be, nearest first.
func nearest(name string, names []string, n int) []string {
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
		d := distance(want, have)
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

// distance is the number of single-byte changes that make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
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
