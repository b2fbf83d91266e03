package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// literals are texts of which every match contains at least one. An empty set means that none are known.
type literals struct {
	texts []string // lower case when fold is set
	fold  bool     // ASCII letters match in any case
	whole bool     // a line with one of them always matches
}

const (
	maxTexts = 16
	maxText  = 48
	maxClass = 8   // maximum size of a class that is expanded
	maxCost  = 150 // searching for more frequent literals isn't worthwhile: every third line would have one
)

// piece is what is known about the texts that a part of an expression matches.
type piece struct {
	exact []string // all of them, if they are few; otherwise nil
	need  []string // every text contains one of these; nil: unknown
	fold  bool     // some letter may have any case
	cased bool     // some letter may not
	plain bool     // exact is complete: no assertion restricts it
}

// required returns the best literals of an expression. With crlf a carriage return may be the end of a line and not
// part of it, so that finding it is not enough.
func required(re *syntax.Regexp, crlf bool) literals {
	p := analyze(re)
	best := p.exact
	whole := p.exact != nil && p.plain && !(p.fold && p.cased)
	if better(p.need, best) {
		best, whole = p.need, false
	}
	if crlf && strings.ContainsRune(strings.Join(best, ""), '\r') {
		whole = false
	}
	if len(best) == 0 || slices.Contains(best, "") || (!whole && cost(best) > maxCost) {
		return literals{}
	}
	l := literals{texts: best, fold: p.fold, whole: whole}
	if l.fold {
		l.texts = slices.Clone(l.texts)
		for i, t := range l.texts {
			l.texts[i] = asciiLower(t)
		}
	}
	return l
}

// leading returns literals with one of which every match begins, for multiline matches.
func leading(re *syntax.Regexp) literals {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	subs := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	run, out := []string{""}, literals{}
	for _, sub := range subs {
		p := analyze(sub)
		joined, ok := cross(run, p.exact)
		if !ok {
			break
		}
		run, out.fold = joined, out.fold || p.fold
	}
	if slices.Contains(run, "") || cost(run) > maxCost {
		return literals{}
	}
	for _, t := range run {
		if out.fold {
			t = asciiLower(t)
		}
		out.texts = append(out.texts, t)
	}
	return out
}

// analyze analyzes one part of an expression. A case-insensitive literal makes the whole case-insensitive, which only
// finds more.
func analyze(re *syntax.Regexp) piece {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return piece{exact: []string{""}, plain: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return piece{exact: []string{""}}
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCharClass:
		return ofClass(re)
	case syntax.OpCapture:
		return analyze(re.Sub[0])
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	case syntax.OpQuest:
		return ofAlternate([]*syntax.Regexp{{Op: syntax.OpEmptyMatch}, re.Sub[0]})
	case syntax.OpPlus:
		return repeated(analyze(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min == 0 {
			return piece{}
		}
		if re.Min == re.Max && re.Min <= 8 {
			subs := make([]*syntax.Regexp, re.Min)
			for i := range subs {
				subs[i] = re.Sub[0]
			}
			return ofConcat(subs)
		}
		return repeated(analyze(re.Sub[0]))
	}
	return piece{}
}

// repeated returns what is known if a part occurs once or more.
func repeated(p piece) piece {
	need := p.need
	if better(p.exact, need) {
		need = p.exact
	}
	return piece{need: need, fold: p.fold, cased: p.cased}
}

func ofLiteral(re *syntax.Regexp) piece {
	if re.Flags&syntax.FoldCase == 0 {
		text := string(re.Rune)
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			return piece{} // an invalid byte in a file counts as this character
		}
		if len(text) > maxText {
			return piece{need: []string{text[:maxText]}, cased: true}
		}
		return piece{exact: []string{text}, plain: true, cased: hasLetter(text)}
	}
	// Runs of ASCII; other letters have cases of different lengths.
	var runs []string
	var b strings.Builder
	fold, whole := false, true
	for _, r := range re.Rune {
		if r >= 0x80 || b.Len() >= maxText {
			whole = false
			runs, b = append(runs, b.String()), strings.Builder{}
		}
		if r < 0x80 {
			fold = fold || isLetter(r)
			b.WriteByte(lower[r])
		}
	}
	runs = append(runs, b.String())
	if whole {
		return piece{exact: runs, plain: true, fold: fold}
	}
	best := piece{fold: fold}
	for _, r := range runs {
		if better([]string{r}, best.need) {
			best.need = []string{r}
		}
	}
	return best
}

func ofClass(re *syntax.Regexp) piece {
	p := piece{plain: true}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(p.exact) == maxClass || r == utf8.RuneError || r > 0xffff {
				return piece{}
			}
			p.exact = append(p.exact, string(r))
			p.cased = p.cased || isLetter(r)
		}
	}
	return p
}

