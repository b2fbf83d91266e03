package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
)

// The exit codes of headless runs, and those of tool call that differ.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitDenied      = 3 // tool call: permission denied
	exitCredentials = 41
	exitInput       = 42
	exitSettings    = 52
	exitTurns       = 53
	exitTools       = 54
	exitBudget      = 55
	exitInterrupted = 130
)

// exit ends the program with a code of its own. An empty text prints nothing.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

func exitf(code int, format string, args ...any) error {
	return &exit{code, fmt.Sprintf(format, args...)}
}

// exitCode finds the code that stands for an error.
func exitCode(err error) int {
	var own *exit
	var usage *usageError
	var setting *settings.Error
	var value *settings.ValueError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &usage), errors.Is(err, session.ErrFolders):
		return exitUsage
	case errors.As(err, &setting), errors.As(err, &value), errors.Is(err, session.ErrRules):
		return exitSettings
	case errors.Is(err, session.ErrPrompt), errors.Is(err, session.ErrSession):
		return exitInput
	case errors.Is(err, agent.ErrTurnLimit):
		return exitTurns
	case errors.Is(err, agent.ErrWallTime), errors.Is(err, agent.ErrCallLimit), errors.Is(err, agent.ErrTokenLimit):
		return exitBudget
	case errors.Is(err, model.ErrCredentials), errors.Is(err, session.ErrModel):
		return exitCredentials
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

// closedPipe reports whether the reader of our output has gone: no one reads an error.
func closedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE)
}
