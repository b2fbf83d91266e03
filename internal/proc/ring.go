package proc

// ring keeps the last bytes of a stream and counts all of them.
type ring struct {
	max   int
	buf   []byte
	next  int   // where the next byte goes once buf is full
	total int64 // bytes ever written
}

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	if len(p) > r.max {
		p = p[len(p)-r.max:]
	}
	// It grows as it is needed: most commands print little.
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

// start is the offset of the oldest byte still kept.
func (r *ring) start() int64 { return r.total - int64(len(r.buf)) }

// from returns a copy of the bytes from an offset on, which is moved to where
// the kept bytes begin and end, and the offset used.
func (r *ring) from(offset int64, most int) ([]byte, int64) {
	offset = min(max(offset, r.start()), r.total)
	n := int(min(r.total-offset, int64(most)))
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
