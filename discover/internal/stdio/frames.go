package stdio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"sync"
)

// MaxMessage is the maximum length of a message. A longer one is skipped.
const MaxMessage = 10 << 20

// frame is one line of a server's stdout.
type frame struct {
	line []byte // valid until the next read; the first bytes of a line that was too long
	tail []byte // the last bytes of a line that was too long
	size int64  // of the whole line
	over bool   // it was too long
}

// keepOver is how many bytes are kept of each end of a line that is too long, to find the request that it answers.
const keepOver = 512

// frames reads lines of any length in bounded memory.
type frames struct {
	r       *bufio.Reader
	limit   int
	longest int64 // a longer line is not read to its end; 0: no limit
	buf     []byte
}

// endless is the error for a line that is longer than frames.longest.
type endless int64

func (e endless) Error() string {
	return fmt.Sprintf("it printed %d MB without a line break", int64(e)>>20)
}

func newFrames(r io.Reader, limit int) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next reads a line without its newline. The last line may lack one.
func (f *frames) next() (frame, error) {
	f.buf = f.buf[:0]
	if cap(f.buf) > 1<<20 {
		f.buf = nil // a long message doesn't keep its memory
	}
	var fr frame
	for {
		piece, err := f.r.ReadSlice('\n')
		fr.size += int64(len(piece))
		switch {
		case fr.over:
			fr.tail = lastBytes(append(fr.tail, piece...))
		case len(f.buf)+len(piece) > f.limit+1: // the newline doesn't count
			fr.over = true
			fr.tail = lastBytes(append(bytes.Clone(lastBytes(f.buf)), piece...))
			head := bytes.Clone(f.buf[:min(len(f.buf), keepOver)])
			f.buf = append(head, piece[:min(len(piece), keepOver-len(head))]...)
		default:
			f.grow(len(piece))
			f.buf = append(f.buf, piece...)
		}
		if f.longest > 0 && fr.size > f.longest {
			return frame{}, endless(fr.size)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && fr.size == 0 {
			return frame{}, err
		}
		fr.line = bytes.TrimRight(f.buf, "\r\n")
		if !fr.over && len(fr.line) > f.limit {
			fr.over, fr.tail = true, bytes.Clone(lastBytes(fr.line))
			fr.line = fr.line[:min(len(fr.line), keepOver)]
		}
		return fr, nil
	}
}

// grow doubles the buffer: append grows in smaller steps and leaves more garbage.
func (f *frames) grow(n int) {
	if need := len(f.buf) + n; need > cap(f.buf) {
		f.buf = append(make([]byte, 0, min(max(2*cap(f.buf), need), f.limit+64<<10)), f.buf...)
	}
}

func lastBytes(b []byte) []byte {
	if len(b) <= keepOver {
		return b
	}
	return append([]byte(nil), b[len(b)-keepOver:]...)
}

// The two positions of the request ID in a response. They are compiled when first needed, not at every start.
var (
	idAtStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	})
	idAtEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\}\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	})
)

// answered returns the ID, as JSON, of the request that a too long line seems to answer. It is only a guess: an ID
// without a request is dropped later.
func (fr frame) answered() []byte {
	if m := idAtStart().FindSubmatch(fr.line); m != nil {
		return m[1]
	}
	if m := idAtEnd().FindSubmatch(fr.tail); m != nil {
		return m[1]
	}
	return nil
}
