package session

import (
	"os"
	"time"

	"github.com/adze-dev/adze/builtin"
)

// Env is all that a session may know of the world around it.
type Env struct {
	Getenv  func(string) string
	Environ []string       // for commands; nil: this process's
	Helper  builtin.Helper // keeps commands from escaping
	Home    string         // of the user
	Version string
	Now     func() time.Time // nil: time.Now
	// Person reports whether a user is there who can be asked.
	Person bool
	// Tell tells the user what they should know, in a line without an end; nil: nobody is told.
	Tell func(note string)
	// Show gives the user an address that they must open in a browser; nil: nobody can.
	Show func(address string) error
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

// variable looks a variable of the environment up.
func (env Env) variable(name string) (string, bool) {
	if v := env.Getenv(name); v != "" {
		return v, true
	}
	_, set := os.LookupEnv(name)
	return "", set
}
