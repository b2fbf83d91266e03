package text

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/serial"
)

func read(t testing.TB, raw string, w Window) Excerpt {
	t.Helper()
	e, err := ReadLines(context.Background(), strings.NewReader(raw), int64(len(raw)), w)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestReadLines(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		w         Window
		want      Excerpt
	}{
		{"empty", "", Window{}, Excerpt{First: 1, Last: 0, Encoding: UTF8}},
		{"all", "a\nb\n", Window{}, Excerpt{Text: "a\nb\n", LF: 2, First: 1, Last: 2, Total: 2, Encoding: UTF8}},
		{"no last line end", "a\nb", Window{}, Excerpt{Text: "a\nb", LF: 1, First: 1, Last: 2, Total: 2, Encoding: UTF8}},
		{"middle", "a\nb\nc\nd\n", Window{First: 2, Last: 3}, Excerpt{Text: "b\nc\n", LF: 2, First: 2, Last: 3, Total: 4, Encoding: UTF8}},
		{"past the end", "a\nb", Window{First: 9}, Excerpt{First: 9, Last: 8, Total: 2, Encoding: UTF8}},
		{"crlf and mark", "\xef\xbb\xbfa\r\nb\r\n", Window{Last: 1}, Excerpt{Text: "a\n", First: 1, Last: 1, Total: 2, Encoding: UTF8, BOM: true, CRLF: 1}},
		{"cut", "abcdef\nxy\n", Window{MaxLine: 3, CutMark: "…"}, Excerpt{Text: "abc…\nxy\n", LF: 1, First: 1, Last: 2, Total: 2, CutLines: []int{1}, Encoding: UTF8}},
		{"exact", "abc\n", Window{MaxLine: 3}, Excerpt{Text: "abc\n", LF: 1, First: 1, Last: 1, Total: 1, Encoding: UTF8}},
		{"budget", "aaaa\nbbbb\ncccc\n", Window{MaxBytes: 10}, Excerpt{Text: "aaaa\nbbbb\n", LF: 2, First: 1, Last: 2, Total: 3, Full: true, Encoding: UTF8}},
		{"one line over the budget", "aaaa\nbbbb\n", Window{MaxBytes: 2}, Excerpt{Text: "aaaa\n", LF: 1, First: 1, Last: 1, Total: 2, Full: true, Encoding: UTF8}},
		// U+0A0A has two bytes that look like line endings.
		{"utf-16", "\xff\xfea\x00\r\x00\n\x00\x0a\x0a\x0a\x00\x0a\x00b\x00", Window{},
			Excerpt{Text: "a\n\u0a0a\n\nb", First: 1, Last: 4, Total: 4, Encoding: UTF16LE, BOM: true, LF: 2, CRLF: 1}},
	} {
		if diff := cmp.Diff(c.want, read(t, c.raw, c.w)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	if _, err := ReadLines(context.Background(), strings.NewReader("\x00\x01\x02"), 3, Window{}); !errors.Is(err, ErrBinary) {
		t.Errorf("binary: %v", err)
	}
}

// Reading in pieces gives what reading at once gives.
func TestReadLinesAgainstDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDocument(t)
		if got, err := Detect(d.Bytes()); err != nil || got != d.Encoding || d.BOM != bytes.HasPrefix(d.Bytes(), append(d.Encoding.mark(), 0)[:len(d.Encoding.mark())]) {
			return
		}
		first := rapid.IntRange(1, 6).Draw(t, "first")
		last := rapid.IntRange(first, 12).Draw(t, "last")
		h := sha256.New()
		e, err := ReadLines(context.Background(), bytes.NewReader(d.Bytes()), int64(len(d.Bytes())), Window{First: first, Last: last, Hash: h})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(d.Text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		want := ""
		for i := first; i <= last && i <= len(lines); i++ {
			want += lines[i-1]
		}
		if e.Text != want || e.Total != len(lines) {
			t.Fatalf("lines %d-%d of %q: %q of %d, want %q of %d", first, last, d.Bytes(), e.Text, e.Total, want, len(lines))
		}
		if sum := sha256.Sum256(d.Bytes()); !bytes.Equal(h.Sum(nil), sum[:]) {
			t.Fatal("the hash is of something else")
		}
	})
}

// A generated file of any size, without a disk: numbered lines of 64 bytes.
type numbered int64

func (n numbered) ReadAt(p []byte, off int64) (int, error) {
	total := 0
	for len(p) > 0 && off < int64(n) {
		line := fmt.Appendf(nil, "%063d\n", off/64)
		c := copy(p, line[off%64:])
		p, off, total = p[c:], off+int64(c), total+c
	}
	if len(p) > 0 {
		return total, io.EOF
	}
	return total, nil
}

func TestReadLinesOfLongFile(t *testing.T) {
	serial.Test(t)
	const lines = 200_000
	e, err := ReadLines(context.Background(), numbered(lines*64), lines*64, Window{First: lines - 1})
	if err != nil {
		t.Fatal(err)
	}
	want := Excerpt{Text: fmt.Sprintf("%063d\n%063d\n", lines-2, lines-1), First: lines - 1, Last: lines, Total: lines, Encoding: UTF8, LF: 2}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadLines(ctx, numbered(64), 64, Window{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
