package lines

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// plainLines is the simple implementation: it reads all lines at once.
func plainLines(in []byte) (lines []string, sizes []int) {
	for len(in) > 0 {
		line, rest, _ := bytes.Cut(in, []byte("\n"))
		in = rest
		lines = append(lines, strings.TrimRight(string(line), "\r"))
		sizes = append(sizes, len(line))
	}
	return lines, sizes
}

func check(t *testing.T, in []byte, limit int, r io.Reader) {
	t.Helper()
	want, sizes := plainLines(in)
	f := New(r, limit)
	for i := range want {
		fr, err := f.Next()
		if err != nil {
			t.Fatalf("line %d of %d: %v", i, len(want), err)
		}
		if fr.Long && sizes[i] < limit || !fr.Long && len(want[i]) > limit { // between them it may be either
			t.Fatalf("line %d of %d bytes, limit %d: over is %v", i, len(want[i]), limit, fr.Long)
		}
		if !fr.Long && string(fr.Text) != want[i] {
			t.Fatalf("line %d is %q, want %q", i, fr.Text, want[i])
		}
		if fr.Long && !strings.HasPrefix(want[i], string(fr.Text)) {
			t.Fatalf("line %d begins with %q, want the beginning of %q", i, fr.Text, want[i])
		}
	}
	if _, err := f.Next(); err != io.EOF {
		t.Fatalf("after the last line: %v", err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	for _, in := range []string{"", "\n", "a", "a\n", "a\r\nb\n\nc", long, long + "\n" + long + "\nx\n", "x\n" + long} {
		for _, limit := range []int{1, 10, 1000, 200_000, 1 << 20} {
			check(t, []byte(in), limit, strings.NewReader(in))
			check(t, []byte(in), limit, iotest.HalfReader(strings.NewReader(in)))
		}
	}
}

// The members of a line that is cut or too long.
func TestMember(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"` + long + `"}}`, "7"},
		{`{"jsonrpc":"2.0","id":7,"result":{"con`, "7"},
		{`{"id":"a-b","jsonrpc":"2.0","result":{"a":"` + long + `"}}`, `"a-b"`},
		{`{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":12}`, "12"},
		{`{"result":{"a":"` + long + `"},"id":12,"jsonrpc":"2.0"}`, "12"},
		{`{"jsonrpc":"2.0","method":"x","params":{"id":3,"a":"` + long + `"}}`, ""},
		{`{"jsonrpc":"2.0","params":{"a":"` + long + `","id":3}}`, ""},
		{`{"id":{"a":1},"params":{"a":"` + long + `"}}`, ""},
		{long, ""},
	} {
		l, err := New(strings.NewReader(c.line+"\n"), 1000).Next()
		if got := string(l.Member("id")); err != nil || got != c.want {
			t.Errorf("%.60s: %q, want %q (%v)", c.line, got, c.want, err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n"), uint16(3))
	f.Add(bytes.Repeat([]byte("xyz"), 50), uint16(100))
	f.Add([]byte("\r\r\n\r"), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		check(t, in, int(limit)+1, bytes.NewReader(in))
		Line{Text: in, Tail: in}.Member("id")
	})
}
