//go:build !linux

package main

import "io"

// printTerminal measures nothing: it needs /proc and Linux terminals.
func printTerminal(io.Writer, string) error { return nil }
