package agent

import (
	_ "embed"
	"runtime"
	"strings"
	"time"
)

//go:embed system.md
var systemText string

// Surroundings is the environment that the system prompt describes.
type Surroundings struct {
	Workspace string    // absolute path
	Date      time.Time // zero: unknown
	Platform  string    // "": this program's
	NoUser    bool      // no user can answer questions or approve calls
	Extra     string    // instructions from the user and the project
}

// noUserText is the part of the system prompt for sessions without a user.
const noUserText = "This session is non-interactive: no user can answer questions or approve calls."

// SystemPrompt returns the system prompt: the model's role, its environment and how to work.
func SystemPrompt(s Surroundings) string {
	if s.Platform == "" {
		s.Platform = runtime.GOOS
	}
	date := "unknown"
	if !s.Date.IsZero() {
		date = s.Date.Format("Monday, 2 January 2006")
	}
	text := strings.NewReplacer("{{workspace}}", s.Workspace, "{{date}}", date, "{{platform}}", s.Platform).Replace(systemText)
	if s.NoUser {
		text += "\n" + noUserText + "\n"
	}
	if s.Extra != "" {
		text += "\n" + strings.TrimSpace(s.Extra) + "\n"
	}
	return text
}
