// Package ptytest gives tests a terminal: a program under test has one end of it, the test types at the other and reads
// what is painted.
//
//	p := ptytest.Open(t)
//	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
//	p.Await("Allow? ", 1)
//	p.Type("n\n")
//
// It works on Linux.
package ptytest
