package cli

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/internal/session"
)

// showMemory prints what the context files say, and on the side which they are.
func showMemory(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "memory show"); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	memory := s.Definitions.Memory()
	for _, n := range memory.Notes {
		env.tell(fmt.Sprint(n))
	}
	for _, f := range memory.Files {
		fmt.Fprintf(env.Stderr, "%s (%s, %d bytes)\n", f.Path, f.Scope, f.Size)
	}
	_, err = fmt.Fprintln(env.Stdout, s.Definitions.Describe(memory))
	return err
}
