package proc

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzSpec(f *testing.F) {
	s := spec{argv: []string{"bash", "-c", "x"}, dir: "/", script: "\xff", env: []string{"A=\xfe", ""}}
	f.Add(s.encode())
	f.Add([]byte{0, 0, 1, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _, err := decodeSpec(b)
		if err != nil {
			return
		}
		again, _, err := decodeSpec(s.encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, again, cmp.AllowUnexported(spec{})); d != "" {
			t.Error(d)
		}
	})
}

func TestMessages(t *testing.T) {
	var b bytes.Buffer
	send(&b, msgExited, numbers(7, 1<<20))
	send(&b, msgEmpty, nil)
	kind, body, err := receive(&b)
	if kind != msgExited || number(body, 0) != 7 || number(body, 1) != 1<<20 || number(body, 2) != 0 || err != nil {
		t.Error(kind, body, err)
	}
	if kind, body, err = receive(&b); kind != msgEmpty || len(body) != 0 || err != nil {
		t.Error(kind, body, err)
	}
	if _, _, err = receive(bytes.NewReader([]byte{'R', 255, 255, 255, 255})); err == nil {
		t.Error("a message of 4 GB was accepted")
	}
}
