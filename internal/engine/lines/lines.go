// Package lines reads lines of any length in bounded memory, for protocols with a message on each line.
package lines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
)

// Line is one line.
type Line struct {
	Text []byte // without its newline, or the first bytes of a line that is too long; valid until the next read
	Tail []byte // the last bytes of a line that is too long
	Size int64  // of the whole line
	Long bool   // it is longer than the limit
}

// kept is how many bytes are kept of each end of a line that is too long, to find the request that it belongs to.
const kept = 4 << 10

// Reader reads lines.
type Reader struct {
	Longest int64 // a longer line is not read to its end; 0: no limit

	r     *bufio.Reader
	limit int
	buf   []byte
}

// EndlessError reports a line that is longer than Reader.Longest.
type EndlessError int64

func (e EndlessError) Error() string {
	return fmt.Sprintf("it printed %d MB without a line break", int64(e)>>20)
}

// New returns a reader of lines with at most limit bytes.
func New(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next reads a line without its newline. The last line may lack one. An error after it is returned by the next call.
func (r *Reader) Next() (Line, error) {
	r.buf = r.buf[:0]
	if cap(r.buf) > 1<<20 {
		r.buf = nil // a long message doesn't keep its memory
	}
	var l Line
	for {
		piece, err := r.r.ReadSlice('\n')
		l.Size += int64(len(piece))
		switch {
		case l.Long:
			l.Tail = last(append(l.Tail, piece...))
		case len(r.buf)+len(piece) > r.limit+1: // the newline doesn't count
			l.Long = true
			l.Tail = last(append(bytes.Clone(last(r.buf)), piece...))
			head := bytes.Clone(r.buf[:min(len(r.buf), kept)])
			r.buf = append(head, piece[:min(len(piece), kept-len(head))]...)
		default:
			r.grow(len(piece))
			r.buf = append(r.buf, piece...)
		}
		if r.Longest > 0 && l.Size > r.Longest {
			return Line{}, EndlessError(l.Size)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && l.Size == 0 {
			return Line{}, err
		}
		l.Text = bytes.TrimRight(r.buf, "\r\n")
		if !l.Long && len(l.Text) > r.limit {
			l.Long, l.Tail = true, bytes.Clone(last(l.Text))
			l.Text = l.Text[:min(len(l.Text), kept)]
		}
		return l, nil
	}
}

// grow doubles the buffer: append grows in smaller steps and leaves more garbage.
func (r *Reader) grow(n int) {
	if need := len(r.buf) + n; need > cap(r.buf) {
		r.buf = append(make([]byte, 0, min(max(2*cap(r.buf), need), r.limit+64<<10)), r.buf...)
	}
}

func last(b []byte) []byte {
	if len(b) <= kept {
		return b
	}
	return append([]byte(nil), b[len(b)-kept:]...)
}

// Member returns a string or a number of the object on a line that can't be read as a whole: one before the first value
// that isn't whole, or one of the last two members; nil: none.
func (l Line) Member(key string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(l.Text))
	open, err := d.Token()
	for err == nil && open == json.Delim('{') {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if err == nil && name == key && value[0] != '{' && value[0] != '[' {
			return value
		}
	}
	const simple = `("[^"\\]*"|-?\d+)`
	atEnd := regexp.MustCompile(`,\s*"` + key + `"\s*:\s*` + simple + `\s*(?:,\s*"\w+"\s*:\s*` + simple + `\s*)?\}\s*$`)
	if m := atEnd.FindSubmatch(l.Tail); m != nil {
		return m[1]
	}
	return nil
}
