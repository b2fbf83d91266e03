// Package frameworks builds and runs the same agent with Adze and with other Go libraries, and prints how many lines,
// modules and bytes each one takes: make compare-frameworks.
package frameworks
