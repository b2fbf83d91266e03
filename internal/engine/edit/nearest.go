package edit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Limits of the search for the most similar place, for any text.
const (
	maxSearched  = 32 << 20 // bytes of the text that are searched
	maxLines     = 1 << 20  // and lines
	maxOldLines  = 200      // lines of Old that are searched for
	maxSameLines = 1000     // occurrences of one line that count: frequent lines are not significant
	maxWindows   = 20       // places that are compared line by line
	maxCompared  = 400      // bytes of a line that are compared
	minAlike     = 0.5      // minimum similarity
)

// nearest finds the lines of text that are most like old, or nil. whole: old has whole lines.
func nearest(text, old string, whole bool) *Near {
	text = text[:min(len(text), maxSearched)]
	oldLines := linesOf(old)
	oldLines = oldLines[:min(len(oldLines), maxOldLines)]
	lines := strings.SplitAfterN(text, "\n", maxLines+1)
	if last := len(lines) - 1; last == maxLines || lines[last] == "" {
		lines = lines[:last]
	}
	windows := equalLines(lines, oldLines)
	if len(windows) == 0 {
		windows = similarLines(lines, oldLines)
	}
	var best place
	for _, w := range windows {
		if p := placeAt(lines, oldLines, w, whole); p.alike > best.alike {
			best = p
		}
	}
	if best.alike < minAlike {
		return nil
	}
	return best.near(oldLines)
}

// essence returns the significant characters of a line: without whitespace, in plain typography.
func essence(line string) string {
	return strings.Map(func(r rune) rune {
		if r = plain(r); r <= ' ' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
}

// equalLines finds windows of lines that share whole lines with old, ignoring whitespace: the best of them, by how much
// text they share.
func equalLines(lines, old []string) []int {
	at := map[string][]int{}
	for i, line := range old {
		if e := essence(line); e != "" && len(at[e]) < 8 {
			at[e] = append(at[e], i)
		}
	}
	seen := map[string]int{}
	votes := map[int]int{}
	for n, line := range lines {
		e := essence(line)
		if at[e] == nil || seen[e] == maxSameLines {
			continue
		}
		seen[e]++
		for _, i := range at[e] {
			votes[n-i] += 1 + min(len(e), 40)
		}
	}
	return bestOf(votes)
}

// bestOf returns the places with the most votes; of equals, the first ones.
func bestOf(votes map[int]int) []int {
	best := slices.SortedFunc(maps.Keys(votes), func(a, b int) int { return cmp.Or(votes[b]-votes[a], a-b) })
	return best[:min(len(best), maxWindows)]
}

// similarLines finds windows with a line that shares many pairs of characters with the longest line of old.
func similarLines(lines, old []string) []int {
	longest := 0
	for i := range old {
		if len(essence(old[i])) > len(essence(old[longest])) {
			longest = i
		}
	}
	want := pairsOf(essence(old[longest]))
	votes := map[int]int{}
	for n, line := range lines {
		e := essence(line)
		if found := shared(want, e); found > 0 && found*2 >= len(want) {
			votes[n-longest] = found*1000 - min(len(e), maxCompared) // prefer shorter lines
		}
	}
	return bestOf(votes)
}

// alike returns the share of the pairs of characters of want that have has.
func alike(want, have string) float64 {
	if want == have {
		return 1
	}
	pairs := pairsOf(want)
	return 0.95 * float64(shared(pairs, have)) / max(float64(len(pairs)), 1)
}

// pairsOf returns the different pairs of adjacent bytes in a line.
func pairsOf(s string) (pairs []string) {
	s = s[:min(len(s), maxCompared)]
	for i := range max(len(s)-1, 0) {
		if pair := s[i : i+2]; strings.Index(s, pair) == i {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// shared counts the pairs that s has.
func shared(pairs []string, s string) (n int) {
	s = s[:min(len(s), maxCompared)]
	for _, pair := range pairs {
		if strings.Contains(s, pair) {
			n++
		}
	}
	return n
}
