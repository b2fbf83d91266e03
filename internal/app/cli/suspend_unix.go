//go:build unix

package cli

import (
	"context"
	"fmt"
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

// execute replaces this process by another program.
func execute(_ context.Context, _ Env, path string, args, environ []string) error {
	signal.Reset() // the program has its own
	err := syscall.Exec(path, append([]string{fleetName}, args...), environ)
	return fmt.Errorf("execute %s: %w", path, err)
}
