package api

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJointMendsWhatWasCut(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string // JSON strings
		want   []string // what is emitted after each, and at the end
	}{
		{"plain", []string{`"a"`, `"b"`}, []string{"a", "b", ""}},
		{"a sequence of three bytes", []string{"\"\xe2\"", "\"\x82\"", "\"\xac!\""}, []string{"", "", "€!", ""}},
		{"a sequence of four bytes", []string{"\"x\xf0\x9f\"", "\"\x98\x80\""}, []string{"x", "😀", ""}},
		{"an escaped pair", []string{`"\ud83d"`, `"\ude00!"`}, []string{"", "😀!", ""}},
		{"a pair in one piece", []string{`"\ud83d\ude00"`}, []string{"😀", ""}},
		{"half a pair, then something else", []string{`"\ud83d"`, `"x"`}, []string{"", "\ufffdx", ""}},
		{"half a pair at the end", []string{`"a\ud83d"`}, []string{"a", "\ufffd"}},
		{"a byte that never fits", []string{"\"\xff\"", "\"a\xe2\""}, []string{"\ufffd", "a", "\ufffd"}},
		{"a second half alone", []string{`"\ude00"`}, []string{"\ufffd", ""}},
		{"escapes", []string{`"\"\\\/\b\f\n\r\t\u00e9"`}, []string{"\"\\/\b\f\n\r\té", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var j Joint
			var got []string
			for _, p := range tt.pieces {
				got = append(got, j.Add(Unquote([]byte(p))))
			}
			got = append(got, j.Rest())
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}

// Pieces joined are the repaired whole, wherever it was cut; and a whole string is what encoding/json makes of it.
func FuzzJoint(f *testing.F) {
	f.Add([]byte("a€😀\xff"), []byte{1, 1, 1, 2})
	f.Add([]byte("\xed\xa0\xbd\xed\xb8\x80"), []byte{1, 1, 1, 1, 1})
	f.Add([]byte("\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80\xed\xb8"), []byte{3, 1, 2})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		var j Joint
		var got strings.Builder
		rest := in
		for _, c := range cuts {
			n := min(int(c), len(rest))
			s := j.Add(rest[:n])
			if !utf8.ValidString(s) {
				t.Fatalf("handed out %q", s)
			}
			got.WriteString(s)
			rest = rest[n:]
		}
		got.WriteString(j.Add(rest))
		got.WriteString(j.Rest())
		if got.String() != Clean(in) {
			t.Fatalf("%q cut at %v: want %q, got %q", in, cuts, Clean(in), got.String())
		}
		var want string
		quoted := append(append([]byte{'"'}, in...), '"')
		if json.Unmarshal(quoted, &want) == nil && Clean(Unquote(quoted)) != want && !strings.Contains(string(in), "\xed") {
			t.Fatalf("Unquote %q: want %q, got %q", quoted, want, Clean(Unquote(quoted)))
		}
	})
}
