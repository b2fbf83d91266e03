package charset

import (
	"bufio"
	"compress/flate"
	"embed"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"sort"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// tables has the labels, and a file per encoding: for each code, up to the last that has a character, a varint: 0 if
// the code has no character, else the difference to the character before it, plus 1. The files are compressed, and made
// by 'go test ./internal/engine/charset -update'.
//
//go:embed tables
var tables embed.FS

const extension = ".bin"

// load reads a table, or returns nil without one.
func load(name string) *Charset {
	c := &Charset{form: forms[name]}
	file := name
	if name == GB18030 { // GBK, and characters of four bytes
		file = GBK
	}
	f, err := tables.Open("tables/" + file + extension)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		panic(err)
	}
	c.chars = make([]rune, 0x100)
	if c.lead != "" {
		c.chars = make([]rune, 0x10000)
	}
	in := bufio.NewReader(flate.NewReader(f))
	last := rune(0)
	for code := range c.chars {
		d, err := binary.ReadUvarint(in)
		if err != nil {
			break
		}
		if d--; d != math.MaxUint64 {
			last += rune(d>>1) ^ -rune(d&1)
			c.chars[code] = last
			c.invert(uint16(code), last)
		}
	}
	if name == GB18030 {
		c.codes['€'>>8]['€'&0xff] = 0xa2e3 // GBK writes 0x80
		c.makeFour()
	}
	return c
}

// invert notes the code that a character is written with.
func (c *Charset) invert(code uint16, r rune) {
	if r > unicode.MaxRune || c.lead != "" && r < 0xa0 { // 0x80 in Shift JIS is read, but not written
		return
	}
	page := &c.codes[r>>8]
	if *page == nil {
		*page = new([256]uint16)
	}
	// Codes below 0x8000 are JIS X 0212, which comes after JIS X 0208.
	if have := (*page)[byte(r)]; have == 0 || c.last || code >= 0x8000 && have > 0xff && have < 0x8000 {
		(*page)[byte(r)] = code
	}
}

// span is where characters of the basic plane that follow each other begin, and their number among those that GB18030
// writes with four bytes: the ones without a code of two.
type span struct{ char, number rune }

// Numbers of characters of four bytes.
const (
	basicChars = 39420  // of the basic plane
	otherChars = 189000 // the first of the others
)

// private has the first and last characters of ranges. From U+E000 to U+E864, the others have two bytes, and aren't
// here.
var private = []rune("\ue76c\ue76c\ue7c8\ue7c8\ue7e7\ue7f3\ue815\ue815\ue819\ue81d\ue81f\ue825" +
	"\ue827\ue82a\ue82d\ue830\ue833\ue83a\ue83c\ue842\ue844\ue853\ue856\ue863")

func (c *Charset) makeFour() {
	number, gap := rune(0), true
	for r := rune(utf8.RuneSelf); r < 0x10000; r++ {
		left := r >= 0xe000 && r <= 0xe864
		for i := 0; i < len(private) && left; i += 2 {
			left = r < private[i] || r > private[i+1]
		}
		if left || c.code(r) != 0 || utf16.IsSurrogate(r) {
			gap = true
			continue
		}
		if gap {
			c.four = append(c.four, span{r, number})
			gap = false
		}
		number++
	}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func (c *Charset) decodeFour(b []byte) (rune, int) {
	if len(b) < 4 || !within(c.lead, b[2]) || !digit(b[3]) {
		return utf8.RuneError, 1
	}
	n := ((rune(b[0]-0x81)*10+rune(b[1]-'0'))*126+rune(b[2]-0x81))*10 + rune(b[3]-'0')
	switch other := n - otherChars + 0x10000; {
	case n < basicChars:
		s := c.four[sort.Search(len(c.four), func(i int) bool { return c.four[i].number > n })-1]
		return s.char + n - s.number, 4
	case other >= 0x10000 && other <= unicode.MaxRune:
		return other, 4
	}
	return utf8.RuneError, 1
}

func (c *Charset) appendFour(dst []byte, r rune) ([]byte, bool) {
	n := r - 0x10000 + otherChars
	if r < 0x10000 {
		s := c.four[sort.Search(len(c.four), func(i int) bool { return c.four[i].char > r })-1]
		n = r - s.char + s.number
	}
	out := append(dst, byte(0x81+n/12600), byte('0'+n/1260%10), byte(0x81+n/10%126), byte('0'+n%10))
	if back, _ := c.decodeFour(out[len(dst):]); back != r { // after the end of a span
		return dst, false
	}
	return out, true
}
