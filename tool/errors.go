package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/adze-dev/adze/tool/schema"
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

// ParamError lists all invalid parameters of a call. It is final: the same arguments never become valid later.
type ParamError = schema.Error

// Violation is one invalid parameter.
type Violation = schema.Violation

// BadParam returns a ParamError about one parameter, for what a schema can't express.
func BadParam(param, format string, args ...any) error {
	return schema.Invalid(param, format, args...)
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
