package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrorType is the documented name of a failure, in a result's error.type.
type ErrorType string

// The documented types that this package uses. Tools return their own documented types with [Error].
const (
	InvalidParams      ErrorType = "invalid_tool_params"
	NotRegistered      ErrorType = "tool_not_registered"
	ExecutionDenied    ErrorType = "execution_denied"
	ExecutionFailed    ErrorType = "execution_failed"
	ExecutionTimeout   ErrorType = "execution_timeout"
	UnhandledException ErrorType = "unhandled_exception"
	OutputTruncated    ErrorType = "output_truncated"
	Cancelled          ErrorType = "cancelled"
	FileNotFound       ErrorType = "file_not_found"
	PermissionDenied   ErrorType = "permission_denied"
)

// Error is a failure with a documented type. Its text is for the model: what failed, the cause, and the next step.
type Error struct {
	Type ErrorType
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error.
func Errorf(t ErrorType, format string, args ...any) error {
	return &Error{t, fmt.Errorf(format, args...)}
}

// ParamError lists all invalid parameters. It is final: the same arguments never become valid later.
type ParamError struct {
	Tool       string
	Violations []Violation
}

// Violation is one invalid parameter.
type Violation struct {
	Param  string // "limit", "edits[0].old_string"; "" for the arguments as a whole
	Reason string // "expected an integer, got \"many\""
}

func (v Violation) String() string {
	if v.Param == "" {
		return v.Reason
	}
	return v.Param + ": " + v.Reason
}

func (e *ParamError) Error() string {
	prefix := ""
	if e.Tool != "" {
		prefix = e.Tool + ": "
	}
	if len(e.Violations) == 1 {
		return prefix + e.Violations[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d invalid parameters:", prefix, len(e.Violations))
	for _, v := range e.Violations {
		b.WriteString("\n- " + v.String())
	}
	return b.String()
}

// BadParam returns a ParamError about one parameter, for what a schema can't express.
func BadParam(param, format string, args ...any) error {
	return &ParamError{Violations: []Violation{{param, fmt.Sprintf(format, args...)}}}
}

// typeOf returns the documented type of an error.
func typeOf(err error) ErrorType {
	var typed *Error
	var params *ParamError
	switch {
	case errors.As(err, &typed):
		return typed.Type
	case errors.As(err, &params):
		return InvalidParams
	case errors.Is(err, ErrDenied):
		return ExecutionDenied
	case errors.Is(err, context.DeadlineExceeded):
		return ExecutionTimeout
	case errors.Is(err, fs.ErrNotExist):
		return FileNotFound
	case errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	}
	return ExecutionFailed
}
