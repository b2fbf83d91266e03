package agent

import (
	_ "embed"
	"runtime"
	"strings"
	"time"
)

//go:embed system.md
var systemText string

// Surroundings are the facts that the system prompt states.
type Surroundings struct {
	Workspace string    // absolute path
	Date      time.Time // zero: unknown
	Platform  string    // "": this program's
	Extra     string    // instructions of the user or the project, appended
}

// SystemPrompt returns the system prompt: who the model is and how to work.
func SystemPrompt(s Surroundings) string {
	if s.Platform == "" {
		s.Platform = runtime.GOOS
	}
	date := "unknown"
	if !s.Date.IsZero() {
		date = s.Date.Format("Monday, 2 January 2006")
	}
	text := strings.NewReplacer("{{workspace}}", s.Workspace, "{{date}}", date, "{{platform}}", s.Platform).Replace(systemText)
	if s.Extra != "" {
		text += "\n" + strings.TrimSpace(s.Extra) + "\n"
	}
	return text
}
