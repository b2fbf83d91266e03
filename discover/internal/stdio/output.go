package stdio

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// Limits of consecutive output that isn't a message. A server without any valid message so far isn't an MCP server.
const (
	firstLines  = 1000
	firstBytes  = 1 << 20
	laterLines  = 100_000
	laterBytes  = 64 << 20
	loggedLines = 100     // consecutive lines that are logged
	endlessLine = 4 << 30 // a longer line is an error
)

// strayOutput counts output that isn't a message: many servers print a banner, some their log, and "yes" prints without
// end.
type strayOutput struct {
	log   *Log
	spoke bool // a valid message was received
	first string
	lines int
	bytes int64
}

// add records a line that isn't a message. It returns an error after too many.
func (n *strayOutput) add(line string) error {
	if n.lines++; n.lines == 1 {
		n.first = humanize.Shorten(line, 80)
	}
	n.bytes += int64(len(line))
	if n.lines <= loggedLines {
		n.log.Add("stdout", line)
	}
	maxLines, maxBytes := firstLines, int64(firstBytes)
	if n.spoke {
		maxLines, maxBytes = laterLines, laterBytes
	}
	if n.lines > maxLines || n.bytes > maxBytes {
		return fmt.Errorf("it printed %d lines in a row that are not MCP messages, starting with %q", n.lines, n.first)
	}
	return nil
}

// end records that a message was received.
func (n *strayOutput) end() {
	if more := n.lines - loggedLines; more > 0 {
		n.log.Printf("it printed %d more lines that are not messages", more)
	}
	n.spoke, n.first, n.lines, n.bytes = true, "", 0, 0
}

const (
	tailLines = 8   // lines of stderr that a failed start shows
	tailLine  = 300 // characters of each line
)

// exitReason keeps the end of a server's stderr, and the line that best explains the exit: the last one that mentions
// an error, otherwise the last one. After an error there is often a stack trace and a version.
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
	if !strings.HasPrefix(line, "at ") { // a frame of a JavaScript stack trace; the error is above it
		if len(w.tail) == tailLines {
			w.tail = append(w.tail[:0], w.tail[1:]...)
		}
		w.tail = append(w.tail, tool.Visible(humanize.Shorten(whole, tailLine)))
	}
	w.last = line
	if low := strings.ToLower(line); strings.Contains(low, "error:") || strings.Contains(low, "fatal") ||
		strings.Contains(low, "panic:") {
		w.error = line
	}
}

// said returns the explanation, to continue a sentence about the exit.
func (w *exitReason) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := cmp.Or(w.error, w.last)
	if line == "" {
		return ""
	}
	return "; stderr: " + tool.Visible(humanize.Shorten(line, tailLine))
}

// lines returns the last lines of stderr, to continue a message about a failed start.
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
