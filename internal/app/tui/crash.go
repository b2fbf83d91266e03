package tui

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// ended is why a conversation ended without the user's doing.
type ended string

func (e ended) Error() string { return string(e) + "\nThe session is saved. Continue with: adze -c" }

// Is makes it an interruption.
func (e ended) Is(target error) bool { return target == context.Canceled }

const (
	errGone     = ended("the terminal was closed")
	errSignaled = ended("interrupted by a signal")
)

// crash is a panic of the screen. The terminal is restored before it is reported.
type crash struct {
	value any
	where string
}

func (c *crash) Error() string {
	return cell.Clean(fmt.Sprintf("internal error: %v (%s)", c.value, c.where)) +
		"\nThe session is saved. Continue with: adze -c"
}

// guard turns a panic of f into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &crash{r, panicked()}
		}
	}()
	return f()
}

// spawn runs f in a goroutine. If it panics, the conversation ends.
func (s *Screen) spawn(f func()) {
	go func() {
		if err := guard(func() error { f(); return nil }); err != nil {
			s.send(func(s *Screen) { s.broken, s.done = err, true })
		}
	}()
}

// panicked is the place of the panic that is being recovered from.
func panicked() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(0, pc)])
	for inPanic := false; ; {
		f, more := frames.Next()
		if inPanic && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
		}
		inPanic = inPanic || f.Function == "runtime.gopanic"
		if !more {
			return "unknown place"
		}
	}
}
