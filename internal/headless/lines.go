package headless

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
)

// maxLine is the longest line that is read whole. A longer one is read to its end and answered with an error.
const maxLine = 64 << 20

// keptOfLong is how much of a line that is too long is kept, to find the ID of its request.
const keptOfLong = 4 << 10

// lines reads lines in bounded memory.
type lines struct {
	r    *bufio.Reader
	most int
	buf  []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10), most: maxLine} }

// next reads a line without its end; the last one may lack one. long reports that it is only the beginning of a longer
// line. The line is valid until the next call.
func (l *lines) next() (line []byte, long bool, err error) {
	l.buf = l.buf[:0]
	if cap(l.buf) > 1<<20 {
		l.buf = nil // one long message doesn't hold its memory
	}
	read := false
	for {
		piece, err := l.r.ReadSlice('\n')
		read = read || len(piece) > 0
		if !long {
			l.buf = append(l.buf, piece...)
			if len(bytes.TrimRight(l.buf, "\r\n")) > l.most {
				long = true
				l.buf = bytes.Clone(l.buf[:min(keptOfLong, len(l.buf))])
			}
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && !read:
			return nil, false, err
		}
		return bytes.TrimSpace(l.buf), long, nil // a read error comes again
	}
}

// requestID finds the ID of a request in the beginning of its line.
func requestID(line []byte) string {
	m := regexp.MustCompile(`"request_id"\s*:\s*("(?:[^"\\]|\\.){0,500}"|-?[0-9]{1,18})`).FindSubmatch(line)
	if m == nil {
		return ""
	}
	return string(m[1])
}
