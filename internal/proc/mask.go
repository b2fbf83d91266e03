package proc

import (
	"bytes"
	"slices"
	"strings"
)

// Masked replaces a secret.
const Masked = "[masked]"

// minSecret is the minimum length of a masked value: shorter ones occur by chance.
const minSecret = 8

// Mask replaces known secret values in output. A nil Mask masks nothing.
//
// If two secrets overlap in the text, both are masked completely.
type Mask struct {
	values [][]byte
	max    int // length of the longest value
	window int // at most the length of the shortest value
	// shift and bucket are the tables of Wu and Manber's multi-pattern search. It checks two bytes and usually skips almost
	// as many as the shortest value has, so that masking keeps up with a flood of output.
	shift  *[1 << 16]uint8
	bucket map[uint16][]int
}

// NewMask returns a mask for the values that are worth masking: at least 8 bytes long and not so ordinary ("postgres",
// "localhost", "00000000", a path) that masking would garble output and protect nothing. It is nil if there are none.
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

// find returns the positions of secrets in b, in order, with overlapping ones joined.
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

// join adds a span that begins no earlier than the last one.
func join(spans []span, s span) []span {
	if n := len(spans); n > 0 && (s.from < spans[n-1].to || s.from == spans[n-1].from) {
		spans[n-1].to = max(spans[n-1].to, s.to)
		return spans
	}
	return append(spans, s)
}

// unfinished returns the start of the longest suffix of b that could be the beginning of a secret; len(b) if there is none.
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

// maskStream masks output that comes in pieces. It holds back only a possible beginning of a secret, less than the longest
// one.
type maskStream struct {
	mask    *Mask
	held    []byte
	covered int // leading bytes of held that an emitted Masked covers
}

// write emits what is certain. The pieces are valid during the call.
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

// flush emits the held bytes at the end of the output.
func (s *maskStream) flush(give func([]byte)) {
	if len(s.held) > 0 {
		s.emit(s.held, len(s.held), give)
	}
}

// emit emits b up to end and holds the rest. A secret that continues past end is replaced at once; covered records how many
// of the held bytes it covers, in case another secret begins inside it.
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

// worthMasking reports whether a value is worth masking.
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
