//go:build unix

package cli

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
)

// execute replaces this process by another program.
func execute(_ context.Context, _ Env, path string, args, environ []string) error {
	signal.Reset() // the program has its own
	err := syscall.Exec(path, append([]string{fleetName}, args...), environ)
	return fmt.Errorf("execute %s: %w", path, err)
}
