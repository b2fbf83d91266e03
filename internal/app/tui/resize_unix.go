//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
)

// watchResize reports when the terminal is resized.
func watchResize() (chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
