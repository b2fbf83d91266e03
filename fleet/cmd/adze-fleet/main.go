// Command adze-fleet is 'adze fleet': it runs tasks on one machine or many, with an embedded queue or that of a server.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/fleet/internal/cli"
)

// version is set by the build, with -ldflags.
var version = "devel"

func main() { os.Exit(run()) }

func run() int {
	helper := builtin.Main() // doesn't return in a helper process
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return cli.Run(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Helper: helper, Program: program, Version: version,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
}
