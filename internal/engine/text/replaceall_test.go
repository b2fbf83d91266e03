package text

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/serial"
)

// libraryEncoding returns the x/text encoding behind one of this package.
func libraryEncoding(t testing.TB, enc Encoding) encoding.Encoding {
	switch enc {
	case UTF8:
		return encoding.Nop
	case Latin1:
		return charmap.ISO8859_1
	}
	lib, err := htmlindex.Get(string(enc))
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// encodable keeps the pieces that an encoding can hold.
func encodable(enc encoding.Encoding, pieces []string) []string {
	var out []string
	for _, p := range pieces {
		if _, err := enc.NewEncoder().String(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Replacing every occurrence gives the bytes that decoding, strings.ReplaceAll and encoding give. A replacement with
// line endings is only compared where all lines end alike.
func TestReplaceAllIsTheObvious(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		enc := rapid.SampledFrom(encodings).Draw(r, "encoding")
		lib := libraryEncoding(t, enc)
		end := rapid.SampledFrom([]string{"\n", "\r\n", "mixed"}).Draw(r, "line end")
		words := encodable(lib, []string{"a", "ab", "aba", "word", " ", "\t", "é", "中", "日本", "ひ", "한", "ж", "λ", "€", "ß"})
		lineEnds, oldLines, newLines := []string{"\n"}, []string{"\n", "a\n", "\nab"}, []string{"\n", "x\ny", "\n\n"}
		if end == "mixed" {
			lineEnds, oldLines, newLines = []string{"\n", "\r\n", "\r"}, nil, nil
		}
		pieces := rapid.SliceOfN(rapid.SampledFrom(append(lineEnds, words...)), 0, 30).Draw(r, "pieces")
		content := strings.Repeat(strings.Join(pieces, ""), rapid.SampledFrom([]int{1, 2, 50, 500}).Draw(r, "times"))
		if end == "\r\n" && strings.Contains(content, "\n") {
			content = strings.ReplaceAll(content, "\n", "\r\n")
		} else if !strings.Contains(content, "\n") {
			end = "\n"
		}
		old := rapid.SampledFrom(append(oldLines, words...)).Draw(r, "old")
		new := rapid.SampledFrom(append(append(newLines, ""), words...)).Draw(r, "new")

		want := strings.ReplaceAll(content, old, new)
		if end == "\r\n" {
			want = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), old, new), "\n", "\r\n")
		}
		d := mustDecode(t, lib, enc, content)
		next, err := d.Replace(everyPlace(d.Text, old, new)...)
		if err != nil {
			r.Fatal(err)
		}
		if got := mustDecode(t, lib, enc, want).Bytes(); !bytes.Equal(next.Bytes(), got) {
			r.Fatalf("%s, %q: %q for %q gives\n%q, want\n%q", enc, content, new, old, next.Bytes(), got)
		}
	})
}

// mustDecode writes content with the library, behind a byte order mark where that is usual, and reads it.
func mustDecode(t testing.TB, lib encoding.Encoding, enc Encoding, content string) *Document {
	raw, err := lib.NewEncoder().Bytes([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if enc.unit() == 2 {
		raw = append(enc.mark(), raw...)
	}
	d, err := DecodeAs(raw, enc)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// LineEnds is quick; this is what it means.
func TestLineEndsCountsUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDocument(t)
		var want LineEnds
		for s := (scanner{codec: d.codec, rest: d.body(), join: true}); s.next(); {
			want.Last = s.r == '\n'
			switch {
			case s.r == '\r':
				want.CR++
			case s.r == '\n' && len(s.unit) > d.Encoding.unit():
				want.CRLF++
			case s.r == '\n':
				want.LF++
			}
		}
		if got := d.LineEnds(); got != want {
			t.Fatalf("%s, % x: %+v, want %+v", d.Encoding, d.Bytes(), got, want)
		}
	})
}

// countingCodec counts the characters that are decoded.
type countingCodec struct {
	codec
	decoded *int
}

func (c countingCodec) decode(b []byte) (rune, int, bool) {
	*c.decoded++
	return c.codec.decode(b)
}

// Four times the places are about four times the work. A replacement with a new line looked for the end of its line
// each time: 4,000 commas in one long line took 20 seconds, four times as many would take four minutes.
func TestReplaceAllDecodesInOnePass(t *testing.T) {
	serial.Test(t)
	const few, factor = 200, 4
	decoded := func(n int, new string) map[string]int {
		out := map[string]int{}
		for name, d := range manyPlaces(t, n) {
			steps := 0
			d.codec = countingCodec{d.codec, &steps}
			if _, err := d.Replace(everyPlace(d.Text, "old", new)...); err != nil {
				t.Fatal(err)
			}
			out[name] = steps
		}
		return out
	}
	for _, new := range []string{"new", "new\nline", "", "\n\n"} {
		small, large := decoded(few, new), decoded(factor*few, new)
		for name, n := range small {
			if large[name] > (factor+1)*n+1000 {
				t.Errorf("%s, %q: %d characters decoded for %d places, %d for %d", name, new, n, few, large[name], factor*few)
			}
		}
	}
}

// Lines that end in \n were searched for a \r\n to the end of the text at each place: 40,000 took 5 seconds, these would
// take minutes. The bound is no goal; all of this takes less than a second.
func TestReplaceAllSearchesInOnePass(t *testing.T) {
	serial.Test(t)
	line := "some words, the old one," + strings.Repeat(" and some more", 20) + "\n"
	d, err := Decode(bytes.Repeat([]byte(line), 100_000))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		next, err := d.Replace(everyPlace(d.Text, "old", "new")...)
		if err == nil && next.Text != strings.ReplaceAll(d.Text, "old", "new") {
			t.Error("the text is another")
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a minute for 100,000 places: the text is searched again at each")
	}
}

// An offset of the text becomes one of the body, whatever is around it.
func TestRawLen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringMatching(`[\r\nab]{0,20}`).Draw(t, "body")
		shown := joinLines(body)
		n := rapid.IntRange(0, len(shown)).Draw(t, "n")
		raw := rawLen([]byte(body), n)
		if before, after := joinLines(body[:raw]), joinLines(body[raw:]); before != shown[:n] || after != shown[n:] {
			t.Fatalf("%q at %d: %q and %q, want %q and %q", body, n, before, after, shown[:n], shown[n:])
		}
	})
}

// A \r that a change moves before a \n ends the line with it, whatever other \r there are.
func TestReplaceJoinsLineEnd(t *testing.T) {
	for _, content := range []string{"\rx\n", "\r\rx\n", "\r\r\n\rx\n"} {
		d := mustDecode(t, libraryEncoding(t, UTF8), UTF8, content)
		next, err := d.Replace(everyPlace(d.Text, "x", "")...)
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		if got, want := string(next.Bytes()), strings.ReplaceAll(content, "x", ""); got != want {
			t.Errorf("%q became %q, want %q", content, got, want)
		}
	}
}
