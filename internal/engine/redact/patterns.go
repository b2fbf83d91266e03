package redact

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/table"
)

//go:embed patterns.txt
var patternsText string

const (
	shortest      = 20       // length of the shortest token, with its start
	longest       = 16 << 10 // of a token or a private key; what is longer isn't one
	nearby        = 40       // bytes before a token in which a word is near
	shortestGroup = 40       // length of the shortest token without a start
	// longestStart is at least the length of a start, in base64 too.
	longestStart = 48
	// notInGroups are the characters of tokens that tokens without a start don't have.
	notInGroups = "_-.="
)

// pattern is the form of tokens.
type pattern struct {
	kind     string
	start    string
	near     string // a word before the token, in lower case; then there is no start
	chars    *[256]bool
	min, max int // characters after the start
	check    func(body []byte) bool
}

// patterns are all forms, prepared for a search.
type patterns struct {
	near   []pattern
	hashes [hashed / 64]uint64 // bits: hashes of the first three bytes of literals
	first  map[uint32]*literal // by the hash of the first three bytes: a list, the longest first
	begins [256]*literal       // by the first byte: a list
	run    *[256]bool          // characters of tokens
	starts []string
	kinds  []string
}

const hashed = 1 << 18

// rehash returns the hash of three bytes, from that of the three bytes one position before.
func rehash(h uint32, c byte) uint32 { return (h<<6 ^ uint32(c)) & (hashed - 1) }

// literal is a text that tokens begin with, as it is or in base64.
type literal struct {
	text    string
	pattern *pattern // nil: no token begins with it, but it is before one
	coded   string   // the text that it is in base64; "": it is plain
	before  int      // bytes of its group of three before it
	skip    int      // characters of its group of four before it

	sameHash, sameByte *literal // the next of these lists
}

var allPatterns = sync.OnceValue(func() *patterns { return table.Must(readPatterns(patternsText)) })

// alphabets are sets of characters by their names.
var alphabets = sync.OnceValue(func() map[string]*[256]bool {
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	sets := map[string]*[256]bool{}
	for name, chars := range map[string]string{
		"alnum": alnum, "word": alnum + "_", "dash": alnum + "_-", "dot": alnum + "_-.", "hex": "0123456789abcdef",
		"upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "base64": alnum + "+/=", "path": alnum + "_-/",
		"group": alnum + "+/", "run": alnum + "+/" + notInGroups,
	} {
		set := &[256]bool{}
		for i := range len(chars) {
			set[chars[i]] = true
		}
		sets[name] = set
	}
	return sets
})

var checks = map[string]func(body []byte) bool{
	"random":  random,
	"longest": func(body []byte) bool { return random(longestPart(body, '-')) },
	"webhook": func(body []byte) bool {
		return (bytes.Contains(body, []byte("hooks/")) || bytes.Contains(body, []byte("/services/"))) &&
			random(longestPart(body, '/'))
	},
	"mixed":    mixed,
	"checksum": func(body []byte) bool { return checksum(body) || random(body) },
	"jwt":      func([]byte) bool { return true }, // see match
}

func readPatterns(text string) (*patterns, error) {
	lines, err := table.Lines(text, 20)
	if err != nil {
		return nil, err
	}
	all := &patterns{first: make(map[uint32]*literal, 1<<9), run: alphabets()["run"]}
	for _, l := range lines {
		if err := all.read(l.Text); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.Number, err)
		}
	}
	for _, s := range blockStarts {
		all.addCoded(s, nil)
	}
	for _, p := range all.near {
		all.addCoded(p.near, nil)
		all.addCoded(strings.ToUpper(p.near), nil)
		all.addCoded(strings.ToUpper(p.near[:1])+p.near[1:], nil)
	}
	return all, nil
}

