package text

import (
	"errors"
	"testing"
)

// encodeAll writes text in an encoding, for tests.
func encodeAll(t testing.TB, enc Encoding, s string) []byte {
	t.Helper()
	c, err := enc.codec()
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, r := range s {
		var ok bool
		if out, ok = c.encode(out, r); !ok {
			t.Fatalf("%s cannot hold %q", enc, r)
		}
	}
	return out
}

func TestDetectCorpus(t *testing.T) {
	wrong := 0
	for _, c := range corpus {
		got, err := Detect(encodeAll(t, c.enc, c.text))
		if err != nil || got != c.enc {
			wrong++
			t.Logf("%s is taken for %s (%v): %s", c.enc, got, err, c.text)
		}
	}
	t.Logf("%d of %d guessed right", len(corpus)-wrong, len(corpus))
	if wrong > 0 {
		t.Errorf("%d wrong guesses", wrong)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          Encoding
		err           error
	}{
		{"empty", "", UTF8, nil},
		{"ascii", "hello\n", UTF8, nil},
		{"utf-8", "héllo 世界", UTF8, nil},
		{"utf-8 mark", "\xef\xbb\xbfhello", UTF8, nil},
		{"utf-8 with a broken byte", "héllo wörld, ça va \xff bien", UTF8, nil},
		{"escapes", "\x1b[31mred\x1b[0m plain\n", UTF8, nil},
		{"utf-16le mark", "\xff\xfeh\x00i\x00", UTF16LE, nil},
		{"utf-16be mark", "\xfe\xff\x00h\x00i", UTF16BE, nil},
		{"utf-16le", "h\x00e\x00l\x00l\x00o\x00\n\x00", UTF16LE, nil},
		{"utf-16be", "\x00h\x00e\x00l\x00l\x00o\x00\n", UTF16BE, nil},
		{"utf-16le of ideographs", string(encodeAll(t, UTF16LE, "第一行是标题，一二三四五\n第二行是正文\n")), UTF16LE, nil},
		{"utf-16be of ideographs", string(encodeAll(t, UTF16BE, "第一行是标题，一二三四五\n第二行是正文\n")), UTF16BE, nil},
		{"numbers of 16 bits", "\x01\x00\x02\x00\x03\x00\x40\x00\x50\x00\x61\x00", "", ErrBinary},
		{"utf-32", "\xff\xfe\x00\x00h\x00\x00\x00", "", ErrBinary},
		{"nul", "hel\x00lo wor\x00\x00ld", "", ErrBinary},
		{"elf", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "", ErrBinary},
		{"png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "", ErrBinary},
		{"controls", "\x01\x02\x03\x04abc", "", ErrBinary},
	} {
		got, err := Detect([]byte(c.content))
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}
