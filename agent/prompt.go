package agent

import (
	_ "embed"
	"runtime"
	"strings"
	"time"
)

//go:embed system.md
var systemText string

// Surroundings are what the system prompt tells of the place.
type Surroundings struct {
	Workspace string    // absolute path
	Date      time.Time // zero: none is told
	Platform  string    // "": this program's
	Extra     string    // what the person or the project wants added
}

// SystemPrompt is the text that tells a model who it is and how to work.
func SystemPrompt(s Surroundings) string {
	if s.Platform == "" {
		s.Platform = runtime.GOOS
	}
	date := "not known"
	if !s.Date.IsZero() {
		date = s.Date.Format("Monday, 2 January 2006")
	}
	text := strings.NewReplacer("{{workspace}}", s.Workspace, "{{date}}", date, "{{platform}}", s.Platform).Replace(systemText)
	if s.Extra != "" {
		text += "\n" + strings.TrimSpace(s.Extra) + "\n"
	}
	return text
}