func (all *patterns) read(line string) error {
	f := strings.Fields(line)
	if len(f) != 5 {
		return errors.New("it doesn't have 5 columns")
	}
	p := pattern{kind: f[0], chars: alphabets()[f[2]], check: checks[f[4]]}
	least, limit, ranged := strings.Cut(f[3], "-")
	var err, err2 error
	p.min, err = strconv.Atoi(least)
	switch {
	case !ranged:
		p.max = p.min
	case limit == "":
		p.max = longest
	default:
		p.max, err2 = strconv.Atoi(limit)
	}
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if p.chars == nil || p.check == nil {
		return errors.New("unknown characters or check")
	}
	all.kinds = append(all.kinds, p.kind)
	for s := range strings.SplitSeq(f[1], ",") {
		p := p
		var near bool
		if p.near, near = strings.CutPrefix(s, "near:"); near {
			if p.min < shortestGroup {
				return fmt.Errorf("%s: the token is too short", s)
			}
			all.near = append(all.near, p)
			continue
		}
		p.start, p.near = s, ""
		if len(s) < 3 || len(s)+p.min < shortest {
			return fmt.Errorf("the start %q or its token is too short", s)
		}
		all.starts = append(all.starts, s)
		all.add(literal{text: s, pattern: &p})
		all.addCoded(s, &p)
	}
	return nil
}

func (all *patterns) add(l literal) {
	h := rehash(rehash(rehash(0, l.text[0]), l.text[1]), l.text[2])
	all.hashes[h/64] |= 1 << (h % 64)
	l.sameByte = all.begins[l.text[0]]
	all.begins[l.text[0]] = &l
	if longer := all.first[h]; longer == nil || len(longer.text) < len(l.text) {
		l.sameHash, all.first[h] = longer, &l
	} else { // of several that match, the longest says the kind
		for longer.sameHash != nil && len(longer.sameHash.text) >= len(l.text) {
			longer = longer.sameHash
		}
		l.sameHash, longer.sameHash = longer.sameHash, &l
	}
}

// addCoded adds the base64 forms of a text.
func (all *patterns) addCoded(s string, p *pattern) {
	plain, coded := append(make([]byte, 2, 64), s...), make([]byte, 0, 96)
	for before := range 3 {
		skip := (before*8 + 5) / 6
		coded = base64.RawStdEncoding.AppendEncode(coded[:0], plain[2-before:])
		all.add(literal{
			text: string(coded[skip : (before+len(s))*8/6]), pattern: p, coded: s, before: before, skip: skip,
		})
	}
}

// plausible reports whether what follows a start in base64 can be a token.
func (l literal) plausible(b []byte) bool {
	text, _, _ := decode(b[:min(len(b), 48)])
	text = text[min(len(text), l.before):]
	rest, ok := bytes.CutPrefix(text, []byte(l.coded))
	if !ok || l.pattern == nil {
		return ok || len(text) < len(l.coded)
	}
	return !slices.ContainsFunc(rest[:min(len(rest), l.pattern.min)], func(c byte) bool { return !l.pattern.chars[c] })
}

// Starts returns the beginnings of tokens of well-known services.
func Starts() []string { return allPatterns().starts }

// IsKind reports whether a word is the name of a kind of tokens.
func IsKind(word string) bool {
	return word == privateKey || word == urlPassword || slices.Contains(allPatterns().kinds, word)
}

// scan is one search through a text.
type scan struct {
	*patterns
	b     []byte
	final bool // nothing follows b
	coded bool // b was decoded from base64
	found []span
	open  int // the first byte whose meaning depends on what follows b
	after int // the end of a token that was found before; 0: none
}

// begin reports whether a token can begin at i: not within a word, but in another token and after it.
func (s *scan) begin(i int) bool {
	n := len(s.found)
	return boundary(s.b, i) || i == s.after || n > 0 && i <= s.found[n-1].to
}

// tokens finds the tokens in b. A token has at least shortest characters, so only longer words are examined: one of
// their characters is found by a look at every shortest-th byte.
func (s *scan) tokens() {
	b, run := s.b, s.run
	done := 0 // the end of the last word
	for i := shortest - 1; i < len(b); {
		if !run[b[i]] {
			i += shortest
			continue
		}
		from, to := i, i+1
		for from > done && run[b[from-1]] {
			from--
		}
		for to < len(b) && run[b[to]] {
			to++
		}
		if to-from >= shortest || to == len(b) {
			s.word(from, to)
		}
		done, i = to, to+shortest
	}
	if s.final || done == len(b) {
		return
	}
	from := len(b)
	for from > done && run[b[from-1]] {
		from--
	}
	s.word(from, len(b))
}

