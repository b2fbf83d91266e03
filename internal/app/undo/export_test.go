package undo

// Compared returns how many paths the scans of f compare.
func Compared(t *Tracker, f func()) int {
	before := t.snap.compared
	f()
	return t.snap.compared - before
}
