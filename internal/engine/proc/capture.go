package proc

import (
	"bytes"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc/term"
	"github.com/adze-dev/adze/internal/engine/redact"
)

const (
	// readOn is how much of the latest output can be read by offset.
	readOn = 256 << 10
	// cookAll is how much output is processed like a terminal would. Beyond that only the beginning (long complete) and
	// the last readOn bytes are, so that a flood of output is only copied.
	cookAll = 4 << 20
	// sniffed is the size of the beginning that is checked for binary output.
	sniffed = 8 << 10
)

// capture processes a command's output as it arrives and keeps a part of it in bounded memory:
//
//	bytes ─ mask ─┬─ spill (up to a limit)
//	              ├─ ring of the latest bytes
//	              └─ screen ─ fold ─ head, then tail
type capture struct {
	mu    sync.Mutex
	mask  *redact.Mask
	masks redact.Stream
	now   func() time.Time

	spill      io.Writer
	spillLeft  int64
	spillErr   error
	spillShort bool // the limit was reached

	recent ring
	lines  int64
	last   time.Time // of the last output
	binary bool
	sniff  sniff

	screen *term.Screen
	fold   fold
	page   page
	closed bool
}

func newCapture(c *Command, mask *redact.Mask, now func() time.Time) *capture {
	k := &capture{
		mask: mask, masks: mask.Stream(), now: now, last: now(),
		spill: c.Spill, spillLeft: c.SpillLimit,
		recent: ring{max: readOn},
		page:   page{room: c.Head, tail: ring{max: c.Tail}},
	}
	k.fold.put = k.page.write
	k.screen = term.New(k.fold.line)
	return k
}

func (k *capture) write(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.last = k.now()
	k.masks.Write(p, k.take)
}

// take receives masked bytes.
func (k *capture) take(p []byte) {
	k.toSpill(p)
	k.lines += int64(bytes.Count(p, []byte{'\n'}))
	before := k.recent.total
	k.recent.write(p)
	if before < sniffed && k.sniff.look(p) {
		k.binary = true
	}
	if before < cookAll && !k.binary {
		k.screen.Write(p)
	}
}

func (k *capture) toSpill(p []byte) {
	if k.spill == nil || k.spillErr != nil || len(p) == 0 {
		return
	}
	if int64(len(p)) > k.spillLeft {
		p = p[:k.spillLeft]
		k.spillShort = true
	}
	if len(p) == 0 {
		return
	}
	n, err := k.spill.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	k.spillLeft -= int64(len(p))
	k.spillErr = err
}

// finish ends the capture; later output is ignored.
func (k *capture) finish() Output {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.masks.Flush(k.take)
	k.closed = true
	o := Output{Bytes: k.recent.total, Lines: k.lines, Binary: k.binary, SpillCut: k.spillShort, SpillErr: k.spillErr}
	switch {
	case k.binary: // only the text before it is shown
		o.Head = k.mask.String(k.sniff.text())
		return o
	case k.recent.total <= cookAll:
		k.screen.Flush()
		k.fold.settle()
		o.Head, o.Tail, o.OmittedBytes, o.OmittedLines = k.page.render()
	default:
		// The middle was not processed: the tail is the latest bytes, from the beginning of a line, on a new screen.
		k.screen.Flush()
		k.fold.settle()
		o.Head = string(k.page.head)
		recent, _ := k.recent.from(0, readOn)
		recent = fromLine(recent)
		tail := cooked(recent, 0, k.page.tail.max)
		o.Tail = string(tail.lastLines())
		o.OmittedBytes = max(0, o.Bytes-int64(len(o.Head)+len(o.Tail)))
		o.OmittedLines = max(0, o.Lines-int64(bytes.Count(k.page.head, []byte{'\n'})+bytes.Count(recent, []byte{'\n'})))
	}
	// Colors or backspaces may have split a secret until now.
	o.Head, o.Tail = k.mask.String(o.Head), k.mask.String(o.Tail)
	return o
}

// quiet returns the time since the last output.
func (k *capture) quiet() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now().Sub(k.last)
}

