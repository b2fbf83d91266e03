// Package ptytest provides a terminal for tests: the program under test has one end, and the test types at the other
// end and reads the output.
//
//	p := ptytest.Open(t)
//	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
//	p.Await("Allow? ", 1)
//	p.Type("n\n")
//
// It works on Linux.
package ptytest
