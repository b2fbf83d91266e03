package cli

import (
	"context"
	"os/exec"
)

// execute runs another program and waits for it.
func execute(_ context.Context, env Env, path string, args, environ []string) error {
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = env.Stdin, env.Stdout, env.Stderr, environ
	return c.Run()
}
