package tty

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// IsTerminal reports whether a file is a console.
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// CanRedraw reports whether a console understands the sequences that move its cursor, and has it do so.
func CanRedraw(f *os.File, kind string) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if kind == "dumb" || windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// InBackground reports whether another program has the console.
func InBackground(*os.File) bool { return false }

// Echo is nil: a console echoes only while a line is read.
func Echo(*os.File) func(on bool) { return nil }

// terminal reads a console. A read can't be canceled there, so a prompt that is withdrawn leaves one behind; the line
// that ends it is dropped.
type terminal struct {
	*Lines
	console windows.Handle
}

func newTerminal(f *os.File) Answers {
	return terminal{NewLines(f), windows.Handle(f.Fd())}
}

func (t terminal) Discard() error {
	t.forgets = true // what was read and not asked for, and the line that a next which gave up was waiting for
	if err := windows.FlushConsoleInputBuffer(t.console); err != nil {
		return fmt.Errorf("discard what was typed before the prompt: %w", err)
	}
	return nil
}
