//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// onSuspend calls f when the user types Ctrl-Z, until stop is called.
func onSuspend(f func()) (stop func()) {
	typed := make(chan os.Signal, 1)
	signal.Notify(typed, syscall.SIGTSTP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-typed:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(typed)
		close(done)
	}
}
