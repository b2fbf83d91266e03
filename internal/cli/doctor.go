package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/session"
)

// doctor reports what works on this machine, what does not, and why.
func doctor(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "doctor"); err != nil {
		return err
	}
	c := session.NewCheckup(env.Stdout)
	err := checkSession(ctx, c, env, o)
	if ctx.Err() != nil {
		return exitf(exitInterrupted, "interrupted")
	}
	c.End()
	return err
}

func checkSession(ctx context.Context, c *session.Checkup, env Env, o *options) error {
	found, err := c.Machine(env.session())
	if err != nil {
		return err
	}
	var told []string
	own := env
	own.notify = func(note string) { told = append(told, strings.TrimPrefix(note, "warning: ")) }
	s, err := openSession(own, o, session.Options{SingleCall: true, AllWarnings: true})
	if err != nil {
		c.Failed(found, err)
		return exitf(exitCode(err), "")
	}
	defer closeSession(env, s)
	c.Session(ctx, s, found, told)
	return nil
}

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
