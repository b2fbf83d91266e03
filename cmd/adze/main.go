// Command adze is a coding agent and its tools.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/cli"
	"github.com/adze-dev/adze/internal/app/supervisor"
	"github.com/adze-dev/adze/internal/engine/proc"
)

func main() {
	os.Exit(run())
}

func run() int {
	if err := proc.CheckLimits(); err != nil {
		fmt.Fprintln(os.Stderr, "adze:", err)
		return 1
	}
	return runIn(cli.FromOS(buildVersion(), builtin.Helper(supervisor.Helper)))
}

// runIn runs the command of an environment until it is done or a signal ends it.
func runIn(env cli.Env) int {
	// A reader that has gone is an error to handle, not a reason to die in the middle of a write.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP) // the terminal is gone: the session is closed in order
	}
	ctx, hurry := interrupted(signals, func() { signal.Stop(signals) })
	env.Hurry = hurry
	return cli.Run(ctx, env)
}

// interrupted returns a context that the first signal cancels, and a channel that the second one closes. After that it
// calls reset, which lets a third one kill the process.
func interrupted(signals <-chan os.Signal, reset func()) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	go func() {
		<-signals
		cancel()
		<-signals
		reset()
		close(hurry)
	}()
	return ctx, hurry
}
