package stdio

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lines"
	"github.com/adze-dev/adze/tool"
)

// LogLines is the number of lines that a Log has in memory.
const LogLines = 1000

const (
	logLine    = 2000      // characters of one line
	logFileMax = 512 << 10 // bytes; then a new file is started and the old one kept beside it
)

// Log has the last lines that a server printed to stderr or sent as log messages, and errors about its messages. It is
// bounded in memory and on disk.
type Log struct {
	path string // "": only in memory
	mu   sync.Mutex
	ring []string
	file *os.File
	size int64
}

// NewLog returns a log that is also written to a file; "": only in memory.
func NewLog(path string) *Log { return &Log{path: path} }

// Lines returns the last lines, oldest first.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.ring...)
}

// Printf adds a line from Adze.
func (l *Log) Printf(format string, args ...any) { l.Add("adze", fmt.Sprintf(format, args...)) }

// Add adds a line, with its source: stderr, stdout, a log level.
func (l *Log) Add(source, text string) {
	line := time.Now().Format("2006-01-02 15:04:05.000") + " " + source + ": " +
		tool.Visible(humanize.Shorten(strings.ReplaceAll(text, "\n", " "), logLine))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) == LogLines {
		l.ring = append(l.ring[:0], l.ring[LogLines/4:]...)
	}
	l.ring = append(l.ring, line)
	l.write(line + "\n")
}

// write appends to the file. Errors are ignored: the lines stay in memory.
func (l *Log) write(line string) {
	if l.path == "" {
		return
	}
	if l.file == nil {
		if os.MkdirAll(filepath.Dir(l.path), 0o700) != nil {
			return
		}
		f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		l.file = f
		if info, err := f.Stat(); err == nil {
			l.size = info.Size()
		}
	}
	if l.size > logFileMax {
		l.file.Close()
		l.file, l.size = nil, 0
		os.Rename(l.path, l.path+".old")
		l.write(line)
		return
	}
	n, _ := l.file.WriteString(line)
	l.size += int64(n)
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// copy adds all lines of a server's stderr until it ends, in bounded memory, and calls each with them.
func (l *Log) copy(r io.Reader, each func(line string)) {
	in := lines.New(r, 64<<10)
	for {
		line, err := in.Next()
		if err != nil {
			return
		}
		l.Add("stderr", string(line.Text))
		each(string(line.Text))
	}
}
