//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package console

import (
	"fmt"
	"os"
)

// tty reads a terminal of a system that has no way to drop what was typed: it says so once.
type tty struct {
	*Lines
	warned bool
}

func newTTY(f *os.File) Answers { return &tty{Lines: NewLines(f)} }

func (t *tty) Discard() error {
	t.forgets = true // what was read and not asked for, and the line that a next which gave up was waiting for
	if !t.warned {
		t.warned = true
		fmt.Fprintln(os.Stderr, "adze: this system can't discard what was typed before a prompt; don't type ahead")
	}
	return nil
}

// canRedraw reports whether a terminal understands the sequences that move its cursor.
func canRedraw(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// inBackground reports whether another program has the terminal.
func inBackground(*os.File) bool { return false }

// echo is nil: the terminal's echo cannot be switched off here.
func echo(*os.File) func(on bool) { return nil }
