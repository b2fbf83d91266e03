// Package project is a working directory: its settings files, what it requests, and whether the user trusts it.
//
//	d, err := env.Directory(path)
//	set, trusted, err := d.Settings()
//
// Its Env is the surroundings of a run, and its errors have the kinds by which front ends choose an exit code.
package project

import (
	"fmt"
	"os"
	"time"

	"github.com/adze-dev/adze/builtin"
)

// Env is a session's environment.
type Env struct {
	Getenv  func(string) string
	Environ []string       // for commands; nil: this process's
	Helper  builtin.Helper // runs commands
	Home    string         // of the user
	Version string
	// Isolated means that a program that embeds Adze decides everything: no files with settings, definitions, plugins
	// or variables are read, and no model servers or language servers are looked for.
	Isolated bool
	// HasUser reports whether a user can answer questions.
	HasUser bool
	// Hurry is closed when the user doesn't want to wait at the end of the session; may be nil.
	Hurry <-chan struct{}
	// Now is the time; nil: time.Now.
	Now func() time.Time
	// Tell shows the user a notice, without a newline at the end; nil: notices are dropped.
	Tell func(note string)
	// Show shows the user a URL to open in a browser; nil: that isn't possible.
	Show func(address string) error
}

// environ returns the environment of programs.
func (env Env) ProgramEnviron() []string {
	if env.Environ != nil {
		return env.Environ
	}
	return os.Environ()
}

// Notice shows the user a notice.
func (env Env) Notice(note string) {
	if env.Tell != nil {
		env.Tell(note)
	}
}

// Time returns the current time.
func (env Env) Time() time.Time {
	if env.Now != nil {
		return env.Now()
	}
	return time.Now()
}

// variable looks up an environment variable.
func (env Env) Lookup(name string) (string, bool) {
	if v := env.Getenv(name); v != "" {
		return v, true
	}
	_, set := os.LookupEnv(name)
	return "", set
}

// Kind classifies an error. The constants are errors themselves: errors.Is(err, session.ErrModel).
type Kind string

// The kinds.
const (
	ErrDirectories Kind = "invalid directories"
	ErrRules       Kind = "invalid rules"
	ErrModel       Kind = "no model"
	ErrPrompt      Kind = "invalid prompt"
	ErrSession     Kind = "invalid session"
	ErrHook        Kind = "stopped by a hook"
	// ErrUnstructured reports a model that didn't return a result of the schema.
	ErrUnstructured Kind = "the model replied without calling structured_output, so there is no result"
)

func (k Kind) Error() string { return string(k) }

// Error is an error that the user can fix. Its text says how.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf returns an error of a kind.
func Errorf(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// Warn reports something that is ignored, on every run.
func (env Env) Warn(format string, args ...any) {
	env.Notice("warning: " + fmt.Sprintf(format, args...))
}
