package api

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestSSEReader(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one event", "data: a\n\n", []string{"a"}},
		{"no blank after the colon", "data:a\n\n", []string{"a"}},
		{"only one blank goes", "data:  a \n\n", []string{" a "}},
		{"two events", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"comments and other fields", ": hi\nevent: message\nid: 1\nretry: 5\ndata: a\n: mid\n\n", []string{"a"}},
		{"an event without data", "event: ping\n\ndata: a\n\n", []string{"a"}},
		{"empty data", "data\n\ndata:\n\n", []string{"", ""}},
		{"the last event lacks its blank line", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"the last line lacks its end", "data: a\n\ndata: b", []string{"a", "b"}},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}},
		{"a field that only begins like data", "database: x\n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, in := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := allEvents(newSSEReader(in))
				if d := cmp.Diff(tt.want, got); d != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
				}
			}
		})
	}
}

// A line ended by CR must not wait for the byte after it, which may come a minute later.
func TestSSEReaderDoesNotWaitForTheNextLine(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = w.Write([]byte("data: a\r\n\r")) }()
	got, err := newSSEReader(r).next()
	if string(got) != "a" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	w.Close()
}

func TestSSEReaderBounds(t *testing.T) {
	for name, in := range map[string]string{
		"a long line":  "data: " + strings.Repeat("x", 101) + "\n\n",
		"many lines":   strings.Repeat("data: 0123456789\n", 20) + "\n",
		"no line ends": strings.Repeat("y", 200),
	} {
		r := newSSEReader(strings.NewReader(in))
		r.limit = 100
		if _, err := r.next(); !errors.Is(err, errEventTooLong) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := r.next(); !errors.Is(err, errEventTooLong) {
			t.Errorf("%s, again: got %v", name, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if got, err := newSSEReader(strings.NewReader("data: " + long + "\n\n")).next(); string(got) != long || err != nil {
		t.Errorf("a line of 1 MB: %d bytes, %v", len(got), err)
	}
}

func TestSSEReaderTellsWhyItEnds(t *testing.T) {
	broken := errors.New("broken")
	r := newSSEReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	got, err := allEvents(r)
	if !slices.Equal(got, []string{"a"}) || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", got, err)
	}
}

func allEvents(r *sseReader) ([]string, error) {
	var out []string
	for {
		data, err := r.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

// slowEvents returns the specification, with no thought of streams: all lines first, then all events.
func slowEvents(in string) []string {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var out, data []string
	for _, line := range append(strings.Split(in, "\n"), "") {
		if line == "" {
			if data != nil {
				out = append(out, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if line == "data" {
			line = "data:"
		}
		if v, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(v, " "))
		}
	}
	return out
}

func FuzzSSEReader(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "data: a\r\n\r\ndata: b\r\r", ": c\ndata\ndata: x\n\n", "\ufeffdata: a", "data:\r\n\rdata: b\n\r\n", "data: \xf0\x9f\n\n",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		want := slowEvents(string(in))
		if at < 0 || at > len(in) {
			at = 0
		}
		cut := io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:]))
		for _, r := range []io.Reader{bytes.NewReader(in), cut, iotest.OneByteReader(bytes.NewReader(in))} {
			got, err := allEvents(newSSEReader(r))
			if !slices.Equal(want, got) || err != nil {
				t.Fatalf("%q: want %q, got %q, %v", in, want, got, err)
			}
		}
	})
}
