package term

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// cook feeds the pieces and returns what was emitted, a newline after each
// finished line and "+" after each piece of a longer one.
func cook(pieces ...string) string {
	var b strings.Builder
	s := New(func(line []byte, more bool) {
		b.Write(line)
		if more {
			b.WriteByte('+')
		} else {
			b.WriteByte('\n')
		}
	})
	for _, p := range pieces {
		s.Write([]byte(p))
	}
	s.Flush()
	return b.String()
}

func TestCook(t *testing.T) {
	long := strings.Repeat("x", Width)
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\nb\n", "a\nb\n"},
		{"no newline at the end", "a\nb", "a\nb\n"},
		{"blank lines stay", "a\n\n\nb\n\n", "a\n\n\nb\n\n"},
		{"windows lines", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		{"shorter text over longer", "longer\rab\n", "abnger\n"},
		{"erased first", "longer\r\x1b[Kab\n", "ab\n"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m\n", "red x\n"},
		{"overstrike", "N\bNA\bA_\bx\n", "NAx\n"},
		{"backspace erases", "abc\b\b  \n", "a  \n"},
		{"tab stays", "a\tb\n", "a\tb\n"},
		{"spinner rows", "one\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\n", "ONE\nTWO\n"},
		{"cursor home", "one\ntwo\x1b[HX\n", "Xne\ntwo\n"},
		{"erase below", "one\ntwo\nthree\x1b[2A\r\x1b[Jx", "x\n"},
		{"clear", "one\ntwo\n\x1b[2J\x1b[Hnew\n", "new\n"},
		{"column", "abc\x1b[10Gx\n", "abc      x\n"},
		{"delete and insert", "abcdef\x1b[3G\x1b[2P\x1b[2@\n", "ab  ef\n"},
		{"save and restore", "ab\x1b7cd\x1b8X\n", "abXd\n"},
		{"title", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "alink\n"},
		{"unfinished string ends with its line", "\x1b]0;oops\nnext\n", "\nnext\n"},
		{"charset", "\x1b(0a\x1b(B\n", "a\n"},
		{"private mode", "\x1b[?25la\x1b[?25h\n", "a\n"},
		{"broken sequence", "\x1b[3\nx\n", "\nx\n"},
		{"bell and shift", "a\a\x0e\x0fb\n", "ab\n"},
		{"nul is seen", "a\x00b\n", "a␀b\n"},
		{"utf-8", "héé\bx\n", "héx\n"},
		{"broken utf-8", "a\xffb\xe2\x82\n", "a\ufffdb\ufffd\ufffd\n"},
		{"unfinished utf-8", "a\xe2\x82", "a\ufffd\ufffd\n"},
		{"c1", "a\u009bb\n", "ab\n"},
		{"long line", long + "yz\n", long + "+yz\n"},
		{"a huge number moves only so far", "\x1b[99999999999Cx\n", strings.Repeat(" ", reach) + "x\n"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, cook(c.in)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, reference([]byte(c.in))); d != "" {
				t.Error("the reference is wrong:", d)
			}
		})
	}
}

// Lines that scrolled away are out of reach; a terminal has an end too.
func TestScrolledAway(t *testing.T) {
	var in, want strings.Builder
	for i := range Rows + 10 {
		fmt.Fprintf(&in, "%d\n", i)
		if i == 11 { // the window holds Rows lines, the last of them empty
			want.WriteString("X1\n")
		} else {
			fmt.Fprintf(&want, "%d\n", i)
		}
	}
	in.WriteString("\x1b[500A\rX")
	if d := cmp.Diff(want.String(), cook(in.String())); d != "" {
		t.Error(d)
	}
}

func TestUnsettledChangesNothing(t *testing.T) {
	var got []string
	s := New(func([]byte, bool) {})
	s.Write([]byte("a\nb\xc3"))
	for range 2 {
		s.Unsettled(func(line []byte, _ bool) { got = append(got, string(line)) })
	}
	s.Write([]byte("\xa9"))
	s.Unsettled(func(line []byte, _ bool) { got = append(got, string(line)) })
	if d := cmp.Diff([]string{"a", "b", "a", "b", "a", "bé"}, got); d != "" {
		t.Error(d)
	}
}

func FuzzCook(f *testing.F) {
	for _, s := range []string{
		"a\rb\n", "\x1b[2A\x1b[Kx\x1b[5;7Hy\x1b[J", "\x1b]0;t\x07x\x1bPq\x1b\\", "é\b\b\x1b[1K\x1b[3@\x1b[2P\x1b[9X",
		strings.Repeat("line\n", 70) + "\x1b[70Aup\x1b[1J", strings.Repeat("é", Width+3) + "\x1b[s\n\x1b[u!", "\x1b[999B\x1b[999Cend\x1bM\x1bD\x1bE",
		strings.Repeat("w", Width-2) + "\n\x1b[A\x1b[512C" + strings.Repeat("v", Width),
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		var pieces []string
		step := int(cut)%7 + 1
		for i := 0; i < len(in); i += step {
			pieces = append(pieces, string(in[i:min(i+step, len(in))]))
		}
		want := reference(in)
		if d := cmp.Diff(want, cook(string(in))); d != "" {
			t.Fatalf("whole %q:\n%s", in, d)
		}
		if d := cmp.Diff(want, cook(pieces...)); d != "" {
			t.Fatalf("in pieces of %d, %q:\n%s", step, in, d)
		}
		if !utf8.ValidString(want) {
			t.Fatalf("%q is not UTF-8", want)
		}
	})
}

func BenchmarkCookLines(b *testing.B) {
	in := []byte(strings.Repeat("2026-01-02 03:04:05 INFO some ordinary line of a log file\n", 1000))
	s := New(func([]byte, bool) {})
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		s.Write(in)
	}
}

func BenchmarkCookProgress(b *testing.B) {
	in := []byte(strings.Repeat("\r\x1b[K\x1b[32m⠋\x1b[0m downloading 12%", 1000))
	s := New(func([]byte, bool) {})
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		s.Write(in)
	}
}
