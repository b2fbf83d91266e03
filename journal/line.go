package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"
)

// maxRead is the maximum length of a line to read. This package writes up to MaxLine.
const maxRead = 16 << 20

// appendLine writes an entry as a line. Members have a fixed order with the data last, so that the start of a line
// identifies it. "sum" is a checksum of the line without that member.
func appendLine(b []byte, e Entry) ([]byte, error) {
	start := len(b)
	if end, ok := valueEnd(e.Data, 0, 0); !ok || end != len(e.Data) {
		return nil, fmt.Errorf("append entry %d (%s): the data isn't JSON", e.Seq, e.Type)
	}
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, int64(e.V), 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"at":"`...)
	b = e.At.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	if e.By != "" {
		b = appendText(append(b, `,"by":`...), e.By)
	}
	b = appendText(append(b, `,"type":`...), string(e.Type))
	sum := len(b)
	b = append(b, sumStart+"00000000\""...)
	data := len(b)
	b = append(b, dataStart...)
	if bytes.IndexByte(e.Data, '\n') < 0 {
		b = append(b, e.Data...)
	} else {
		var compact bytes.Buffer
		if err := json.Compact(&compact, e.Data); err != nil {
			return nil, err
		}
		b = append(b, compact.Bytes()...)
	}
	b = append(b, '}')
	value := checksum(b[start:sum], b[data:])
	copy(b[sum+len(sumStart):], value[:])
	b = append(b, '\n')
	if n := len(b) - start; n > MaxLine {
		return nil, fmt.Errorf("append entry %d (%s): it has %d bytes, over %d", e.Seq, e.Type, n, MaxLine)
	}
	return b, nil
}

// sumStart and dataStart are the beginnings of these members. No string in a line contains them, because quotes are
// escaped.
const (
	sumStart  = `,"sum":"`
	dataStart = `,"data":`
)

// checksum returns the checksum of a line in hexadecimal: of the parts before and after the member "sum".
func checksum(before, after []byte) (out [8]byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(before, table), table, after)
	hex.Encode(out[:], binary.BigEndian.AppendUint32(nil, sum))
	return out
}

// intact reports whether a line without its newline matches its checksum. Lines of earlier versions have none: they are
// broken if they have a zero, from a block that was never written.
func intact(line []byte) bool {
	data := bytes.Index(line, []byte(dataStart))
	before := line
	if data >= 0 {
		before = line[:data]
	}
	at := bytes.Index(before, []byte(sumStart))
	if at < 0 {
		return bytes.IndexByte(line, 0) < 0
	}
	sum := before[at+len(sumStart):]
	if data < 0 || len(sum) != 9 || sum[8] != '"' {
		return false
	}
	want := checksum(line[:at], line[data:])
	return bytes.Equal(sum[:8], want[:])
}

// head reads the members of a line before its data. rest is the line after "data":. The line may be truncated there. It
// is false for a line that this package didn't write.
func head(line []byte) (e Entry, rest []byte, ok bool) {
	line, ok1 := bytes.CutPrefix(line, []byte(`{"v":`))
	v, line, ok2 := number(line)
	line, ok3 := bytes.CutPrefix(line, []byte(`,"seq":`))
	seq, line, ok4 := number(line)
	line, ok5 := bytes.CutPrefix(line, []byte(`,"at":`))
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return e, nil, false
	}
	e.V, e.Seq = int(v), seq
	end, ok := stringEnd(line, 0)
	if !ok {
		return e, nil, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(line[1:end-1]))
	if err != nil {
		return e, nil, false
	}
	e.At, line = at, line[end:]
	if by, ok := bytes.CutPrefix(line, []byte(`,"by":`)); ok {
		if e.By, line, ok = cutText(by); !ok {
			return e, nil, false
		}
	}
	line, ok = bytes.CutPrefix(line, []byte(`,"type":`))
	if !ok {
		return e, nil, false
	}
	kind, line, ok := cutText(line)
	e.Type = Type(kind)
	if sum, found := bytes.CutPrefix(line, []byte(sumStart)); found && len(sum) > 8 {
		line = sum[9:]
	}
	rest, ok2 = bytes.CutPrefix(line, []byte(dataStart))
	return e, rest, ok && ok2
}

func number(b []byte) (int64, []byte, bool) {
	n := 0
	for n < len(b) && n < 19 && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 64)
	return v, b[n:], err == nil
}

// cutText reads the string at the start of b.
func cutText(b []byte) (string, []byte, bool) {
	end, ok := stringEnd(b, 0)
	if !ok {
		return "", b, false
	}
	s, ok := text(b[:end])
	return s, b[end:], ok
}

// parse reads a line without its newline. The entry's Data is a part of the line.
func parse(line []byte) (Entry, bool) {
	if !intact(line) {
		return Entry{}, false
	}
	if e, rest, ok := head(line); ok {
		if end, ok := valueEnd(rest, 0, 0); ok && string(rest[end:]) == "}" {
			e.Data = rest[:end:end]
			return e, true
		}
	}
	// It was written by another program, or is invalid.
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil || e.V < 1 || e.Seq < 1 || e.Type == "" {
		return Entry{}, false
	}
	if e.Data == nil {
		e.Data = json.RawMessage("{}")
	}
	return e, true
}

// lines reads lines of a file, starting at a line.
type lines struct {
	f    io.ReaderAt
	at   int64 // offset of the next line
	end  int64 // of the file
	read int64 // offset after buf
	buf  []byte
	all  []byte // the whole buffer, for reuse

	chunk   int   // bytes to read at once, more for long lines
	missing error // why lines are missing after the end; nil: none are
}

func readLines(f io.ReaderAt, from, end int64) *lines {
	return &lines{f: f, at: from, end: end, read: from, chunk: 256 << 10}
}

// next returns the next line without its newline, and its offset. It is valid until the next call. whole is false for
// the last line if it has no newline, or a line that is too long. After the last line it returns io.EOF, or why the
// rest is missing.
func (l *lines) next() (line []byte, offset int64, whole bool, err error) {
	searched := 0
	for {
		if n := bytes.IndexByte(l.buf[searched:], '\n'); n >= 0 {
			n += searched
			line, offset = l.buf[:n], l.at
			l.buf, l.at = l.buf[n+1:], l.at+int64(n)+1
			return line, offset, true, nil
		}
		searched = len(l.buf)
		if l.read >= l.end || searched > maxRead {
			if searched == 0 {
				return nil, l.at, false, cmp.Or(l.missing, io.EOF)
			}
			line = l.buf
			l.buf, l.read = nil, l.end
			return line, l.at, false, nil
		}
		if err := l.fill(); err != nil {
			return nil, l.at, false, err
		}
	}
}

func (l *lines) fill() error {
	kept := len(l.buf)
	size := kept + max(l.chunk, kept)
	into := l.all
	if size > len(into) {
		into = make([]byte, size)
	}
	copy(into, l.buf)
	l.all = into
	n, err := l.f.ReadAt(l.all[kept:min(int64(size), int64(kept)+l.end-l.read)], l.read)
	l.buf, l.read = l.all[:kept+n], l.read+int64(n)
	if n == 0 && err == io.EOF {
		l.end = l.read // it became shorter
		return nil
	}
	if err == io.EOF {
		return nil
	}
	return err
}