// unfinished looks for a part of a start at the end of b, in the word that begins at from.
func (s *scan) unfinished(from int) {
	for i := max(from, len(s.b)-longestStart); i < len(s.b); i++ {
		rest := s.b[i:]
		for l := s.begins[rest[0]]; l != nil; l = l.sameByte {
			if len(l.text) > len(rest) && l.text[:len(rest)] == string(rest) && (l.coded != "" || s.begin(i)) {
				s.open = min(s.open, i)
			}
		}
	}
}

// word finds the tokens in a word.
func (s *scan) word(from, to int) {
	b, hashes := s.b, &s.hashes
	var decoded [4]int // what begins before was decoded, for each position of a group of four characters
	h := uint32(0)
	for end, c := range b[from:to] {
		if h = rehash(h, c); hashes[h/64]&(1<<(h%64)) == 0 || end < 2 {
			continue
		}
		i := from + end - 2
		for l := s.first[h]; l != nil; l = l.sameHash {
			switch {
			case len(b)-i < len(l.text) || string(b[i:i+len(l.text)]) != l.text:
			case l.coded == "":
				if s.begin(i) {
					s.match(l.pattern, i, i+len(l.text))
				}
			case !s.coded && i-l.skip >= from && i >= decoded[(i-l.skip)%4] && l.plausible(b[i-l.skip:]):
				decoded[(i-l.skip)%4] = s.base64(from, i-l.skip)
			}
		}
	}
	if to == len(b) && !s.final {
		s.unfinished(from)
	}
	s.groups(from, to)
}

// match adds the token of a pattern that begins at from, with its body at at.
func (s *scan) match(p *pattern, from, at int) {
	to := at
	for limit := min(len(s.b), at+p.max+1); to < limit && p.chars[s.b[to]]; {
		to++
	}
	open := to == len(s.b) && to-at <= p.max
	if to-at > p.max || to < len(s.b) && isAlnum(s.b[to]) { // only another token can follow
		follows := false
		for to = min(to, at+p.max); !follows && !open; to-- {
			if to-at < p.min {
				return
			}
			follows, open = s.starts(to)
		}
		to++
	}
	if open && !s.final {
		s.open = min(s.open, from)
		return
	}
	for to > at && s.b[to-1] == '.' { // of a sentence
		to--
	}
	if to-at < p.min {
		return
	}
	if p.kind == "jwt" {
		to = from + jwt(s.b[from:to])
	}
	if to == from || !p.check(s.b[at:to]) {
		return
	}
	s.found = append(s.found, span{from, to, p.kind})
}

// starts reports whether a token begins at i. open: that depends on what follows b.
func (s *scan) starts(i int) (yes, open bool) {
	rest := s.b[i:]
	for l := s.begins[rest[0]]; l != nil; l = l.sameByte {
		if l.coded == "" {
			yes = yes || bytes.HasPrefix(rest, []byte(l.text))
			open = open || !s.final && len(rest) < len(l.text) && l.text[:len(rest)] == string(rest)
		}
	}
	return yes, open && !yes
}

// groups finds the tokens of a word that have no start: a word before them says what they are.
func (s *scan) groups(from, to int) {
	for begin := from; to-begin >= shortestGroup || begin < to && to == len(s.b); {
		end := to
		for _, c := range []byte(notInGroups) { // faster than a look at each byte
			if i := bytes.IndexByte(s.b[begin:end], c); i >= 0 {
				end = begin + i
			}
		}
		if end-begin >= shortestGroup || end == len(s.b) {
			s.group(begin, end)
		}
		begin = end + 1
	}
}

// group finds out whether a group of characters is a token.
func (s *scan) group(begin, end int) {
	for i := range s.near {
		p := &s.near[i]
		unfinished := end == len(s.b) && !s.final && end-begin <= p.max && begin < end
		if end-begin != p.min && !unfinished {
			continue
		}
		before := bytes.ToLower(s.b[max(0, begin-nearby):begin])
		switch {
		case !bytes.Contains(before, []byte(p.near)):
		case unfinished:
			s.open = min(s.open, begin)
		case p.check(s.b[begin:end]):
			s.found = append(s.found, span{begin, end, p.kind})
			return
		}
	}
}

