package charset

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

var update = flag.Bool("update", false, "rewrite the tables")

// library returns the encoding of x/text with a name.
func library(t testing.TB, name string) encoding.Encoding {
	t.Helper()
	if name == Latin1 {
		return charmap.ISO8859_1
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func names() []string {
	var all []string
	for line := range strings.Lines(labels() + Latin1) {
		all = append(all, strings.Fields(line)[0])
	}
	return all
}

// withTables has the names of the encodings with a file.
func withTables() []string {
	return slices.DeleteFunc(names(), func(name string) bool {
		return slices.Contains([]string{"utf-8", UTF16BE, UTF16LE, ISO2022JP, "replacement", GB18030}, name)
	})
}

// bytesOf returns the bytes of a code, or nil if codes of an encoding can't have this form.
func bytesOf(name string, code int) []byte {
	hi, lo := byte(code>>8), byte(code)
	switch {
	case code < 0x80:
		return nil
	case code <= 0xff:
		return []byte{lo}
	case forms[name].lead == "":
		return nil
	case code >= 0x8000:
		return []byte{hi, lo}
	case forms[name].three && hi >= 0x21 && lo >= 0x80:
		return []byte{0x8f, hi | 0x80, lo}
	}
	return nil
}

// tableOf makes the content of a file from x/text.
func tableOf(t *testing.T, name string) []byte {
	lib := library(t, name)
	var out []byte
	last, end := rune(0), 0
	for code := range 0x10000 {
		char := rune(0)
		if b := bytesOf(name, code); b != nil {
			text, err := lib.NewDecoder().Bytes(b)
			if err != nil {
				t.Fatal(err)
			}
			switch runes := []rune(string(text)); {
			case slices.Contains(runes, utf8.RuneError):
			case len(runes) == 1:
				char = runes[0]
			case len(runes) == 2 && runes[0] >= utf8.RuneSelf && runes[1] >= utf8.RuneSelf && name == Big5:
				char = runes[1]<<16 | runes[0]
			}
		}
		if char == 0 {
			out = binary.AppendUvarint(out, 0)
			continue
		}
		d := int64(char - last)
		out = binary.AppendUvarint(out, uint64(d<<1^d>>63)+1)
		last, end = char, len(out)
	}
	return out[:end]
}

// The tables in the program are those of x/text.
func TestTables(t *testing.T) {
	var want []string
	for _, name := range withTables() {
		t.Run(name, func(t *testing.T) {
			raw := tableOf(t, name)
			path := filepath.Join("tables", name+extension)
			want = append(want, path)
			if *update {
				var packed bytes.Buffer
				w, err := flate.NewWriter(&packed, flate.BestCompression)
				if err != nil {
					t.Fatal(err)
				}
				w.Write(raw)
				w.Close()
				if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			packed, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if _, err := got.ReadFrom(flate.NewReader(bytes.NewReader(packed))); err != nil || !bytes.Equal(got.Bytes(), raw) {
				t.Errorf("%s isn't what x/text has, run this test with -update: %v", path, err)
			}
		})
	}
	have, err := filepath.Glob("tables/*" + extension)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("files %v, want %v", have, want)
	}
}

func TestLabels(t *testing.T) {
	n := 0
	for line := range strings.Lines(labels()) {
		for _, label := range strings.Fields(line) {
			n++
			e, err := htmlindex.Get(label)
			if err != nil {
				t.Fatal(err)
			}
			want, err := htmlindex.Name(e)
			if err != nil {
				t.Fatal(err)
			}
			if got := Name(" " + strings.ToUpper(label) + "\n"); got != want {
				t.Errorf("%s is %s, want %s", label, got, want)
			}
		}
	}
	if n != 228 {
		t.Errorf("%d labels, the standard has 228", n)
	}
	for _, unknown := range []string{"", "none", "utf-8 utf8", "utf-7"} {
		if got := Name(unknown); got != "" {
			t.Errorf("%q is %s", unknown, got)
		}
	}
	for _, name := range []string{"utf-8", "replacement", "none", ""} {
		if _, ok := Text(name, []byte("x"), 10); ok || Load(name) != nil {
			t.Errorf("%q has a table", name)
		}
	}
}

func libraryText(t testing.TB, lib encoding.Encoding, b []byte) string {
	t.Helper()
	s, err := lib.NewDecoder().Bytes(b)
	if err != nil {
		t.Fatalf("% x: %v", b, err)
	}
	return string(s)
}

// knownDifference tells of bytes which x/text reads against the standard: in GB18030 a second byte from 0x3A to 0x3F,
// a last, incomplete 0x8F 0xFE in EUC-JP, which is two errors there, and in ISO-2022-JP second bytes of no character,
// with which it reads one of another row. In UTF-16, two second halves of characters are one error there.
func knownDifference(name string, b []byte) bool {
	if name == ISO2022JP {
		return !aligned(b)
	}
	half := map[string]int{UTF16BE: 0, UTF16LE: 1}
	for i := range b {
		at, wide := half[name]
		switch {
		case wide && i%2 == 0 && i+3 < len(b) && b[i+at]&0xfc == 0xdc && b[i+2+at]&0xfc == 0xdc:
			return true
		case name == GB18030 && i > 0 && b[i-1] > 0x80 && b[i] >= 0x3a && b[i] <= 0x3f,
			name == EUCJP && i > 0 && i == len(b)-1 && b[i-1] == 0x8f && b[i] == 0xfe:
			return true
		}
	}
	return false
}

func same(t testing.TB, name string, lib encoding.Encoding, b []byte) {
	if knownDifference(name, b) {
		return
	}
	want := libraryText(t, lib, b)
	if got, ok := Text(name, b, 1<<20); !ok || string(got) != want {
		t.Fatalf("%s: % x reads %q, want %q", name, b, got, want)
	}
}

// Every sequence of one and two bytes reads as in x/text, alone and before other bytes; so does every sequence of three
// with 0x8F in EUC-JP, and each one of four that is a character in GB18030.
func TestEverySequence(t *testing.T) {
	for _, name := range names() {
		if name == "utf-8" || name == "replacement" || name == ISO2022JP {
			continue
		}
		lib := library(t, name)
		for a := range 256 {
			same(t, name, lib, []byte{byte(a)})
			if forms[name].lead == "" && name != UTF16BE && name != UTF16LE {
				continue
			}
			for b := range 256 {
				same(t, name, lib, []byte{byte(a), byte(b)})
				same(t, name, lib, []byte{byte(a), byte(b), 'x', 'y', 'z'})
				same(t, name, lib, []byte{byte(a), byte(b), 0xdc, 0xb1, 'z'})
			}
		}
	}
	lib := library(t, EUCJP)
	for a := range 256 {
		for b := range 256 {
			same(t, EUCJP, lib, []byte{0x8f, byte(a), byte(b)})
		}
	}
	lib = library(t, GB18030)
	var all []byte
	for a := 0x81; a <= 0xfe; a++ {
		for n := range 12600 {
			all = append(all, byte(a), byte('0'+n/1260), byte(0x81+n/10%126), byte('0'+n%10))
		}
	}
	if got, _ := Text(GB18030, all, 1<<30); string(got) != libraryText(t, lib, all) {
		t.Error("characters of four bytes differ")
	}
}

// Random bytes, mostly of the ranges that characters have, read as in x/text.
func TestGarbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	likely := []byte("az09\x30\x39\x40\x5c\x7e\x7f\x80\x81\x84\x8e\x8f\x9f\xa0\xa1\xb0\xc7\xd8\xdc\xdf\xe0\xe3\xfc\xfd\xfe\xff\n")
	for _, name := range names() {
		if name == "utf-8" || name == "replacement" || name == ISO2022JP {
			continue
		}
		lib := library(t, name)
		for range 5_000 {
			b := make([]byte, 1+random.IntN(12))
			for i := range b {
				if b[i] = byte(random.IntN(256)); random.IntN(2) == 0 {
					b[i] = likely[random.IntN(len(likely))]
				}
			}
			same(t, name, lib, b)
		}
	}
}

// Every character is written as in x/text, and reads as it was; what x/text can't write isn't written either.
func TestEveryCharacter(t *testing.T) {
	for _, name := range names() {
		c := Load(name)
		if c == nil || name == ISO2022JP {
			continue
		}
		lib := library(t, name)
		enc := lib.NewEncoder()
		for r := rune(-1); r <= utf8.MaxRune+1; r++ {
			if r > 0x2ffff || r > 0xffff && name != Big5 {
				r += 97 // planes without characters, or with all of them, in samples
			}
			want, err := enc.Bytes([]byte(string(r)))
			// GB18030: x/text writes the bytes of other characters for some of a private area.
			writes := err == nil && libraryText(t, lib, want) == string(r) && r != utf8.RuneError && utf8.ValidRune(r)
			got, ok := c.Append([]byte("x"), r)
			if ok != writes || ok && string(got) != "x"+string(want) || !ok && string(got) != "x" {
				t.Fatalf("%s: %U is % x %v, want % x %v", name, r, got[1:], ok, want, writes)
			}
			if !ok {
				continue
			}
			if back, n := c.Decode(got[1:]); back != r || n != len(got)-1 {
				t.Fatalf("%s: %U is % x, which reads %U", name, r, got[1:], back)
			}
		}
	}
}

// Escape sequences, complete and incomplete, and all characters of all sets.
func TestISO2022JP(t *testing.T) {
	lib := library(t, ISO2022JP)
	random := rand.New(rand.NewPCG(3, 4))
	sets := []string{"\x1b$@", "\x1b$B", "\x1b$(D", "\x1b(B", "\x1b(J", "\x1b(I", "\x1b$", "\x1b", "\x1b(X", "\x1b$(X", "\n", "\xe3"}
	for _, set := range []string{"", "\x1b$B", "\x1b$(D", "\x1b(I"} {
		for a := 1; a < 0x7f; a++ {
			same(t, ISO2022JP, lib, append([]byte(set), byte(a)))
			for b := 0x21; b < 0x7f; b++ {
				same(t, ISO2022JP, lib, append([]byte(set), byte(a), byte(b), '!', '!', '\n', 'x'))
			}
		}
	}
	for range 20_000 {
		var b []byte
		for range 1 + random.IntN(8) {
			if random.IntN(3) == 0 {
				b = append(b, sets[random.IntN(len(sets))]...)
			} else {
				b = append(b, byte(0x21+random.IntN(0x5e)), byte(0x21+random.IntN(0x5e)))
			}
		}
		same(t, ISO2022JP, lib, b)
	}
	if got, _ := Text(ISO2022JP, []byte("\x1b$B!\xa1!\x05\x1b(Bx"), 100); string(got) != "\ufffd\ufffdx" {
		t.Errorf("second bytes of no character read %q", got)
	}
}

// aligned tells whether no escape sequence, line end or invalid byte is the second byte of a character.
func aligned(b []byte) bool {
	d := &iso2022{jp: Load(EUCJP)}
	for len(b) > 0 {
		_, n := d.decode(b)
		if n == 2 && (b[1] < 0x21 || b[1] > 0x7e) {
			return false
		}
		b = b[n:]
	}
	return true
}

// The text is cut after a whole character.
func TestLimit(t *testing.T) {
	gbk, _ := library(t, GBK).NewEncoder().Bytes([]byte("中文text"))
	for limit, want := range []string{"", "", "", "中", "中", "中", "中文", "中文t"} {
		if got, ok := Text(GBK, gbk, limit); !ok || string(got) != want {
			t.Errorf("%d bytes: %q, want %q", limit, got, want)
		}
	}
}
