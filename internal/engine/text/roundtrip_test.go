package text

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/serial"
)

var encodings = []Encoding{
	UTF8, UTF16LE, UTF16BE, GBK, GB18030, Big5, ShiftJIS, EUCJP, EUCKR, Windows1250, Windows1251, Windows1252,
	Windows1253, Windows1254, Windows1255, Windows1256, Windows1257, Windows1258, Latin1,
}

// Decoding and writing back changes nothing, and each character that an
// encoding decodes it encodes to something that decodes to the same.
func TestEveryEncodingRoundTrips(t *testing.T) {
	serial.Test(t)
	for _, enc := range encodings {
		c, err := enc.codec()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r := rune(1); r <= utf8.MaxRune; r++ {
			b, ok := c.encode(nil, r)
			if !ok {
				continue
			}
			n++
			back, size, ok := c.decode(b)
			if !ok || back != r || size != len(b) {
				t.Errorf("%s: %q is written as % x, which reads as %q", enc, r, b, back)
			}
			if r > 0x2ffff {
				r += 4999 // planes without characters, in samples
			}
		}
		if n < 200 {
			t.Errorf("%s writes only %d characters", enc, n)
		}
	}
}

// anyDocument is bytes as they may be on disk: lines in one of the encodings,
// mixed line endings, stray bytes.
func anyDocument(t *rapid.T) *Document {
	enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
	c, err := enc.codec()
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	if mark := enc.mark(); mark != nil && rapid.Bool().Draw(t, "mark") {
		raw = append(raw, mark...)
	}
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "word", " ", "\t", "\n", "\r\n", "\n", "\r\n", "\r", "é", "中", "日本", "ひ", "한", "ж", "λ", "€", "ß", "\x00BYTES",
	}), 0, 40).Draw(t, "pieces")
	for _, p := range pieces {
		if p == "\x00BYTES" {
			raw = append(raw, rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")...)
			continue
		}
		for _, r := range p {
			raw, _ = c.encode(raw, r)
		}
	}
	d, err := DecodeAs(raw, enc)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// border moves an offset of shown text to the start of a character.
func border(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// rawAt finds the body's offset for an offset of shown text, slowly.
func rawAt(t *rapid.T, d *Document, shown int) int {
	raw, text := 0, 0
	for s := (scanner{codec: d.codec, rest: d.body(), join: true}); text < shown && s.next(); {
		raw += len(s.unit)
		text += utf8.RuneLen(s.r)
	}
	if text != shown {
		t.Fatalf("offset %d is inside a character", shown)
	}
	return raw
}

// Every byte outside an edit is unchanged; the text inside is as requested.
func TestEditKeepsOtherBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDocument(t)
		a := border(d.Text, rapid.IntRange(0, len(d.Text)).Draw(t, "from"))
		b := border(d.Text, rapid.IntRange(a, len(d.Text)).Draw(t, "to"))
		if b < a {
			b = a
		}
		text := rapid.SampledFrom([]string{"", "x", "new\nlines\n", "\r\n", "é", "中文", "\n", "word"}).Draw(t, "new")
		next, err := d.Replace(Edit{Start: a, End: b, New: text})
		if err != nil {
			var cannot *UnencodableError
			if !errors.As(err, &cannot) && !strings.Contains(err.Error(), "next to bytes") {
				t.Fatal(err)
			}
			return
		}
		from, to := rawAt(t, d, a), rawAt(t, d, b)
		head, tail := d.body()[:from], d.body()[to:]
		if d.BOM != next.BOM || !bytes.HasPrefix(next.body(), head) || !bytes.HasSuffix(next.body(), tail) || len(next.body()) < len(head)+len(tail) {
			t.Fatalf("outside %d..%d changed:\n% x\n% x", from, to, d.Bytes(), next.Bytes())
		}
		if want := d.Text[:a] + text + d.Text[b:]; !sameLines(next.Text, want) {
			t.Fatalf("reads %q, want %q", next.Text, want)
		}
	})
}

// Rewriting with the shown text changes no byte.
func TestRewriteWithSameText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDocument(t)
		if strings.Contains(d.Text, "\r\n") { // \r and \r\n: an extra \r
			return
		}
		next, err := d.Rewrite(d.Text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(next.Bytes(), d.Bytes()) {
			t.Fatalf("% x became % x", d.Bytes(), next.Bytes())
		}
	})
}

// Rewriting gives the text that was asked for, and the same mark and encoding.
func TestRewriteReadsAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDocument(t)
		lines := strings.SplitAfter(d.Text, "\n")
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		lines[at] = rapid.SampledFrom([]string{"", "one\n", "one\ntwo\n", "é\n", "x"}).Draw(t, "new")
		want := strings.Join(lines, "")
		next, err := d.Rewrite(want)
		if err != nil {
			return
		}
		if !sameLines(next.Text, want) || next.BOM != d.BOM || next.Encoding != d.Encoding {
			t.Fatalf("%q became %q, want %q", d.Text, next.Text, want)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, c := range corpus {
		f.Add(encodeAll(f, c.enc, c.text), uint16(1), uint16(3), "x\n")
	}
	f.Add([]byte("a\r\nb\nc\rd"), uint16(1), uint16(3), "\r\n")
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00b"), uint16(0), uint16(2), "中")
	f.Fuzz(func(t *testing.T, raw []byte, from, to uint16, text string) {
		d, err := Decode(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(d.Bytes(), raw) {
			t.Fatal("decoding changed the bytes")
		}
		if !utf8.ValidString(d.Text) {
			t.Fatal("the shown text is not UTF-8")
		}
		a := border(d.Text, int(from)%(len(d.Text)+1))
		b := max(a, border(d.Text, int(to)%(len(d.Text)+1)))
		next, err := d.Replace(Edit{Start: a, End: b, New: text})
		if err != nil {
			return
		}
		// The text around the edit is found again around the new bytes.
		same, err := d.Replace(Edit{Start: a, End: b, New: d.Text[a:b]})
		if err != nil || !bytes.Equal(same.Bytes(), raw) {
			t.Fatalf("replacing %q by itself: % x became % x (%v)", d.Text[a:b], raw, same.Bytes(), err)
		}
		if want := d.Text[:a] + text + d.Text[b:]; utf8.ValidString(text) && !sameLines(next.Text, want) {
			t.Fatalf("reads %q, want %q", next.Text, want)
		}
	})
}
