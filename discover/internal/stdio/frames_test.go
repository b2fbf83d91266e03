package stdio

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// plainFrames returns the obvious way to read lines: all at once.
func plainFrames(in []byte) (lines []string, sizes []int) {
	for len(in) > 0 {
		line, rest, _ := bytes.Cut(in, []byte("\n"))
		in = rest
		lines = append(lines, strings.TrimRight(string(line), "\r"))
		sizes = append(sizes, len(line))
	}
	return lines, sizes
}

func checkFrames(t *testing.T, in []byte, limit int, r io.Reader) {
	t.Helper()
	want, sizes := plainFrames(in)
	f := newFrames(r, limit)
	for i := range want {
		fr, err := f.next()
		if err != nil {
			t.Fatalf("line %d of %d: %v", i, len(want), err)
		}
		if fr.over && sizes[i] < limit || !fr.over && len(want[i]) > limit { // between them it may be either
			t.Fatalf("line %d of %d bytes, limit %d: over is %v", i, len(want[i]), limit, fr.over)
		}
		if !fr.over && string(fr.line) != want[i] {
			t.Fatalf("line %d is %q, want %q", i, fr.line, want[i])
		}
		if fr.over && !strings.HasPrefix(want[i], string(fr.line)) {
			t.Fatalf("line %d begins with %q, want the beginning of %q", i, fr.line, want[i])
		}
	}
	if _, err := f.next(); err != io.EOF {
		t.Fatalf("after the last line: %v", err)
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	for _, in := range []string{"", "\n", "a", "a\n", "a\r\nb\n\nc", long, long + "\n" + long + "\nx\n", "x\n" + long} {
		for _, limit := range []int{1, 10, 1000, 200_000, 1 << 20} {
			checkFrames(t, []byte(in), limit, strings.NewReader(in))
			checkFrames(t, []byte(in), limit, iotest.HalfReader(strings.NewReader(in)))
		}
	}
}

func TestWhoseAnswer(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"` + long + `"}}`, "7"},
		{`{"id":"a-b","jsonrpc":"2.0","result":{"a":"` + long + `"}}`, `"a-b"`},
		{`{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":12}`, "12"},
		{`{"result":{"a":"` + long + `"},"id":12,"jsonrpc":"2.0"}`, "12"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","params":"` + long + `"}`, ""},
		{`{"jsonrpc":"2.0","method":"x","params":{"id":3,"a":"` + long + `"}}`, ""},
		{long, ""},
	} {
		fr, err := newFrames(strings.NewReader(c.line+"\n"), 1000).next()
		if got := string(fr.answered()); err != nil || !fr.over || fr.size != int64(len(c.line)+1) || got != c.want {
			t.Errorf("%.60s: %q, want %q (%v, %d)", c.line, got, c.want, err, fr.size)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n"), uint16(3))
	f.Add(bytes.Repeat([]byte("xyz"), 50), uint16(100))
	f.Add([]byte("\r\r\n\r"), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		checkFrames(t, in, int(limit)+1, bytes.NewReader(in))
		for _, fr := range []frame{{line: in}, {tail: in}} {
			fr.answered()
		}
		marked(in)
	})
}