func ofConcat(subs []*syntax.Regexp) piece {
	out := piece{exact: []string{""}, plain: true}
	run := []string{""} // the possible texts of the parts since the last unknown one
	for _, sub := range subs {
		p := analyze(sub)
		out.fold, out.cased = out.fold || p.fold, out.cased || p.cased
		out.plain = out.plain && p.plain
		if joined, ok := cross(run, p.exact); ok {
			run = joined
			continue
		}
		out.exact = nil
		if better(run, out.need) {
			out.need = run
		}
		if better(p.need, out.need) {
			out.need = p.need
		}
		run = []string{""}
		if p.exact != nil {
			run = p.exact
		}
	}
	if out.exact != nil {
		out.exact = run
	} else if better(run, out.need) {
		out.need = run
	}
	return out
}

// cross concatenates each text of one set with each of another, unless there would be too many or too long texts.
func cross(a, b []string) ([]string, bool) {
	if b == nil || len(a)*len(b) > maxTexts {
		return nil, false
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxText {
				return nil, false
			}
			out = append(out, x+y)
		}
	}
	return out, true
}

func ofAlternate(subs []*syntax.Regexp) piece {
	out := piece{exact: []string{}, need: []string{}, plain: true}
	for _, sub := range subs {
		p := analyze(sub)
		out.fold, out.cased = out.fold || p.fold, out.cased || p.cased
		out.plain = out.plain && p.plain
		need := p.need
		if better(p.exact, need) {
			need = p.exact
		}
		if need == nil || len(out.need)+len(need) > maxTexts {
			out.need = nil
		} else if out.need != nil {
			out.need = append(out.need, need...)
		}
		if p.exact == nil || len(out.exact)+len(p.exact) > maxTexts {
			out.exact = nil
		} else if out.exact != nil {
			out.exact = append(out.exact, p.exact...)
		}
		if out.need == nil && out.exact == nil {
			return piece{fold: out.fold, cased: out.cased}
		}
	}
	return out
}

// better reports whether a set of literals is better to search for than another.
func better(a, b []string) bool {
	return len(a) > 0 && (len(b) == 0 || cost(a) < cost(b))
}

// cost estimates how often one of the texts occurs, in ten-thousandths of all places; an empty text occurs everywhere.
func cost(texts []string) int {
	sum := 0
	for _, t := range texts {
		least := 10000
		for i := range len(t) {
			least = min(least, frequency(t[i])*3/(2+len(t)))
		}
		sum += 1 + least
	}
	return sum
}

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

func hasLetter(s string) bool { return strings.ContainsFunc(s, isLetter) }

// lower maps ASCII letters to lower case and every other byte to itself.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower[c]
	}
	return string(b)
}

