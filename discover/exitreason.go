package discover

import (
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

const (
	tailLines = 8   // of stderr that a failed start shows
	tailLine  = 300 // characters of one of them
)

// exitReason remembers the end of a server's stderr, and the line of it that says best why it ended: the last one that
// speaks of an error, else the last one. Below an error there often stands where it came from, and a version.
type exitReason struct {
	mu          sync.Mutex
	last, error string
	tail        []string
}

func (w *exitReason) add(line string) {
	whole := strings.TrimRight(line, " \t\r\n")
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(line, "at ") { // a frame of a JavaScript stack: the error stands above many of them
		if len(w.tail) == tailLines {
			w.tail = append(w.tail[:0], w.tail[1:]...)
		}
		w.tail = append(w.tail, tool.Visible(clip(whole, tailLine)))
	}
	w.last = line
	if low := strings.ToLower(line); strings.Contains(low, "error:") || strings.Contains(low, "fatal") || strings.Contains(low, "panic:") {
		w.error = line
	}
}

// said continues a sentence on how the server ended.
func (w *exitReason) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := orElse(w.error, w.last)
	if line == "" {
		return ""
	}
	return "; stderr: " + tool.Visible(clip(line, tailLine))
}

// lines continues a message on a start with the last lines of stderr, below it if there are several.
func (w *exitReason) lines() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch len(w.tail) {
	case 0:
		return ""
	case 1:
		return "; stderr: " + strings.TrimSpace(w.tail[0])
	}
	return "; stderr:\n    " + strings.Join(w.tail, "\n    ")
}

// failedStart is the error of a start, with the end of what the server printed on stderr.
type failedStart struct {
	cause  error
	stderr string // see exitReason.lines
}

func (e *failedStart) Error() string { return e.cause.Error() + e.stderr }

func (e *failedStart) Unwrap() error { return e.cause }