// progress returns the current end of the output.
func (k *capture) progress(limit int) (tail string, bytes, lines int64, quiet time.Duration) {
	k.mu.Lock()
	recent, _ := k.recent.from(k.recent.total-int64(4*limit), 4*limit)
	bytes, lines, quiet = k.recent.total, k.lines, k.now().Sub(k.last)
	binary := k.binary
	k.mu.Unlock()
	if binary {
		return "", bytes, lines, quiet
	}
	p := cooked(recent, 0, limit)
	return k.mask.String(string(p.lastLines())), bytes, lines, quiet
}

// read returns output from an offset.
func (k *capture) read(offset int64, limit int) Piece {
	k.mu.Lock()
	if offset < 0 {
		offset = max(0, k.recent.total-int64(limit))
	}
	raw, from := k.recent.from(offset, limit)
	total, binary := k.recent.total, k.binary
	k.mu.Unlock()
	if from > offset { // the requested part is gone: begin with a whole line
		whole := fromLine(raw)
		from += int64(len(raw) - len(whole))
		raw = whole
	}
	// A piece that isn't the last one ends with a line, so that no line is split.
	if from+int64(len(raw)) < total {
		if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
			raw = raw[:i+1]
		}
	}
	p := Piece{
		From: from, Next: from + int64(len(raw)), Total: total, Skipped: max(0, from-max(0, offset)), Binary: binary,
	}
	if !binary {
		text := cooked(raw, 2*readOn, 0)
		p.Text = k.mask.String(string(text.head))
	}
	return p
}

// cooked processes raw output on a new screen.
func cooked(raw []byte, head, tail int) *page {
	p := &page{room: head, tail: ring{max: tail}}
	f := fold{put: p.write}
	s := term.New(f.line)
	s.Write(raw)
	s.Flush()
	f.settle()
	return p
}

// foldFrom is how often a line must be repeated to be folded. Fewer repetitions are kept: three closing brackets in a
// row are text, not noise.
const foldFrom = 5

// fold passes lines on and replaces long runs of the same line.
type fold struct {
	put    func([]byte) // receives text with its newlines
	last   []byte
	have   bool // last is a line, and was put
	again  int64
	within bool // inside a line that comes in pieces
	buf    []byte
}

// line adds one line; more means that it continues in the next call. Lines in pieces are too long to compare and are
// never folded.
func (f *fold) line(l []byte, more bool) {
	if f.within || more {
		f.settle()
		f.have, f.within = false, more
		f.out(l, !more)
		return
	}
	if f.have && bytes.Equal(l, f.last) {
		f.again++
		return
	}
	f.settle()
	f.last, f.have = append(f.last[:0], l...), true
	f.out(l, true)
}

// settle outputs the summary of a finished run.
func (f *fold) settle() {
	if f.again >= foldFrom {
		f.out([]byte("[previous line repeated "+humanize.Number(f.again)+" times]"), true)
	} else {
		for range f.again {
			f.out(f.last, true)
		}
	}
	f.again = 0
}

func (f *fold) out(l []byte, newline bool) {
	f.buf = append(f.buf[:0], l...)
	if newline {
		f.buf = append(f.buf, '\n')
	}
	f.put(f.buf)
}

// page keeps the beginning and the end of a text.
type page struct {
	room      int // left in head
	full      bool
	head      []byte
	tail      ring
	tailLines int64 // newlines that went to the tail
}

// write adds a line or a piece of one. Head is filled up to the end of a line; a single line larger than it is cut.
func (p *page) write(l []byte) {
	if !p.full {
		if len(l) <= p.room {
			p.head = append(p.head, l...)
			p.room -= len(l)
			return
		}
		p.full = true
		if len(p.head) == 0 || p.head[len(p.head)-1] != '\n' {
			n := wholeRunes(l, p.room)
			p.head = append(p.head, l[:n]...)
			l = l[n:]
		}
	}
	p.tailLines += int64(bytes.Count(l, []byte{'\n'}))
	p.tail.write(l)
}

// render returns both ends and the size of the omitted part between them. If nothing is omitted, head has the whole
// text.
func (p *page) render() (head, tail string, omittedBytes, omittedLines int64) {
	t := p.lastLines()
	if int64(len(t)) == p.tail.total {
		return string(p.head) + string(t), "", 0, 0
	}
	return string(p.head), string(t), p.tail.total - int64(len(t)), p.tailLines - int64(bytes.Count(t, []byte{'\n'}))
}

