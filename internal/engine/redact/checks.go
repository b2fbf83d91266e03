package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"slices"
	"strings"
)

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// boundary reports whether a token can begin at i: not in the middle of a word. The end of an escape (\n, \u003d, %3D,
// a color) is no part of a word.
func boundary(b []byte, i int) bool {
	if i == 0 || !isAlnum(b[i-1]) {
		return true
	}
	before := func(n int) byte {
		if i < n {
			return 0
		}
		return b[i-n]
	}
	switch {
	case before(2) == '\\' && strings.IndexByte("nrtbfv0", b[i-1]) >= 0,
		before(3) == '%' && isHex(before(2)) && isHex(b[i-1]),
		before(4) == '\\' && before(3) == 'x' && isHex(before(2)) && isHex(b[i-1]),
		before(6) == '\\' && before(5) == 'u' && isHex(before(2)) && isHex(b[i-1]):
		return true
	}
	if b[i-1] == 'm' {
		at := i - 1
		for at > 0 && (b[at-1] == ';' || b[at-1] >= '0' && b[at-1] <= '9') && i-at < 16 {
			at--
		}
		return at > 0 && b[at-1] == '['
	}
	return false
}

// examples are words of texts that only look like secrets.
var examples = []string{"example", "your", "xxxx", "replace", "insert", "dummy", "redacted", "changeme", "placeholder"}

// shape is what a text is made of.
type shape struct {
	upper, lower, digit, other bool

	distinct int
	changes  int // between capital letters, small letters and digits
}

func shapeOf(b []byte) (s shape) {
	var seen [256]bool
	var last byte
	for _, c := range b {
		if !seen[c] {
			seen[c] = true
			s.distinct++
		}
		kind := last
		switch {
		case c >= 'A' && c <= 'Z':
			s.upper, kind = true, 'A'
		case c >= 'a' && c <= 'z':
			s.lower, kind = true, 'a'
		case c >= '0' && c <= '9':
			s.digit, kind = true, '0'
		default:
			s.other = true
		}
		if last != 0 && kind != last {
			s.changes++
		}
		last = kind
	}
	return s
}

// kinds returns how many of capital letters, small letters and digits there are.
func (s shape) kinds() (n int) {
	for _, has := range []bool{s.upper, s.lower, s.digit} {
		if has {
			n++
		}
	}
	return n
}

// random reports whether a text looks like chance: it has enough different characters, is neither a name nor a word,
// and has no sequence such as 12345 or xxxxx.
func random(b []byte) bool {
	s := shapeOf(b)
	if s.distinct < min(6+len(b)/8, 12) || sequence(b) || isExample(b) {
		return false
	}
	switch {
	case s.upper && !s.lower: // as in base 32
		return s.digit || len(b) < 32
	case s.digit && s.changes*6 >= len(b):
		return true
	}
	return s.upper && s.lower && s.changes*5 >= len(b)*2
}

// mixed reports whether a text looks like chance, and has all kinds of characters.
func mixed(b []byte) bool {
	s := shapeOf(b)
	return s.upper && s.lower && s.digit && s.changes*5 >= len(b)*2 && random(b)
}

// longestPart returns the longest part of a text between separators.
func longestPart(b []byte, separator byte) []byte {
	parts := bytes.Split(b, []byte{separator})
	return slices.MaxFunc(parts, func(x, y []byte) int { return len(x) - len(y) })
}

func isExample(b []byte) bool {
	lower := bytes.ToLower(b)
	return slices.ContainsFunc(examples, func(w string) bool { return bytes.Contains(lower, []byte(w)) })
}

// sequence reports whether five characters in a row are the same, or each is the next one.
func sequence(b []byte) bool {
	var repeated [2]int // how often a step of 0 or of 1 was repeated
	for i := 1; i < len(b); i++ {
		for step := range repeated {
			if repeated[step]++; b[i] != b[i-1]+byte(step) {
				repeated[step] = 0
			}
		}
		if max(repeated[0], repeated[1]) == 4 {
			return true
		}
	}
	return false
}

// checksum reports whether the last six characters are the CRC-32 of the others in base 62, as in tokens of GitHub and
// npm.
func checksum(body []byte) bool {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := len(body) - 6
	if n <= 0 {
		return false
	}
	sum := crc32.ChecksumIEEE(body[:n])
	for i := len(body) - 1; i >= n; i-- {
		if body[i] != digits[sum%62] {
			return false
		}
		sum /= 62
	}
	return true
}

// jwt returns the length of the JSON Web Token that b begins with; 0: none. Its header says how it is signed or
// encrypted.
func jwt(b []byte) int {
	parts := bytes.SplitN(b, []byte{'.'}, 6)
	if len(parts) < 3 {
		return 0
	}
	text, err := base64.RawURLEncoding.DecodeString(string(parts[0]))
	var header struct {
		Alg string `json:"alg"`
		Enc string `json:"enc"`
	}
	if err != nil || json.Unmarshal(text, &header) != nil || header.Alg == "" {
		return 0
	}
	n := 3
	if header.Enc != "" {
		n = 5
	} else if len(parts[2]) < 20 {
		return 0
	}
	if len(parts) < n {
		return 0
	}
	return len(bytes.Join(parts[:n], []byte{'.'}))
}
