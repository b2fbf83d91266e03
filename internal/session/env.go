package session

import (
	"os"
	"time"

	"github.com/adze-dev/adze/builtin"
)

// Env is a session's environment.
type Env struct {
	Getenv  func(string) string
	Environ []string       // for commands; nil: this process's
	Helper  builtin.Helper // keeps commands from escaping
	Home    string         // of the user
	Version string
	// HasUser reports whether a user is there who can be asked.
	HasUser bool
	// Hurry is closed when the user doesn't want to wait at the end of the session; nil: they wait.
	Hurry <-chan struct{}
	// Now is the time; nil: time.Now.
	Now func() time.Time
	// Tell shows the user a notice, without a newline at the end; nil: notices are dropped.
	Tell func(note string)
	// Show shows the user a URL to open in a browser; nil: that isn't possible.
	Show func(address string) error
}

// environ is the environment of programs.
func (env Env) environ() []string {
	if env.Environ != nil {
		return env.Environ
	}
	return os.Environ()
}

func (env Env) tell(note string) {
	if env.Tell != nil {
		env.Tell(note)
	}
}

func (env Env) now() time.Time {
	if env.Now != nil {
		return env.Now()
	}
	return time.Now()
}

// variable looks up an environment variable.
func (env Env) variable(name string) (string, bool) {
	if v := env.Getenv(name); v != "" {
		return v, true
	}
	_, set := os.LookupEnv(name)
	return "", set
}
