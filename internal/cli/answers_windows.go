package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// tty reads a console. A read cannot be broken off there, so a prompt that is withdrawn leaves one behind; the line
// that ends it is dropped.
type tty struct {
	*lineReader
	console windows.Handle
}

func newTTY(f *os.File) answers {
	return tty{newLineReader(f), windows.Handle(f.Fd())}
}

func (t tty) discard() error {
	t.forgets = true // what was read and not asked for, and the line that a next which gave up was waiting for
	if err := windows.FlushConsoleInputBuffer(t.console); err != nil {
		return fmt.Errorf("discard what was typed before the prompt: %w", err)
	}
	return nil
}
