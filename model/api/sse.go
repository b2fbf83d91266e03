package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds the size of a server-sent event, and so the memory it uses.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("one event is longer than 16 MB")

// sseReader reads server-sent events: lines that end with LF, CRLF or CR, of which those that begin with "data:" are
// joined up to a blank line. Comments and other fields are skipped.
type sseReader struct {
	r     *bufio.Reader
	line  []byte
	data  []byte
	limit int
	cr    bool // the last line ended with CR: an LF that follows belongs to it
	begun bool
	end   error
}

func newSSEReader(r io.Reader) *sseReader {
	return &sseReader{r: bufio.NewReaderSize(r, 16<<10), limit: maxEvent}
}

// next returns the data of the next event that has data, until io.EOF. At the end of the input, an event without a
// blank line counts too: some servers omit it. The bytes are valid until the next call.
func (s *sseReader) next() ([]byte, error) {
	s.data = s.data[:0]
	found := false
	for s.end == nil {
		line, err := s.readLine()
		if err != nil {
			s.end = err
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			if len(line) == 0 {
				break
			}
		}
		if len(line) == 0 && found {
			return s.data, nil
		}
		value, ok := dataField(line)
		if !ok {
			continue
		}
		if found {
			s.data = append(s.data, '\n')
		}
		found = true
		if len(s.data)+len(value) > s.limit {
			s.end = errEventTooLong
			return nil, s.end
		}
		s.data = append(s.data, value...)
	}
	if found {
		return s.data, nil
	}
	return nil, s.end
}

// dataField returns the value of a data line: the text after the colon and at most one space.
func dataField(line []byte) ([]byte, bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return nil, false
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// readLine returns one line without its ending. At the end of the input it returns the rest with io.EOF.
func (s *sseReader) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return s.unmarked(), err
		}
		if s.cr {
			s.cr = false
			if c == '\n' {
				continue
			}
		}
		switch c {
		case '\r':
			s.cr = true // waiting for an LF here would delay the line until the next one arrives
			return s.unmarked(), nil
		case '\n':
			return s.unmarked(), nil
		}
		if len(s.line) >= s.limit+len("data: ") {
			return nil, errEventTooLong
		}
		s.line = append(s.line, c)
	}
}

// unmarked returns the line without the byte order mark that may begin the stream.
func (s *sseReader) unmarked() []byte {
	if s.begun {
		return s.line
	}
	s.begun = true
	return bytes.TrimPrefix(s.line, []byte("\ufeff"))
}
