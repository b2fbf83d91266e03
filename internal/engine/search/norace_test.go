//go:build !race

package search

// slack leaves room for other work on the machine.
const slack = 2
