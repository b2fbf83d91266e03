package search

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

const (
	bufferSize = 512 << 10 // read at once; a longer line is searched in pieces
	maxBuffer  = 8 << 20   // maximum that is in memory of a file if matches may span lines
	binaryHead = 64 << 10  // a NUL byte in this many first bytes makes a file binary
)

// grepper searches files for one worker.
type grepper struct {
	c       *collector
	find    *finder
	scratch scratch
	buf     []byte
	most    int // maximum size of buf
	take    taker
	sum     *Summary
	long    *dfa // for lines longer than the buffer

	// For the current file:
	r        io.Reader
	eof      bool
	isNamed  bool
	binary   bool
	encoding string
	at       *openDir
	name     []byte
	known    string // the path, once it was needed
	spanned  int    // for multiline matches: offset up to which lines were taken
}

func newGrepper(c *collector, sum *Summary) *grepper {
	size, most := bufferSize, maxBuffer
	if c.req.buffer > 0 {
		size, most = c.req.buffer, 2*c.req.buffer
	}
	g := &grepper{c: c, sum: sum, find: newFinder(c.req.Pattern), buf: make([]byte, size), most: most}
	g.take = taker{p: c.req.Pattern, before: c.req.Before, after: c.req.After, maxLine: c.req.MaxLine}
	g.find.stop = &c.walk.stop
	g.find.all = c.req.Mode != Paths
	if c.req.Limit > 0 {
		g.take.max = c.req.Offset + c.req.Limit
	}
	return g
}

func (g *grepper) visit(at *openDir, name []byte, _ kind) {
	if at.withholds(name) {
		g.sum.Withheld++
		return
	}
	r, err := at.handle.open(&g.scratch, name)
	if err != nil {
		g.sum.problem(at.file(name), err)
		return
	}
	defer r.Close()
	g.isNamed, g.at, g.name, g.known = false, at, name, ""
	if err := g.search(r); err != nil {
		g.sum.problem(at.file(name), err)
	}
}

func (g *grepper) named(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("search %s: %w", path, plainError(err))
	}
	defer f.Close()
	g.isNamed, g.known = true, path
	if err := g.search(f); err != nil {
		return fmt.Errorf("search %s: %w", path, plainError(err))
	}
	return nil
}

func (g *grepper) done() {}

// path returns the file's path. It is built only for files that match.
func (g *grepper) path() string {
	if g.known == "" {
		g.known = g.at.file(g.name)
	}
	return g.known
}

// search searches one file and adds the result.
func (g *grepper) search(r io.Reader) error {
	g.r, g.eof, g.binary, g.encoding = r, false, false, ""
	g.take.reset(g.c.req.Mode == Content)
	g.spanned = 0
	n, err := g.fill(0, min(binaryHead, len(g.buf)))
	if err != nil {
		return err
	}
	data := g.buf[:n]
	if order, name := wideEncoding(data); order != nil {
		g.encoding = name
		rest := g.r
		if g.eof {
			rest = bytes.NewReader(nil)
		}
		g.r, g.eof = newWideReader(data[2:], rest, order), false
		if n, err = g.fill(0, len(g.buf)); err != nil {
			return err
		}
		data = g.buf[:n]
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		n = copy(g.buf, data[3:])
		data = g.buf[:n]
	}
	if !g.eof {
		if !g.isNamed && isBinary(data) {
			return nil // before the rest of a large file is read
		}
		if n, err = g.fill(n, len(g.buf)); err != nil {
			return err
		}
	}
	if g.c.req.Pattern.multiline {
		err = g.spans(n)
	} else {
		err = g.lines(n)
	}
	g.hand()
	return err
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
	for have < size && !g.eof {
		n, err := g.r.Read(g.buf[have:size])
		have += n
		if err == io.EOF {
			g.eof = true
		} else if err != nil {
			return have, err
		} else if n == 0 {
			break // too little room for a character
		}
	}
	return have, nil
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
		if g.c.walk.stop.Load() {
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
