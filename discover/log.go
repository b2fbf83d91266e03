package discover

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/tool"
)

const (
	logLines   = 1000      // kept in memory
	logLine    = 2000      // characters of one line
	logFileMax = 512 << 10 // bytes; then the file is begun again and the old one kept beside it
)

// serverLog keeps the last lines of what a server said: its stderr, its log messages, what was wrong with what it sent. It is
// bounded in memory and on disk.
type serverLog struct {
	path string // empty: only in memory
	mu   sync.Mutex
	ring []string
	file *os.File
	size int64
}

// lines are the last lines, oldest first.
func (l *serverLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.ring...)
}

// printf adds a line of our own.
func (l *serverLog) printf(format string, args ...any) { l.add("adze", fmt.Sprintf(format, args...)) }

func (l *serverLog) add(source, text string) {
	line := time.Now().Format("2006-01-02 15:04:05.000") + " " + source + ": " + tool.Visible(clip(strings.ReplaceAll(text, "\n", " "), logLine))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) == logLines {
		l.ring = append(l.ring[:0], l.ring[logLines/4:]...)
	}
	l.ring = append(l.ring, line)
	l.write(line + "\n")
}

// write appends to the file. A log that cannot be written is no reason to fail: what is in memory remains.
func (l *serverLog) write(line string) {
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

func (l *serverLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// copy adds all lines of a server's stderr, in bounded memory, until it ends, and gives them to each.
func (l *serverLog) copy(r io.Reader, each func(line string)) {
	f := newFrames(r, 64<<10)
	for {
		fr, err := f.next()
		if err != nil {
			return
		}
		l.add("stderr", string(fr.line))
		each(string(fr.line))
	}
}

// LogFile reads the last lines of the log that a server of this alias left in a state directory, also in another
// process.
func LogFile(state, alias string) ([]string, error) {
	var lines []string
	for _, path := range []string{logPath(state, alias) + ".old", logPath(state, alias)} {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", alias, err)
		}
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 64<<10)
		for scan.Scan() {
			lines = append(lines, scan.Text())
		}
		f.Close()
	}
	return lines[max(0, len(lines)-logLines):], nil
}

func logPath(state, alias string) string {
	return filepath.Join(state, "logs", fileName(alias)+".log")
}

// fileName is a file name for an alias, whatever characters that has.
func fileName(alias string) string { return "mcp-" + wireName("", alias) }
