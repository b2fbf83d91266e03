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
	"sync"
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

// Mask replaces secrets in texts: known values, also where they are encoded, and tokens with a checkable form. A nil
// Mask masks nothing.
//
// If two secrets overlap in the text, both are masked completely.
type Mask struct {
	patterns *patterns // nil: tokens aren't masked
	table    *Table    // nil: Masked replaces all secrets
	long     *matcher  // values that are masked everywhere
	short    *matcher  // values that are masked after a colon and before an @
	max      int       // length of the longest text
	// starts are the texts by their first byte.
	starts [256][][]byte

	clean cleanTexts
}

// cleanTexts are the last long texts without a secret: the two contents of an edit are masked several times, for the
// diff, the question and the result, and a result is in several entries of the journal.
type cleanTexts struct {
	mu   sync.Mutex
	last [4]string
}

// The sizes of texts that are remembered: to search shorter ones takes no time, and longer ones take memory.
const (
	minClean = 4 << 10
	maxClean = 2 << 20
)

func (c *cleanTexts) has(s string) bool {
	if len(s) < minClean {
		return false
	}
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	return slices.Contains(last[:], s)
}

func (c *cleanTexts) add(s string) {
	if len(s) >= minClean && len(s) <= maxClean {
		c.mu.Lock()
		defer c.mu.Unlock()
		copy(c.last[1:], c.last[:])
		c.last[0] = s
	}
}

// NewMask returns a mask for tokens, and for the values that are worth masking: at least 8 bytes long and not so
// ordinary ("postgres", "localhost", "00000000", a path) that masking would garble output and protect nothing. Others
// are masked only where they are the password of a URL, and in the base64 form of user:password. table names the
// secrets; nil: all of them become [Masked].
func NewMask(secrets []Secret, table *Table) *Mask {
	var long, short [][]byte
	for _, s := range secrets {
		l, p := s.forms()
		long, short = append(long, l...), append(short, p...)
	}
	m := &Mask{patterns: allPatterns(), table: table, long: newMatcher(long, 0), short: newMatcher(short, 1)}
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

// NewValues returns a mask for values only: it leaves tokens as they are.
func NewValues(secrets []Secret) *Mask {
	m := NewMask(secrets, nil)
	m.patterns = nil
	return m
}

// String returns s with every secret replaced.
func (m *Mask) String(s string) string {
	if m == nil || m.clean.has(s) {
		return s
	}
	found, _ := m.find(unsafe.Slice(unsafe.StringData(s), len(s)), true, 0) // it only reads
	if len(found) == 0 {
		m.clean.add(s)
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.from])
		b.WriteString(m.table.name(f.kind, s[f.from:f.to]))
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// Kinds returns the kinds of the secrets in a text, without repetitions.
func (m *Mask) Kinds(text string) []string {
	var kinds []string
	if m != nil {
		found, _ := m.find([]byte(text), true, 0)
		for _, f := range found {
			if !slices.Contains(kinds, f.kind) {
				kinds = append(kinds, f.kind)
			}
		}
	}
	return kinds
}

// span is a range of bytes with a secret.
type span struct {
	from, to int
	kind     string
}

// find returns the positions of secrets in b, in order, with overlapping ones joined. open is the first byte whose
// meaning depends on what follows; len(b) if final. A token that was found before ends at after.
func (m *Mask) find(b []byte, final bool, after int) (found []span, open int) {
	s := scan{patterns: m.patterns, b: b, final: final, open: len(b), after: after}
	if m.patterns != nil {
		s.search()
	}
	all := m.table.unexcepted(b, s.found)
	all = append(all, m.long.find(b)...)
	all = append(all, m.short.find(b)...)
	if open = s.open; !final {
		open = min(open, m.unfinished(b))
	}
	if len(all) > 1 {
		sorted.By(all, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	}
	for _, s := range all {
		found = join(found, s)
	}
	return found, open
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
				found = join(found, span{from + m.around, from + len(t) - m.around, "value"})
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

// unfinished returns the start of the longest suffix of b that could be the beginning of a secret; len(b)
// without one.
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

// Stream masks output that comes in pieces. It holds back only what can be a part of a secret.
type Stream struct {
	mask *Mask
	b    []byte
	at   int // bytes of b that were emitted, and are kept because what is before a token matters
	end  int // where the last secret of them ends
}

const (
	context = 128         // bytes that are kept
	maxHeld = 4 * longest // secrets in a row that overlap
)

// Stream returns a stream that masks what is written to it.
func (m *Mask) Stream() Stream { return Stream{mask: m} }

// Write emits what is certain. The pieces are valid during the call.
func (s *Stream) Write(p []byte, give func([]byte)) {
	if s.mask == nil {
		give(p)
		return
	}
	s.b = append(s.b, p...)
	s.emit(len(s.b)-s.at > maxHeld, give)
}

// Flush emits the held bytes at the end of the output.
func (s *Stream) Flush(give func([]byte)) {
	if s.mask != nil {
		s.emit(true, give)
	}
}

func (s *Stream) emit(final bool, give func([]byte)) {
	found, end := s.mask.find(s.b, final, s.end)
	end = max(end, s.at)
	for i := len(found) - 1; i >= 0; i-- {
		if f := found[i]; f.from >= s.at && f.from < end && f.to > end {
			end = f.from // more may overlap with it
		}
	}
	at := s.at
	for _, f := range found {
		if f.from < at || f.to > end {
			continue
		}
		if f.from > at {
			give(s.b[at:f.from])
		}
		give([]byte(s.mask.table.name(f.kind, string(s.b[f.from:f.to]))))
		at, s.end = f.to, f.to
	}
	if at < end {
		give(s.b[at:end])
	}
	from := max(0, end-context)
	s.b = append(s.b[:0], s.b[from:]...)
	s.at, s.end = end-from, max(0, s.end-from)
}
