package search

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

const (
	bufferSize = 512 << 10 // read at once; a longer line is searched in pieces
	maxBuffer  = 8 << 20   // maximum that is in memory of a file if matches may span lines
	binaryHead = 64 << 10  // a NUL byte in this many first bytes makes a file binary
)

// grepper searches files for one worker.
type grepper struct {
	c     *collector
	find  *finder
	buf   []byte // with the text: that of the content, or own
	own   []byte // made for the first file that needs it
	size  int    // of own at first
	limit int    // maximum size of own
	take  taker
	sum   *Summary
	long  *dfa // for lines longer than the buffer

	// For the current file:
	r        io.Reader
	eof      bool
	isNamed  bool
	binary   bool
	encoding string
	at       *visited
	known    string    // the path, once it was needed
	began    time.Time // if it has more than fits into a buffer
	spanned  int       // for multiline matches: offset up to which lines were taken
}

func newGrepper(c *collector, sum *Summary) *grepper {
	g := &grepper{c: c, sum: sum, find: newFinder(c.req.Pattern), size: c.req.bufferSize(), limit: maxBuffer}
	if c.req.buffer > 0 {
		g.limit = 2 * g.size
	}
	g.take = taker{p: c.req.Pattern, before: c.req.Before, after: c.req.After, maxLine: c.req.MaxLine}
	g.find.stop = &c.member.stop
	g.find.all = c.req.Mode != Paths
	if c.req.Limit > 0 {
		g.take.max = c.req.Offset + c.req.Limit
	}
	return g
}

func (g *grepper) visit(f *visited) {
	if f.withheld {
		g.sum.Withheld++
		return
	}
	g.isNamed, g.at, g.known = false, f, ""
	if err := g.search(&f.content); err != nil {
		g.sum.problem(f.path(), err)
	}
}

func (g *grepper) named(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("search %s: %w", path, nofollow.Cause(err))
	}
	c := &content{file: f, size: g.size}
	defer c.close()
	g.isNamed, g.known = true, path
	if err := g.search(c); err != nil {
		return fmt.Errorf("search %s: %w", path, nofollow.Cause(err))
	}
	return nil
}

func (g *grepper) done() {}

// path returns the file's path. It is built only for files that match.
func (g *grepper) path() string {
	if g.known == "" {
		g.known = g.at.path()
	}
	return g.known
}

// search searches one file and adds the result.
func (g *grepper) search(c *content) error {
	g.binary, g.encoding, g.spanned, g.began = false, "", 0, time.Time{}
	g.take.reset(g.c.req.Mode == Content)
	n, err := g.load(c)
	if err != nil || n < 0 {
		return err
	}
	if g.c.req.Pattern.multiline {
		err = g.spans(n)
	} else {
		err = g.lines(n)
	}
	if !g.began.IsZero() {
		g.own = g.buf
	}
	g.hand()
	return err
}

// load sets the buffer to the beginning of a file and returns its length; -1 if the file is binary. A file that fits
// is not copied: others read it too.
func (g *grepper) load(c *content) (n int, err error) {
	data, err := c.fill(binaryHead)
	if err != nil {
		return 0, err
	}
	g.eof = false
	if order, name := wideEncoding(data); order != nil {
		g.encoding = name
		g.r = newWideReader(data[2:], c.rest(), order)
		data = nil
	} else if !c.eof && !g.isNamed && isBinary(data) {
		return -1, nil // before the rest of a large file is read
	} else if data, err = c.fill(g.size); err != nil {
		return 0, err
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	if c.eof && g.encoding == "" {
		g.buf, g.eof = data, true
		return len(data), nil
	}
	if g.own == nil {
		g.own = make([]byte, g.size)
	}
	g.buf, g.began = g.own, time.Now()
	n = copy(g.buf, data)
	if g.encoding == "" {
		g.r = c.rest()
		return g.fill(n, len(g.buf))
	}
	if n, err = g.fill(0, len(g.buf)); err == nil && bytes.HasPrefix(g.buf[:n], byteOrderMark) {
		n = copy(g.buf, g.buf[3:n])
	}
	if err == nil && !g.eof && !g.isNamed && isBinary(g.buf[:n]) {
		return -1, nil
	}
	return n, err
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// halted reports whether to stop in the middle of a large file: it would delay other searches too much.
func (g *grepper) halted() bool {
	if len(g.c.walk.members) > 1 && time.Since(g.began) > slowTime {
		g.c.member.separate()
	}
	return g.c.member.stop.Load() || g.c.walk.stop.Load()
}

func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), binaryHead)], 0) >= 0 }

