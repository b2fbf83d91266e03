package model

import (
	"errors"
	"fmt"
)

// Kind classifies a failure. The constants are errors, for errors.Is(err, model.ErrCredentials).
type Kind string

// The kinds.
const (
	ErrCredentials Kind = "no or wrong credentials" // 401, 403
	ErrRateLimit   Kind = "rate limit"              // 429, after retries
	// of a day, a month or an account: waiting doesn't help
	ErrQuota         Kind = "quota exceeded"
	ErrUnknownModel  Kind = "unknown model"                       // the server doesn't have it
	ErrContextLength Kind = "conversation too long for the model" // the caller may shorten it
	ErrRejected      Kind = "request refused"                     // another 4xx: the same request will fail again
	ErrServer        Kind = "server error"                        // 5xx, after retries
	ErrUnreachable   Kind = "server not reachable"                // no connection, after retries
	ErrTimeout       Kind = "server silent"                       // no byte for too long
	ErrCut           Kind = "answer cut off"                      // the connection ended before the answer did
	ErrWire          Kind = "answer not understood"               // invalid format
)

func (k Kind) Error() string { return string(k) }

// Error is a failure of a model. Its text says what failed, the cause, and the next step if there is one.
type Error struct {
	Kind   Kind
	Status int // of HTTP; 0: none
	Err    error

	// Server is the host that rejected a key, and KeyName the variable or setting with the key; "" if no key was
	// rejected.
	Server, KeyName string
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// CutShort reports whether err ended an answer that was valid so far: the connection broke, the server went silent, or
// it reported a failure in the middle. The calls that came before such an error are complete.
func CutShort(err error) bool {
	for _, k := range []Kind{ErrCut, ErrTimeout, ErrServer, ErrRateLimit} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// Errorf makes an Error without a status.
func Errorf(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}
