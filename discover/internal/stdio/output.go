package stdio

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/tool"
)

// How much a server may print that is no message, in a row. One that has said nothing right yet is no server of MCP.
const (
	firstLines  = 1000
	firstBytes  = 1 << 20
	laterLines  = 100_000
	laterBytes  = 64 << 20
	loggedLines = 100     // of a row
	endlessLine = 4 << 30 // a line that is longer has no end
)

// strayOutput counts what a server prints beside messages: many print a banner, some their log, and "yes" for ever.
type strayOutput struct {
	log   *Log
	spoke bool // it has said something right
	first string
	lines int
	bytes int64
}

// add notes a line that is no message. The error says that it is enough.
func (n *strayOutput) add(line string) error {
	if n.lines++; n.lines == 1 {
		n.first = clean.Clip(line, 80)
	}
	n.bytes += int64(len(line))
	if n.lines <= loggedLines {
		n.log.Add("stdout", line)
	}
	mostLines, mostBytes := firstLines, int64(firstBytes)
	if n.spoke {
		mostLines, mostBytes = laterLines, laterBytes
	}
	if n.lines > mostLines || n.bytes > mostBytes {
		return fmt.Errorf("it printed %d lines in a row that are not MCP messages, starting with %q", n.lines, n.first)
	}
	return nil
}

// end notes that a message has come.
func (n *strayOutput) end() {
	if more := n.lines - loggedLines; more > 0 {
		n.log.Printf("it printed %d more lines that are not messages", more)
	}
	n.spoke, n.first, n.lines, n.bytes = true, "", 0, 0
}

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
		w.tail = append(w.tail, tool.Visible(clean.Clip(whole, tailLine)))
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
	line := cmp.Or(w.error, w.last)
	if line == "" {
		return ""
	}
	return "; stderr: " + tool.Visible(clean.Clip(line, tailLine))
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
