//go:build race

package search

// slack is how much longer things may take under the race detector.
const slack = 10
