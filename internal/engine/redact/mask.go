// Package redact replaces secrets in texts that others read: a model, a journal, a client.
//
//	m := redact.NewMask(secrets)
//	text = m.String(text)
package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unsafe"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Masked replaces a secret. It may be a part of a URL, and it doesn't occur in files by chance: an edit that would
// write it is an error.
const Masked = "***masked-by-adze***"

// Secret is a value to mask.
type Secret struct {
	Value string
	User  string // that it belongs to, if known
	// Sure means that it is a credential. Otherwise only its name says so, and ordinary values (a date, a path) aren't
	// masked.
	Sure bool
}

// Mask replaces known secret values in output, also where they are encoded. A nil Mask masks nothing.
//
// If two secrets overlap in the text, both are masked completely.
type Mask struct {
	long  *matcher // values that are masked everywhere
	short *matcher // values that are masked after a colon and before an @
	max   int      // length of the longest text
	// starts are the texts by their first byte.
	starts [256][][]byte
}

// NewMask returns a mask for the values that are worth masking: at least 8 bytes long and not so ordinary ("postgres",
// "localhost", "00000000", a path) that masking would garble output and protect nothing. Others are masked only where
// they are the password of a URL, and in the base64 form of user:password. It is nil if there are none.
func NewMask(secrets []Secret) *Mask {
	var long, short [][]byte
	for _, s := range secrets {
		l, p := s.forms()
		long, short = append(long, l...), append(short, p...)
	}
	m := &Mask{long: newMatcher(long, 0), short: newMatcher(short, 1)}
	if m.long == nil && m.short == nil {
		return nil
	}
	for _, k := range []*matcher{m.long, m.short} {
		if k == nil {
			continue
		}
		for _, t := range k.texts {
			m.max = max(m.max, len(t))
			m.starts[t[0]] = append(m.starts[t[0]], t)
		}
	}
	return m
}

// String returns s with every secret replaced.
func (m *Mask) String(s string) string {
	if m == nil {
		return s
	}
	found := m.find(unsafe.Slice(unsafe.StringData(s), len(s))) // it only reads
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.from])
		b.WriteString(Masked)
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// span is a range of bytes.
type span struct{ from, to int }

// find returns the positions of secrets in b, in order, with overlapping ones joined.
func (m *Mask) find(b []byte) []span {
	found := m.long.find(b)
	if more := m.short.find(b); len(more) > 0 {
		all := append(found, more...)
		sorted.By(all, func(x, y span) int { return cmp.Compare(x.from, y.from) })
		found = nil
		for _, s := range all {
			found = join(found, s)
		}
	}
	return found
}

// matcher finds texts by Wu and Manber's multi-pattern search. It checks two bytes and usually skips almost as many as
// the shortest text has, so that masking keeps up with a flood of output.
type matcher struct {
	texts  [][]byte
	window int // at most the length of the shortest text
	around int // bytes at both ends of a text that aren't masked
	shift  *[1 << 16]uint8
	bucket map[uint16][]int
}

// newMatcher returns nil if there are no texts.
func newMatcher(texts [][]byte, around int) *matcher {
	if len(texts) == 0 {
		return nil
	}
	texts = slices.Clone(texts)
	slices.SortFunc(texts, bytes.Compare)
	m := &matcher{
		texts: slices.CompactFunc(texts, bytes.Equal), window: 200, around: around, bucket: map[uint16][]int{},
	}
	for _, t := range m.texts {
		m.window = min(m.window, len(t))
	}
	m.shift = (*[1 << 16]uint8)(bytes.Repeat([]byte{uint8(m.window - 1)}, 1<<16))
	for i, t := range m.texts {
		for j := 0; j+1 < m.window; j++ {
			pair := uint16(t[j])<<8 | uint16(t[j+1])
			m.shift[pair] = min(m.shift[pair], uint8(m.window-2-j))
		}
		last := uint16(t[m.window-2])<<8 | uint16(t[m.window-1])
		m.bucket[last] = append(m.bucket[last], i)
	}
	return m
}

// find returns the positions of the masked parts of texts.
func (m *matcher) find(b []byte) []span {
	if m == nil {
		return nil
	}
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
			if t := m.texts[v]; bytes.HasPrefix(b[from:], t) {
				found = join(found, span{from + m.around, from + len(t) - m.around})
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

// unfinished returns the start of the longest suffix of b that could be the beginning of a secret; len(b) if there is
// none.
func (m *Mask) unfinished(b []byte) int {
	for i := max(0, len(b)-m.max+1); i < len(b); i++ {
		for _, t := range m.starts[b[i]] {
			if len(t) > len(b)-i && bytes.HasPrefix(t, b[i:]) {
				return i
			}
		}
	}
	return len(b)
}

// Stream masks output that comes in pieces. It holds back only a possible beginning of a secret, less than the
// longest one.
type Stream struct {
	mask    *Mask
	held    []byte
	covered int // leading bytes of held that an emitted Masked covers
}

// Stream returns a stream that masks what is written to it.
func (m *Mask) Stream() Stream { return Stream{mask: m} }

// Write emits what is certain. The pieces are valid during the call.
func (s *Stream) Write(p []byte, give func([]byte)) {
	if s.mask == nil {
		give(p)
		return
	}
	b := p
	if len(s.held) > 0 {
		b = append(s.held, p...)
	}
	end := s.mask.unfinished(b)
	if end < len(b) && end > s.covered && s.mask.short != nil {
		end-- // what stands before a short value decides whether it is masked
	}
	s.emit(b, end, give)
}

// Flush emits the held bytes at the end of the output.
func (s *Stream) Flush(give func([]byte)) {
	if len(s.held) > 0 {
		s.emit(s.held, len(s.held), give)
	}
}

// emit emits b up to end and holds the rest. A secret that continues past end is replaced at once; covered records how
// many of the held bytes it covers, in case another secret begins inside it.
func (s *Stream) emit(b []byte, end int, give func([]byte)) {
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