// pair finds two bytes at a fixed distance, eight places at a time: a word of text is compared with eight copies of one
// byte, the word at the distance with the other, and only places where both match are checked. For letters of either
// case the case bit is set first.
type pair struct {
	a, b         uint64 // eight copies of each byte
	foldA, foldB uint64 // eight copies of the case bit, or zero
	gap          int
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func newPair(a, b byte, gap int, fold bool) pair {
	p := pair{a: ones * uint64(a), b: ones * uint64(b), gap: gap}
	if fold && upper(a) != a {
		p.foldA = ones * 0x20
	}
	if fold && upper(b) != b {
		p.foldB = ones * 0x20
	}
	return p
}

// find returns the first place at or after i with both bytes, or -1.
func (p *pair) find(data []byte, i int) int {
	a, b, foldA, foldB, gap := p.a, p.b, p.foldA, p.foldB, p.gap // in registers: this loop dominates the time
	n := len(data) - gap
	for ; i+16 <= n; i += 16 {
		x, y := data[i:i+16:i+16], data[i+gap:i+gap+16:i+gap+16]
		v0 := ((word(x) | foldA) ^ a) | ((word(y) | foldB) ^ b)
		v1 := ((word(x[8:]) | foldA) ^ a) | ((word(y[8:]) | foldB) ^ b)
		// A byte that is zero, where both match, gets its high bit set; bytes above it may be false positives.
		z0 := (v0 - ones) &^ v0 & highs
		z1 := (v1 - ones) &^ v1 & highs
		if z0|z1 == 0 {
			continue
		}
		if z0 != 0 {
			return i + bits.TrailingZeros64(z0)>>3
		}
		return i + 8 + bits.TrailingZeros64(z1)>>3
	}
	for ; i < n; i++ {
		if uint64(data[i])|foldA&0xff == a&0xff && uint64(data[i+gap])|foldB&0xff == b&0xff {
			return i
		}
	}
	return -1
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// quad runs the DFA over four parts of a buffer at once. One step of a DFA must wait for the step before, which leaves
// the processor idle most of the time; four independent ones fill it. This is possible because no match crosses a line,
// so that each part can begin at a line.
type quad struct {
	state [4]uint32
	at    [4]int
	end   [4]int
	found [4][]int // places in lines that seem to match, in order
}

// minQuad is the minimum size for four parts.
const minQuad = 2 << 10

// candidates finds a place in every line of data that seems to match, in order; the end of the last line counts as a
// newline. It returns false if the table had to be restarted or is too costly.
func (d *dfa) candidates(q *quad, data []byte, into []int) ([]int, bool) {
	resets := d.resets
	begin := 0
	for k := range 4 {
		end := len(data)
		if k < 3 {
			end = max(begin, bytes.LastIndexByte(data[begin:max(begin, len(data)*(k+1)/4)], '\n')+1+begin)
		}
		q.state[k], q.at[k], q.end[k], q.found[k] = d.line, begin, end, q.found[k][:0]
		begin = end
	}
	for {
		n := len(data)
		for k := range 4 {
			n = min(n, q.end[k]-q.at[k])
		}
		if n < 16 {
			break
		}
		if n = q.lockstep(d.table, data, n); n > 0 && !d.special(q, data) {
			return into, false
		}
		if d.resets != resets {
			return into, false
		}
	}
	for k := range 4 {
		for q.at[k] < q.end[k] {
			s, i := d.scan(q.state[k], data[:q.end[k]], q.at[k])
			if s == stuck || d.resets != resets {
				return into, false
			}
			if s != matched && (i < len(data) || data[i-1] == '\n' || !d.end(s)) {
				break
			}
			q.found[k] = append(q.found[k], min(i, len(data)-1))
			q.at[k], q.state[k] = min(lineEnd(data, min(i, len(data)-1))+1, len(data)), d.line
		}
		into = append(into, q.found[k]...)
	}
	return into, true
}

// lockstep takes up to n steps in each part and returns how many steps were left when one part reached something
// special, at which all parts stop before their byte; 0 if all were taken.
func (q *quad) lockstep(table []uint32, data []byte, n int) int {
	base := unsafe.Pointer(unsafe.SliceData(table))
	a, b, c, e := data[q.at[0]:q.at[0]+n], data[q.at[1]:q.at[1]+n], data[q.at[2]:q.at[2]+n], data[q.at[3]:q.at[3]+n]
	s0, s1, s2, s3 := q.state[0], q.state[1], q.state[2], q.state[3]
	i := 0
	for ; i < len(a) && i < len(b) && i < len(c) && i < len(e); i++ {
		t0, t1, t2, t3 := at(base, s0, a[i]), at(base, s1, b[i]), at(base, s2, c[i]), at(base, s3, e[i])
		if t0&t1&t2&t3&ordinary == 0 {
			break
		}
		s0, s1, s2, s3 = t0, t1, t2, t3
	}
	q.state = [4]uint32{s0, s1, s2, s3}
	for k := range q.at {
		q.at[k] += i
	}
	return n - i
}

// special takes one step of any kind in each part. It returns false if the table was restarted, which invalidates the
// states of the other parts.
func (d *dfa) special(q *quad, data []byte) bool {
	resets := d.resets
	for k := range 4 {
		c := data[q.at[k]]
		t := d.table[q.state[k]-ordinary+uint32(c)]
		if t == unknown {
			if t = d.step(&q.state[k], c); t == stuck || d.resets != resets {
				return false
			}
		}
		if t == matched {
			q.found[k] = append(q.found[k], q.at[k])
			q.at[k], q.state[k] = min(lineEnd(data, q.at[k])+1, q.end[k]), d.line
			continue
		}
		q.at[k]++
		q.state[k] = t
	}
	return true
}

// frequency estimates how often a byte occurs in source code and text, in ten-thousandths. It was counted over Go's
// sources and Python's library; only the order matters, because it selects the byte of a literal to search for.
func frequency(c byte) int {
	if c >= 0x80 {
		return 10
	}
	return int(frequencies[c])
}

var frequencies = [128]uint16{
	0, 0, 0, 0, 0, 0, 0, 0, 0, 900, 290, 0, 0, 20, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	1500, 11, 91, 8, 5, 8, 10, 41, 116, 116, 19, 12, 242, 24, 125, 105,
	255, 121, 93, 65, 68, 41, 61, 34, 51, 36, 101, 12, 9, 83, 8, 2,
	1, 61, 30, 49, 43, 62, 34, 17, 15, 49, 2, 9, 36, 38, 35, 49,
	44, 7, 59, 71, 64, 20, 33, 12, 34, 10, 4, 25, 50, 25, 1, 87,
	7, 350, 77, 177, 156, 600, 160, 94, 91, 380, 6, 39, 191, 108, 400, 330,
	132, 8, 410, 350, 520, 151, 60, 37, 194, 66, 9, 58, 9, 58, 1, 0,
}
