package text

import (
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/charset"
)

// likeliest scores every encoding for every language in it and returns the best. A score is the mean over the bytes
// that are not ASCII: 1 if all of them are the language's most common letters, below 0 if they make no sense.
func likeliest(content []byte) Encoding {
	part := highParts(sample(content))
	best, top, western := Latin1, -10.0, -10.0
	for _, lang := range languages() {
		s := lang.score(part) + lang.bonus
		if s > top {
			best, top = lang.enc, s
		}
		if lang.enc == Windows1252 {
			western = max(western, s)
		}
	}
	switch best {
	case Windows1250, Windows1254, Windows1257, Windows1258:
		// If the bytes have the same meaning and some western language has these letters too, prefer the common
		// encoding.
		if western > top-0.3 && readsAlike(part, best, Windows1252) {
			best = Windows1252
		}
	}
	switch best {
	case Windows1252:
		// Without bytes that only windows-1252 has, both readings are the same, and with latin-1 new characters are
		// valid in both.
		if !hasC1(content) {
			return Latin1
		}
	case GBK:
		if hasFourByte(content) {
			return GB18030
		}
	}
	return best
}

// highParts removes ASCII except close to other bytes: one before and two after. A space marks a gap.
func highParts(content []byte) []byte {
	const enough = 24 << 10
	var out []byte
	keep := 0 // bytes up to here were kept
	for i, b := range content {
		if b < utf8.RuneSelf {
			continue
		}
		from := max(i-1, keep)
		if from > keep && len(out) > 0 {
			out = append(out, ' ')
		}
		to := min(i+3, len(content))
		if from < to {
			out = append(out, content[from:to]...)
			keep = to
		}
		if len(out) >= enough {
			break
		}
	}
	return out
}

// readsAlike reports whether all bytes have the same meaning in two code pages.
func readsAlike(part []byte, a, b Encoding) bool {
	one, other := charset.Load(string(a)), charset.Load(string(b))
	for i := range part {
		r, _ := one.Decode(part[i:])
		if s, _ := other.Decode(part[i:]); r != s {
			return false
		}
	}
	return true
}

func hasC1(content []byte) bool {
	for _, b := range content {
		if b >= 0x80 && b < 0xa0 {
			return true
		}
	}
	return false
}

func hasFourByte(content []byte) bool {
	c := charset.Load(charset.GB18030)
	for len(content) > 0 {
		_, n := c.Decode(content)
		if n == 4 {
			return true
		}
		content = content[n:]
	}
	return false
}

// score scores the part in the language's encoding.
func (l *language) score(part []byte) float64 {
	c, err := l.enc.codec()
	if err != nil {
		return -10
	}
	sum, high := 0.0, 0
	before := ' '
	for s := (scanner{codec: c, rest: part}); s.next(); {
		if s.r < utf8.RuneSelf {
			before = s.r
			continue
		}
		high += len(s.unit)
		w := -2.0
		if s.ok {
			w = l.weigh(before, s)
		}
		sum += w * float64(len(s.unit))
		before = s.r
	}
	if high == 0 {
		return 0
	}
	return sum / float64(high)
}

// weigh scores one character with its neighbors.
func (l *language) weigh(before rune, s scanner) float64 {
	w, known := l.letters[s.r]
	if !known {
		w = l.other(s.r, s.unit)
	}
	if len(s.unit) > 1 {
		// A single wide character between ASCII letters is more likely an accented letter and its neighbor.
		if s.unit[1] < utf8.RuneSelf && asciiLetter(before) && (len(s.rest) == 0 || s.rest[0] < utf8.RuneSelf) {
			w -= 0.6
		}
		return w
	}
	if unicode.IsLetter(s.r) {
		switch {
		case unicode.IsUpper(s.r) && unicode.IsLower(before):
			w -= 0.8 // words rarely change case inside
		case !l.latin && asciiLetter(before):
			w -= 0.5 // scripts do not mix inside a word
		case !l.latin && before < utf8.RuneSelf && (len(s.rest) == 0 || s.rest[0] < utf8.RuneSelf):
			w -= 0.5 // words of one letter are rare
		}
	}
	return w
}

func asciiLetter(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }
