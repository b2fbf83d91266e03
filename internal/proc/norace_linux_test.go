//go:build !race

package proc

// underRace says that the race detector slows everything and adds memory.
const underRace = false
