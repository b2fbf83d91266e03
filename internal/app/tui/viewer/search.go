package viewer

import (
	"math"
	"strings"
)

// search goes to the next place with the query after the current one, or the one before it.
func (v *View) search(backward bool) {
	if v.query == "" {
		v.note = "no search: / starts one"
		return
	}
	n := v.source.Len()
	from := v.top
	if v.found {
		from = v.hit
	}
	step := 1
	if backward {
		step = n - 1
	}
	for i := 0; i <= n && n > 0; i++ {
		first, end := 0, math.MaxInt
		switch {
		case i > 0:
		case backward:
			end = from.row
		case v.found:
			first = from.row + 1
		default:
			first = from.row
		}
		if v.findIn((from.item+i*step)%n, first, end, backward) {
			v.found, v.chosen = true, -1
			v.show(v.hit)
			return
		}
	}
	v.found = false
	v.note = "not found: " + v.typed
}

// findIn makes the first row of an item with the query the hit, or the last one. Of an item with a folded part that has
// it, that is the first row.
func (v *View) findIn(item, first, end int, last bool) (found bool) {
	match := v.source.Has(item, v.query)
	if match == Nowhere {
		return false
	}
	rows := v.of(item)
	for i := first; i < min(end, len(rows)); i++ {
		if match == Folded && i == v.head(item) || match == Shown && v.at(rows[i]) >= 0 {
			v.hit, found = position{item, i}, true
			if !last {
				break
			}
		}
	}
	return found
}

// head is the first row of an item that isn't empty.
func (v *View) head(item int) int {
	for i, r := range v.of(item) {
		if len(r.line) > 0 {
			return i
		}
	}
	return 0
}

// at is the byte of a row at which the query is; -1: it isn't there.
func (v *View) at(r row) int {
	if v.query == "" {
		return -1
	}
	return index(r.line.String(), v.query, 0)
}

// index is where a text has a query that is in lower case, from a byte on.
func index(text, query string, from int) int {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // bytes would not be the same
		lower = text
	}
	if i := strings.Index(lower[from:], query); i >= 0 {
		return from + i
	}
	return -1
}
