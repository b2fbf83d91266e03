package discover

import (
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

// lastWords remembers the line of a server's stderr that says best why it ended: the last one that speaks of an error,
// else the last one. Below an error there often stands where it came from, and a version.
type lastWords struct {
	mu          sync.Mutex
	last, error string
}

func (w *lastWords) add(line string) {
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = line
	if low := strings.ToLower(line); strings.Contains(low, "error:") || strings.Contains(low, "fatal") || strings.Contains(low, "panic:") {
		w.error = line
	}
}

// said continues a sentence on how the server ended.
func (w *lastWords) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := orElse(w.error, w.last)
	if line == "" {
		return ""
	}
	return "; it said: " + tool.Visible(clip(line, 300))
}
