package session

import "fmt"

// Kind classifies an error. The constants are errors themselves: errors.Is(err, session.ErrModel).
type Kind string

// The kinds.
const (
	ErrFolders Kind = "invalid directories"
	ErrRules   Kind = "invalid rules"
	ErrModel   Kind = "no model"
	ErrPrompt  Kind = "invalid prompt"
	ErrSession Kind = "invalid session"
	ErrHook    Kind = "stopped by a hook"
	// ErrUnstructured is for a model that did not return a result of the schema.
	ErrUnstructured Kind = "the model replied without calling structured_output, so there is no result"
)

func (k Kind) Error() string { return string(k) }

// Error is a mistake that the user can fix. Its text says how.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

func errorf(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// Overspent is the error of a run whose answer is complete, but that used more tokens than it may.
type Overspent struct{ Err error }

func (e *Overspent) Error() string { return e.Err.Error() }

// Unwrap gives the limit.
func (e *Overspent) Unwrap() error { return e.Err }