// base64 searches the decoded form of a word that begins at from. A group of four characters begins at at. It returns
// where the next search can begin.
func (s *scan) base64(from, at int) int {
	begin := at - min(at-from, 64)/4*4
	text, positions, end := decode(s.b[begin:])
	return max(at+1, s.decoded(text, begin, end, func(from, to int) (int, int) {
		// The character with the first bits of the start may have been emitted.
		return positions[(from*8+5)/6], positions[(to*8-1)/6] + 1
	}))
}

// decoded searches a text that was decoded from b[begin:begin+length]. position returns where its bytes are there. The
// result is where the next search can begin.
func (s *scan) decoded(text []byte, begin, length int, position func(from, to int) (int, int)) int {
	limited := len(text) >= longest
	sub := &scan{
		patterns: s.patterns, b: text, final: !limited && (s.final || begin+length < len(s.b)), coded: true,
		open: len(text),
	}
	sub.search()
	for _, f := range sub.found {
		from, to := position(f.from, f.to)
		s.found = append(s.found, span{begin + from, begin + to, f.kind})
	}
	if sub.open == len(text) {
		return begin + length
	}
	open, _ := position(sub.open, sub.open+1)
	if !limited {
		s.open = min(s.open, begin+open)
	}
	return begin + open
}

// percent searches the decoded form of texts with %3D and the like.
func (s *scan) percent() {
	for at := 0; at < len(s.b); {
		i := bytes.IndexByte(s.b[at:], '%')
		if i < 0 {
			return
		}
		i += at
		at = i + 1
		begin := i
		for begin > 0 && i-begin < 64 && inURL(s.b[begin-1]) {
			begin--
		}
		_, n := s.escaped(i)
		if n == 0 {
			s.open = min(s.open, begin)
			return
		}
		if n == 1 {
			continue
		}
		var text []byte
		var positions []int
		end := begin
		for end < len(s.b) && len(text) < longest && inURL(s.b[end]) {
			c, n := s.escaped(end)
			if n == 0 {
				end = len(s.b)
				break
			}
			text, positions = append(text, c), append(positions, end-begin)
			end += n
		}
		positions = append(positions, end-begin)
		at = max(at, s.decoded(text, begin, end-begin, func(from, to int) (int, int) {
			return positions[from], positions[to]
		}))
	}
}

func inURL(c byte) bool {
	return c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\' && c != '`'
}

// escaped returns the byte that is at i, as it is or as %3D, and its length. 0: that depends on what follows.
func (s *scan) escaped(i int) (c byte, n int) {
	rest := s.b[i:min(len(s.b), i+3)]
	switch {
	case rest[0] != '%' || len(rest) < 3 && s.final:
		return rest[0], 1
	case len(rest) < 3:
		return 0, 0
	case !isHex(rest[1]) || !isHex(rest[2]):
		return '%', 1
	}
	v, _ := strconv.ParseUint(string(rest[1:]), 16, 8)
	return byte(v), 3
}

// decode decodes base64, also in lines. positions are those of the characters, and end is that of what follows.
func decode(b []byte) (text []byte, positions []int, end int) {
	var bits, count, line int
	for i := 0; i < len(b) && len(text) < longest; i++ {
		v := int(sextets[b[i]])
		switch {
		case v >= 0:
			bits, count, line = bits<<6|v, count+6, line+1
			positions = append(positions, i)
			if count >= 8 {
				count -= 8
				text = append(text, byte(bits>>count))
				bits &= 1<<count - 1
			}
		case line >= 60 && (b[i] == '\n' || b[i] == '\r'):
			for i+1 < len(b) && (b[i+1] <= ' ') {
				i++
			}
			line = 0
		default:
			return text, positions, i
		}
		end = i + 1
	}
	return text, positions, end
}

// sextets are the values of the characters of base64, and -1 for others.
var sextets = func() (values [256]int8) {
	for c := range values {
		values[c] = int8(strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", byte(c)))
	}
	values['-'], values['_'] = 62, 63
	return values
}()
