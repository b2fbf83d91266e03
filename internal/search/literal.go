package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literals are texts of which every match contains at least one. An empty set says nothing is known.
type literals struct {
	texts []string // lower case when fold is set
	fold  bool     // any case of ASCII letters counts
	whole bool     // containing one of them is not only needed but enough
}

const (
	maxTexts = 16
	maxText  = 48
	maxClass = 8   // characters of a class that are worth being written out
	maxCost  = 150 // literals that occur more often are not worth looking for: every third line would hold one
)

// piece is what is known of the texts that a part of an expression matches.
type piece struct {
	exact []string // all of them, when they are few; nil when not
	need  []string // every text holds one of these; nil when nothing is known
	fold  bool     // some letter may be of any case
	cased bool     // some letter may not
	plain bool     // exact says all: no assertion narrows it
}

// required finds the best literals of an expression. With crlf a carriage return found may be the end of a line and not
// part of it, so that finding it is not enough.
func required(re *syntax.Regexp, crlf bool) literals {
	p := analyse(re)
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

// leading finds literals with one of which every match begins, for matches that cross lines.
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
		p := analyse(sub)
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

// analyse looks at one part of an expression. A case-blind literal makes the whole case-blind, which only finds more.
func analyse(re *syntax.Regexp) piece {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return piece{exact: []string{""}, plain: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return piece{exact: []string{""}}
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCharClass:
		return ofClass(re)
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	case syntax.OpQuest:
		return ofAlternate([]*syntax.Regexp{{Op: syntax.OpEmptyMatch}, re.Sub[0]})
	case syntax.OpPlus:
		return repeated(analyse(re.Sub[0]))
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
		return repeated(analyse(re.Sub[0]))
	}
	return piece{}
}

// repeated is what is known when a part occurs once or more.
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
	run := []string{""} // what the parts since the last unknown one can be
	for _, sub := range subs {
		p := analyse(sub)
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

// cross joins each of one set with each of another, unless that makes too many or too long texts.
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
		p := analyse(sub)
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

// better tells whether a set of literals is a better thing to look for than another.
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
