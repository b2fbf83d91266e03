//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package tty

import (
	"fmt"
	"os"
)

// terminal reads a terminal of a system that has no way to drop what was typed: it says so once.
type terminal struct {
	*Lines
	warned bool
}

func newTerminal(f *os.File) Answers { return &terminal{Lines: NewLines(f)} }

func (t *terminal) Discard() error {
	t.forgets = true // what was read and not asked for, and the line that a next which gave up was waiting for
	if !t.warned {
		t.warned = true
		fmt.Fprintln(os.Stderr, "adze: this system can't discard what was typed before a prompt; don't type ahead")
	}
	return nil
}

// IsTerminal reports whether a file may be a terminal: it is a device.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// CanRedraw reports whether a terminal understands the sequences that move its cursor.
func CanRedraw(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// InBackground reports whether another program has the terminal.
func InBackground(*os.File) bool { return false }

// Echo is nil: the terminal's echo cannot be switched off here.
func Echo(*os.File) func(on bool) { return nil }
