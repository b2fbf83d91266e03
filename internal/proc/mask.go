package proc

import (
	"bytes"
	"slices"
	"strings"
)

// Masked is in for a secret.
const Masked = "[masked]"

// minSecret is the shortest value worth masking: shorter ones occur by chance.
const minSecret = 8

// Mask replaces known secret values in output. A nil Mask masks nothing.
//
// Where two secrets overlap in the text, all of both is covered.
type Mask struct {
	values [][]byte
	max    int // length of the longest value
	window int // length of the shortest value, or less
	// shift and bucket are the tables of Wu and Manber's search for many
	// patterns at once. It looks at two bytes and mostly skips almost as many
	// as the shortest value has, so that masking keeps up with a flood.
	shift  *[1 << 16]uint8
	bucket map[uint16][]int
}

// NewMask returns a mask for the values that are worth it: at least 8 bytes
// long and not so ordinary ("postgres", "localhost", "00000000", a path) that
// hiding them would garble output and protect nothing. It is nil if none is.
func NewMask(values []string) *Mask {
	m := &Mask{bucket: map[uint16][]int{}, window: 200}
	for _, v := range values {
		if b := []byte(v); worthMasking(v) && !slices.ContainsFunc(m.values, func(o []byte) bool { return bytes.Equal(o, b) }) {
			m.values = append(m.values, b)
			m.max = max(m.max, len(b))
			m.window = min(m.window, len(b))
		}
	}
	if len(m.values) == 0 {
		return nil
	}
	m.shift = (*[1 << 16]uint8)(bytes.Repeat([]byte{uint8(m.window - 1)}, 1<<16))
	for i, v := range m.values {
		for j := 0; j+1 < m.window; j++ {
			pair := uint16(v[j])<<8 | uint16(v[j+1])
			m.shift[pair] = min(m.shift[pair], uint8(m.window-2-j))
		}
		last := uint16(v[m.window-2])<<8 | uint16(v[m.window-1])
		m.bucket[last] = append(m.bucket[last], i)
	}
	return m
}

// String returns s with every secret replaced.
func (m *Mask) String(s string) string {
	if m == nil {
		return s
	}
	var out []byte
	st := maskStream{mask: m}
	st.write([]byte(s), func(p []byte) { out = append(out, p...) })
	st.flush(func(p []byte) { out = append(out, p...) })
	return string(out)
}

// span is a range of bytes.
type span struct{ from, to int }

// find returns where secrets are in b, in order, overlapping ones joined.
func (m *Mask) find(b []byte) []span {
	var found []span
	shift := m.shift
	for i := m.window - 1; i < len(b); {
		pair := uint16(b[i-1])<<8 | uint16(b[i])
		if s := shift[pair]; s > 0 {
			i += int(s)
			continue
		}
		from := i - (m.window - 1)
		for _, v := range m.bucket[pair] {
			if bytes.HasPrefix(b[from:], m.values[v]) {
				found = join(found, span{from, from + len(m.values[v])})
			}
		}
		i++
	}
	return found
}

// join adds a span that begins no earlier than the last one did.
func join(spans []span, s span) []span {
	if n := len(spans); n > 0 && (s.from < spans[n-1].to || s.from == spans[n-1].from) {
		spans[n-1].to = max(spans[n-1].to, s.to)
		return spans
	}
	return append(spans, s)
}

// unfinished returns where the longest end of b begins that could be the
// beginning of a secret; len(b) if none could.
func (m *Mask) unfinished(b []byte) int {
	for i := max(0, len(b)-m.max+1); i < len(b); i++ {
		for _, v := range m.values {
			if v[0] == b[i] && len(v) > len(b)-i && bytes.HasPrefix(v, b[i:]) {
				return i
			}
		}
	}
	return len(b)
}

// maskStream masks output that comes in pieces. It holds back only what could
// be the beginning of a secret, so less than the longest one.
type maskStream struct {
	mask    *Mask
	held    []byte
	covered int // leading bytes of held that a Masked already given out stands for
}

// write gives out what is certain. The pieces given are valid during the call.
func (s *maskStream) write(p []byte, give func([]byte)) {
	if s.mask == nil {
		give(p)
		return
	}
	b := p
	if len(s.held) > 0 {
		b = append(s.held, p...)
	}
	s.emit(b, s.mask.unfinished(b), give)
}

// flush gives out what was held back: the output has ended.
func (s *maskStream) flush(give func([]byte)) {
	if len(s.held) > 0 {
		s.emit(s.held, len(s.held), give)
	}
}

// emit gives out b up to end and holds the rest. A secret that reaches past
// end is replaced at once; covered remembers how much of the held bytes it
// stands for, in case another secret begins inside it.
func (s *maskStream) emit(b []byte, end int, give func([]byte)) {
	spans := s.mask.find(b)
	at := s.covered
	for _, sp := range spans {
		if sp.from >= at && sp.from >= end {
			break
		}
		if sp.from >= at {
			if sp.from > at {
				give(b[at:sp.from])
			}
			give([]byte(Masked))
		}
		at = max(at, sp.to)
	}
	if at < end {
		give(b[at:end])
		at = end
	}
	s.covered = at - end
	s.held = append([]byte(nil), b[end:]...)
}

// worthMasking keeps out values that are no secret or no secret worth hiding.
func worthMasking(v string) bool {
	if len(v) < minSecret || strings.Contains(v, Masked) {
		return false
	}
	distinct := map[byte]bool{}
	var upper, lower, digit, other bool
	for i := range len(v) {
		c := v[i]
		distinct[c] = true
		switch {
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= '0' && c <= '9':
			digit = true
		default:
			other = true
		}
	}
	if len(distinct) < 5 {
		return false
	}
	if oneKind := !other && b2i(upper)+b2i(lower)+b2i(digit) == 1; oneKind && len(v) < 12 {
		return false // a word, a date, a small number
	}
	return !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "~/") && !strings.HasPrefix(v, "./")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
