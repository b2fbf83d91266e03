package proc

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/proc/term"
)

const (
	// readOn is how much of the latest output can be read again by offset.
	readOn = 256 << 10
	// cookAll is how much output is read as a terminal would show it, every
	// byte. Past that only the beginning (long complete) and the last readOn
	// bytes are, so that a flood costs no more than copying it.
	cookAll = 4 << 20
	// sniffed is where binary output is looked for.
	sniffed = 8 << 10
)

// capture takes a command's output as it comes and keeps what is wanted of it
// in bounded memory:
//
//	bytes ─ mask ─┬─ spill (up to a limit)
//	              ├─ ring of the latest bytes
//	              └─ screen ─ fold ─ head, then tail
type capture struct {
	mu    sync.Mutex
	mask  *Mask
	masks maskStream
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

func newCapture(c *Command, mask *Mask, now func() time.Time) *capture {
	k := &capture{
		mask: mask, masks: maskStream{mask: mask}, now: now, last: now(),
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
	k.masks.write(p, k.take)
}

// take gets masked bytes.
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

// finish ends the capture; what comes later is not taken any more.
func (k *capture) finish() Output {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.masks.flush(k.take)
	k.closed = true
	o := Output{Bytes: k.recent.total, Lines: k.lines, Binary: k.binary, SpillCut: k.spillShort, SpillErr: k.spillErr}
	switch {
	case k.binary: // what was text before it is all there is to show
		o.Head = k.mask.String(k.sniff.text())
		return o
	case k.recent.total <= cookAll:
		k.screen.Flush()
		k.fold.settle()
		o.Head, o.Tail, o.OmittedBytes, o.OmittedLines = k.page.render()
	default:
		// The middle was not looked at: the tail is the latest bytes, from a
		// line's beginning, as a screen of their own.
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
	// Colours or backspaces may have kept a secret apart until now.
	o.Head, o.Tail = k.mask.String(o.Head), k.mask.String(o.Tail)
	return o
}

// quiet is the time since the last output.
func (k *capture) quiet() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now().Sub(k.last)
}

// progress shows the end of the output as it is now.
func (k *capture) progress(most int) (tail string, bytes, lines int64, quiet time.Duration) {
	k.mu.Lock()
	recent, _ := k.recent.from(k.recent.total-int64(4*most), 4*most)
	bytes, lines, quiet = k.recent.total, k.lines, k.now().Sub(k.last)
	binary := k.binary
	k.mu.Unlock()
	if binary {
		return "", bytes, lines, quiet
	}
	p := cooked(recent, 0, most)
	return k.mask.String(string(p.lastLines())), bytes, lines, quiet
}

// read returns output from an offset on.
func (k *capture) read(offset int64, most int) Piece {
	k.mu.Lock()
	if offset < 0 {
		offset = max(0, k.recent.total-int64(most))
	}
	raw, from := k.recent.from(offset, most)
	total, binary := k.recent.total, k.binary
	k.mu.Unlock()
	if from > offset { // what was asked for is gone: begin with a whole line
		whole := fromLine(raw)
		from += int64(len(raw) - len(whole))
		raw = whole
	}
	// A piece that is not the last ends with a line, so that nothing is torn.
	if from+int64(len(raw)) < total {
		if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
			raw = raw[:i+1]
		}
	}
	p := Piece{From: from, Next: from + int64(len(raw)), Total: total, Skipped: max(0, from-max(0, offset)), Binary: binary}
	if !binary {
		text := cooked(raw, 2*readOn, 0)
		p.Text = k.mask.String(string(text.head))
	}
	return p
}

// cooked reads raw output on a screen of its own.
func cooked(raw []byte, head, tail int) *page {
	p := &page{room: head, tail: ring{max: tail}}
	f := fold{put: p.write}
	s := term.New(f.line)
	s.Write(raw)
	s.Flush()
	f.settle()
	return p
}
