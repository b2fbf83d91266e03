package proc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func captured(c Command, pieces ...string) Output {
	k := newCapture(&c, nil, time.Now)
	for _, p := range pieces {
		k.write([]byte(p))
	}
	return k.finish()
}

func TestHeadAndTail(t *testing.T) {
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "%03d\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name string
		in   string
		want Output
	}{
		{"fits", lines(1, 20), Output{Head: lines(1, 20), Bytes: 80, Lines: 20}},
		{"just omitted", lines(1, 21), Output{Head: lines(1, 10), Tail: lines(13, 21), OmittedBytes: 8, OmittedLines: 2, Bytes: 84, Lines: 21}},
		{"much omitted", lines(1, 500), Output{Head: lines(1, 10), Tail: lines(492, 500), OmittedBytes: 481 * 4, OmittedLines: 481, Bytes: 2000, Lines: 500}},
		{"one long line", strings.Repeat("é", 60), Output{Head: strings.Repeat("é", 20), Tail: strings.Repeat("é", 19) + "\n", OmittedBytes: 42, Bytes: 120}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, captured(Command{Head: 40, Tail: 40}, c.in)); d != "" {
				t.Error(d)
			}
		})
	}
	o := captured(Command{Head: 40, Tail: 40}, lines(1, 500))
	if want := lines(1, 10) + "[481 lines, 1.9 KB omitted]\n" + lines(492, 500); o.String() != want {
		t.Errorf("%q", o.String())
	}
}

func TestBinary(t *testing.T) {
	random := make([]byte, 20000)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	for _, c := range []struct {
		name string
		in   string
		want Output
	}{
		{"program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00", Output{Binary: true}},
		{"text before", "hello\n\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00", Output{Binary: true, Head: "hello\n"}},
		{"names ended by NUL", "./a.txt\x00./b.txt\x00", Output{Head: "./a.txt␀./b.txt␀\n"}},
		{"utf-8", "größe\n", Output{Head: "größe\n"}},
		{"other charset", "gr\xf6\xdfe\n", Output{Head: "gr\ufffd\ufffde\n"}},
		{"random", string(random), Output{Binary: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := captured(Command{Head: 999, Tail: 999}, c.in)
			if c.name == "random" {
				got.Head = ""
			}
			if got.Bytes != int64(len(c.in)) {
				t.Errorf("%d bytes", got.Bytes)
			}
			got.Bytes, got.Lines = 0, 0
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\na\na\n", "a\na\na\n"},
		{strings.Repeat("}\n", foldFrom), strings.Repeat("}\n", foldFrom)},
		{strings.Repeat("x\n", foldFrom+1) + "y\n", "x\n[previous line repeated 5 times]\ny\n"},
		{strings.Repeat("x\n", 1235), "x\n[previous line repeated 1,234 times]\n"},
		{strings.Repeat("\n", 3) + "z", "\n\n\nz\n"},
	} {
		if got := captured(Command{Head: 9999, Tail: 1}, c.in).Head; got != c.want {
			t.Errorf("%.20q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// The ring against a plain string.
func TestRing(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := ring{max: 1 + rnd.IntN(20)}
		var all string
		for range rnd.IntN(30) {
			p := fmt.Sprint(rnd.IntN(1 << rnd.IntN(60)))
			p = p[:rnd.IntN(len(p)+1)]
			all += p
			r.write([]byte(p))
			at, limit := int64(rnd.IntN(len(all)+3)), rnd.IntN(25)
			want := min(max(at, int64(max(0, len(all)-r.max))), int64(len(all)))
			text := all[want:]
			got, from := r.from(at, limit)
			if string(got) != text[:min(limit, len(text))] || from != want || r.total != int64(len(all)) {
				t.Fatalf("seed %d: from %d most %d of %q (max %d): got %q at %d", seed, at, limit, all, r.max, got, from)
			}
		}
	}
}

// The first bytes of a command's output are kept, and too many are reported once.
func TestBeginning(t *testing.T) {
	reports := 0
	b := NewBeginning(5, func() { reports++ })
	for _, part := range []string{"ab", "cd", "efg", "h"} {
		if n, err := b.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%q: wrote %d, %v", part, n, err)
		}
	}
	if b.String() != "abcde" || reports != 1 {
		t.Errorf("kept %q, reported %d times", b.String(), reports)
	}
	b = NewBeginning(1, nil)
	b.Write([]byte("ab"))
	if b.String() != "a" {
		t.Errorf("kept %q", b.String())
	}
}
