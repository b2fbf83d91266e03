package session

import "fmt"

// Kind is whose mistake an error is. The constants are errors, so that errors.Is(err, session.ErrModel) asks for one.
type Kind string

// The kinds.
const (
	ErrFolders Kind = "folders that cannot be worked in"
	ErrRules   Kind = "rules that cannot be read"
	ErrModel   Kind = "no model"
	ErrPrompt  Kind = "a prompt that cannot be understood"
)

func (k Kind) Error() string { return string(k) }

// Error is a mistake that the person can mend. Its text says how.
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
