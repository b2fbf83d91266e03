// Command adze is a coding agent and its tools.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/internal/cli"
)

func main() {
	os.Exit(run())
}

func run() int {
	helper := adze.Main() // in a process that keeps commands this does not return
	// A reader that has gone is an error to handle, not a reason to die in the middle of a write.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, cli.FromOS(buildVersion(), helper))
}
