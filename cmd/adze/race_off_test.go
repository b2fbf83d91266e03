//go:build !race

package main

// raceEnabled reports that the race detector multiplies memory.
const raceEnabled = false
