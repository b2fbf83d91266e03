//go:build race

package plainadze

// RaceEnabled reports whether the race detector slows everything and adds memory.
const RaceEnabled = true
