package viewer

import (
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
		item := (from.item + i*step) % n
		var ok bool
		switch {
		case backward && i == 0:
			ok = v.findBefore(item, from.row)
		case backward:
			ok = v.findBefore(item, -1)
		case i == 0 && v.found:
			ok = v.findIn(item, from.row+1)
		case i == 0:
			ok = v.findIn(item, from.row)
		default:
			ok = v.findIn(item, 0)
		}
		if ok {
			v.found, v.chosen = true, -1
			v.show(v.hit)
			return
		}
	}
	v.found = false
	v.note = "not found: " + v.typed
}

// findIn makes the first row of an item with the query, from one on, the hit. Of an item with a folded part that has
// it, that is the first row.
func (v *View) findIn(item, from int) bool {
	switch v.source.Has(item, v.query) {
	case Nowhere:
		return false
	case Folded:
		if from == 0 {
			v.hit = position{item, v.head(item)}
		}
		return from == 0
	}
	rows := v.of(item)
	for i := from; i < len(rows); i++ {
		if v.at(rows[i]) >= 0 {
			v.hit = position{item, i}
			return true
		}
	}
	return false
}

// findBefore makes the last row of an item with the query, before one, the hit; before -1: the last of all.
func (v *View) findBefore(item, before int) bool {
	switch v.source.Has(item, v.query) {
	case Nowhere:
		return false
	case Folded:
		head := v.head(item)
		if before < 0 || before > head {
			v.hit = position{item, head}
			return true
		}
		return false
	}
	rows := v.of(item)
	if before < 0 {
		before = len(rows)
	}
	for i := min(before, len(rows)) - 1; i >= 0; i-- {
		if v.at(rows[i]) >= 0 {
			v.hit = position{item, i}
			return true
		}
	}
	return false
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