// hand adds the taken lines to the collector.
func (g *grepper) hand() {
	switch {
	case g.take.count == 0:
	case g.binary && !g.isNamed:
		g.c.addBinary()
	default:
		m := FileMatches{Path: g.path(), Count: g.take.count, Binary: g.binary, Encoding: g.encoding}
		keep := g.c.wants(m.Path)
		if keep && !g.binary {
			m.Lines = g.take.taken()
		}
		g.c.add(m, keep)
	}
}

// fill reads until the buffer has that many bytes or the file ends; it already has have bytes.
func (g *grepper) fill(have, size int) (int, error) {
	if have >= size || g.eof {
		return have, nil
	}
	n, err := fill(g.r, g.buf[have:size])
	if err == io.EOF {
		g.eof, err = true, nil
	}
	return have + n, err
}

// first is called at the first match of a file, in the first buffer or a later one; it reports whether to continue.
func (g *grepper) first(head []byte) bool {
	if isBinary(head) {
		g.binary = true
		g.take.on = false
		return false
	}
	if g.take.on && !g.c.wants(g.path()) {
		g.take.on = false
	}
	return g.c.req.Mode != Paths
}

// lines searches line by line; n bytes are in the buffer.
func (g *grepper) lines(n int) error {
	from := 0 // everything before it was searched and is kept as context
	for head := true; ; head = false {
		data := g.buf[:n]
		if !g.eof {
			data = data[:bytes.LastIndexByte(data, '\n')+1]
			if len(data) <= from {
				var err error
				if n, err = g.longLine(n, from); err != nil {
					return err
				}
				from = 0
				if n == 0 && g.eof {
					return nil
				}
				continue
			}
		}
		if !g.linesOf(data, from, head) || g.eof {
			return nil
		}
		if g.halted() {
			return nil
		}
		keep := g.retain(data)
		g.take.slide(data, keep)
		from = len(data) - keep
		copy(g.buf, g.buf[keep:n])
		var err error
		if n, err = g.fill(n-keep, len(g.buf)); err != nil {
			return err
		}
	}
}

// linesOf searches whole lines and reports whether to continue with the file.
func (g *grepper) linesOf(data []byte, i int, head bool) bool {
	g.find.start(data)
	for i < len(data) {
		from, to := g.find.line(data, i)
		if from < 0 {
			break
		}
		if g.take.count == 0 {
			top := data
			if !head {
				top = nil
			}
			if !g.first(top) {
				g.take.count = 1
				return false
			}
		}
		g.take.match(data, from, to)
		i = to + 1
		if !g.take.on {
			g.take.count += g.find.count(data, i)
			break
		}
	}
	if g.take.on {
		g.take.context(data, len(data))
		g.take.on = g.take.max == 0 || g.take.count < g.take.max || g.take.due > 0
	}
	return true
}

// retain returns how much of the buffer can be dropped: all but the lines that may be context of a later match.
func (g *grepper) retain(data []byte) int {
	keep := len(data)
	if !g.take.on {
		return keep
	}
	for k := 0; k < g.take.before && keep > 0 && len(data)-keep < len(g.buf)/4; k++ {
		keep = bytes.LastIndexByte(data[:keep-1], '\n') + 1
	}
	return max(keep, min(g.take.next, len(data)))
}
