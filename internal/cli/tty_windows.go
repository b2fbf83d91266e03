package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// canRedraw reports whether a console understands the sequences that move its cursor, and has it do so.
func canRedraw(f *os.File, kind string) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if kind == "dumb" || windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// inBackground reports whether another program has the console.
func inBackground(*os.File) bool { return false }

// echo is nil: a console echoes only while a line is read.
func echo(*os.File) func(on bool) { return nil }
