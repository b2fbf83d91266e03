package command

import (
	"context"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

// The parts of a program's output that RunProgram returns.
const (
	programHead = 2 << 10
	programTail = 4 << 10
)

// RunProgram runs a program of the user's settings in the project's directory, as approved commands run: in the same
// sandbox and environment, without a shell. It returns the output, shortened and masked; failure is how the program
// ended if it didn't succeed.
func (s *Shell) RunProgram(ctx context.Context, argv []string, limit time.Duration) (output, failure string) {
	c := proc.Command{
		Argv: argv, Dir: s.ws.Project(), Timeout: limit, Head: programHead, Tail: programTail,
	}
	if _, err := s.sandboxes.assign(&c, tool.Decision{}); err != nil {
		return "", err.Error()
	}
	s.settle(&c, nil)
	o, err := s.runner.Run(ctx, c)
	if err != nil {
		return "", err.Error()
	}
	output = o.Output.String() + noteLines(s.aside())
	switch {
	case o.Ended == proc.TimedOut:
		failure = "timed out after " + limit.Round(time.Millisecond).String()
	case o.Ended != proc.Exited:
		failure = o.Ended.String()
	case o.Exit != 0 || o.Signal != 0:
		failure = ending(o)
	}
	return output, failure
}
