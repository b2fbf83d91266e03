// Package nearest finds the name that was probably meant by a mistyped word, for "Did you mean". A wrong suggestion is
// worse than none, so it only detects typos and parts of a name.
package nearest

import (
	"fmt"
	"strings"
)

// maxSuggestions is the maximum number of names in a suggestion.
const maxSuggestions = 3

// maxWord is the maximum length of a word that is compared.
const maxWord = 100

// Names returns the names closest to word among those that it may be a typo of, in their order: one, or up to three
// that are equally close. With more than three or none, the result is nil.
func Names(word string, names []string) []string {
	var found []string
	least := len(word) + 1
	for _, name := range names {
		edits, ok := Typo(word, name)
		switch {
		case !ok || edits > least:
			continue
		case edits < least:
			found, least = nil, edits
		}
		found = append(found, name)
	}
	if len(found) > maxSuggestions {
		return nil
	}
	return found
}

// Typo reports whether word may be a mistyped name, and how many edits away it is: insertions, deletions, substitutions
// and swaps of neighbors. Letter case and the separators _, -, . and space don't count. Words of at least 3 letters may
// have one edit, words of at least 8 two.
func Typo(word, name string) (edits int, ok bool) {
	if len(word) > maxWord || len(name) > maxWord {
		return 0, false
	}
	word, name = fold(word), fold(name)
	shorter := min(len(word), len(name))
	limit := 0
	switch {
	case shorter >= 8:
		limit = 2
	case shorter >= 3:
		limit = 1
	}
	edits = Distance(word, name)
	return edits, shorter > 0 && edits <= limit
}

// Part reports whether word is a part of name, or name of word, and at least 4 letters of it: path and file_path.
func Part(word, name string) bool {
	if len(word) > maxWord || len(name) > maxWord {
		return false
	}
	word, name = fold(word), fold(name)
	return min(len(word), len(name)) >= 4 && (strings.Contains(word, name) || strings.Contains(name, word))
}

// fold returns the same text for fileName, file-name and file_name.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// Distance returns the number of single-byte edits, or swaps of two neighbors, that make a into b.
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

// Hint suggests the closest name, after a space; "" without one. For a nested key, only the last part is compared.
func Hint(name string, names []string) string {
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	full, lasts := map[string]string{}, make([]string, len(names))
	for i, n := range names {
		lasts[i] = last(n)
		full[lasts[i]] = n
	}
	near := Names(last(name), lasts)
	if len(near) != 1 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", full[near[0]])
}
