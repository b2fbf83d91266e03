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
	AddDirs   []string  // further directories of the workspace
	Date      time.Time // zero: unknown
	Platform  string    // "": this program's
	Shell     string    // that runs commands, if it isn't bash
	Place     string    // where it runs for the user: "an editor"; "": the terminal
	NoUser    bool      // no user can answer questions or approve calls
	Base      string    // instructions in place of Adze's own; "": Adze's own
	Extra     string    // instructions from the user and the project
}

// placeText is the part of Adze's own instructions that stays if others replace them.
const placeText = "\n\nWorking directory: {{workspace}}. Platform: {{platform}}. Date: {{date}}.\n"

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
	own := systemText
	if s.Base != "" {
		own = placeText
	}
	place := s.Place
	if place == "" {
		place = "the user's terminal"
	}
	text := strings.NewReplacer("{{place}}", place, "{{workspace}}", s.Workspace, "{{date}}", date,
		"{{platform}}", s.Platform).Replace(own)
	if s.Base != "" {
		text = strings.TrimSpace(s.Base) + text
	}
	if len(s.AddDirs) > 0 {
		text += "\nAdditional workspace directories: " + strings.Join(s.AddDirs, ", ") + "\n"
	}
	if s.Shell != "" {
		text += "\nCommands run with " + s.Shell + ", not bash. Write them for " + s.Shell + ".\n"
	}
	if s.NoUser {
		text += "\n" + noUserText + "\n"
	}
	if s.Extra != "" {
		text += "\n" + strings.TrimSpace(s.Extra) + "\n"
	}
	return text
}