// lastLines returns the tail, from the beginning of a line if one is near.
func (p *page) lastLines() []byte {
	t, _ := p.tail.from(0, p.tail.max)
	if p.tail.start() == 0 {
		return t
	}
	return fromLine(t)
}

// fromLine removes the rest of a cut line, unless that is much of the text; then only the rest of a cut character.
func fromLine(t []byte) []byte {
	if i := bytes.IndexByte(t, '\n'); i >= 0 && i < len(t)/4 {
		return t[i+1:]
	}
	for len(t) > 0 && t[0]&0xc0 == 0x80 {
		t = t[1:]
	}
	return t
}

// wholeRunes returns the largest cut of l up to n that splits no character.
func wholeRunes(l []byte, n int) int {
	for n > 0 && n < len(l) && l[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

// ring keeps the last bytes of a stream and counts all of them.
type ring struct {
	max   int
	buf   []byte
	next  int   // position of the next byte once buf is full
	total int64 // bytes ever written
}

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	if len(p) > r.max {
		p = p[len(p)-r.max:]
	}
	// It grows as needed: most commands print little.
	if free := r.max - len(r.buf); free > 0 {
		n := min(free, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.next:], p)
		r.next = (r.next + n) % r.max
		p = p[n:]
	}
}

// start returns the offset of the oldest byte still kept.
func (r *ring) start() int64 { return r.total - int64(len(r.buf)) }

// from returns a copy of the bytes from an offset, limited to the available range, and the offset used.
func (r *ring) from(offset int64, limit int) ([]byte, int64) {
	offset = min(max(offset, r.start()), r.total)
	n := int(min(r.total-offset, int64(limit)))
	out := make([]byte, 0, n)
	at := int(offset - r.start())
	if len(r.buf) == r.max {
		at = (at + r.next) % max(r.max, 1)
	}
	for n > 0 {
		piece := r.buf[at:min(at+n, len(r.buf))]
		out = append(out, piece...)
		n -= len(piece)
		at = 0
	}
	return out, offset
}

// sniff distinguishes binary output from text by its beginning. A NUL alone doesn't make it binary: `find -print0`
// prints text.
type sniff struct{ seen []byte }

// look adds the next bytes and reports whether the output so far is binary.
func (s *sniff) look(p []byte) bool {
	s.seen = append(s.seen, p[:min(len(p), sniffed-len(s.seen))]...)
	if bytes.IndexByte(s.seen, 0) < 0 {
		return false
	}
	odd, run := 0, 0
	for b := s.seen; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == 0:
			// Two in a row don't end a name: they are padding or numbers.
			if run++; run > 1 {
				odd++
			}
		case r == utf8.RuneError && n == 1 && utf8.FullRune(b), r < 0x20 &&
			!bytes.ContainsRune([]byte("\t\n\v\f\r\b\a\x1b"), r):
			odd, run = odd+1, 0
		default:
			run = 0
		}
		b = b[n:]
	}
	return odd*10 > len(s.seen)
}

// text returns the whole lines before the first one with a NUL.
func (s *sniff) text() string {
	i := bytes.IndexByte(s.seen, 0)
	if i < 0 {
		return ""
	}
	i = bytes.LastIndexByte(s.seen[:i], '\n') + 1
	p := cooked(s.seen[:i], sniffed, 0)
	return string(p.head)
}

// Beginning keeps the first bytes that a command prints, up to a limit. It can be read while the command runs.
type Beginning struct {
	limit int
	full  func()
	mu    sync.Mutex
	kept  bytes.Buffer
}

// NewBeginning keeps up to limit bytes. full is called once when there are more; nil: the rest is dropped.
func NewBeginning(limit int, full func()) *Beginning { return &Beginning{limit: limit, full: full} }

// Write takes all bytes. It never fails.
func (b *Beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := b.limit - b.kept.Len()
	b.kept.Write(p[:min(len(p), room)])
	if len(p) > room && b.full != nil {
		b.full()
		b.full = nil
	}
	return len(p), nil
}

// String returns what was kept.
func (b *Beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.String()
}
