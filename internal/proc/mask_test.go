package proc

import (
	"bytes"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMask(t *testing.T) {
	const key = "sk-live-0123456789"
	for _, c := range []struct {
		name   string
		values []string
		in     string
		want   string
	}{
		{"nothing known", nil, "text " + key, "text " + key},
		{"one", []string{key}, "a " + key + " b", "a [masked] b"},
		{"twice in a row", []string{key}, key + key, "[masked][masked]"},
		{"only a part", []string{key}, key[:10] + " " + key[1:], key[:10] + " " + key[1:]},
		{"longest of two", []string{key, key + "-suffix9"}, key + "-suffix9!", "[masked]!"},
		{"overlapping", []string{"abcdEFGH12", "GH12wxyz"}, "<abcdEFGH12wxyz>", "<[masked]>"},
		{"over itself", []string{"abAB12ab"}, "abAB12abAB12ab.", "[masked]."},
		{"too short or ordinary", []string{"short1", "postgres", "00000000", "/home/me/key.json"}, "short1 postgres 00000000 /home/me/key.json", "short1 postgres 00000000 /home/me/key.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMask(c.values)
			if d := cmp.Diff(c.want, m.String(c.in)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, masked(m, strings.Split(c.in, "")...)); d != "" {
				t.Error("byte by byte:", d)
			}
		})
	}
}

// masked feeds the pieces through a stream.
func masked(m *Mask, pieces ...string) string {
	var out bytes.Buffer
	s := maskStream{mask: m}
	give := func(p []byte) { out.Write(p) }
	for _, p := range pieces {
		s.write([]byte(p), give)
	}
	s.flush(give)
	return out.String()
}

// slowMask looks for every value at every place, joins what overlaps, and
// replaces from the back.
func slowMask(values []string, in string) string {
	var spans []span
	for i := range in {
		longest := 0
		for _, v := range values {
			if worthMasking(v) && strings.HasPrefix(in[i:], v) {
				longest = max(longest, len(v))
			}
		}
		if longest > 0 {
			spans = append(spans, span{i, i + longest})
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	for i := 0; i+1 < len(spans); {
		if spans[i+1].from < spans[i].to {
			spans[i].to = max(spans[i].to, spans[i+1].to)
			spans = append(spans[:i+1], spans[i+2:]...)
		} else {
			i++
		}
	}
	for i := len(spans) - 1; i >= 0; i-- {
		in = in[:spans[i].from] + Masked + in[spans[i].to:]
	}
	return in
}

func FuzzMask(f *testing.F) {
	f.Add("abcABC12", "C12abcABC12", "xxabcABC12abcABC12yyC12abcABC12", uint8(2))
	f.Add("aB1aB1aB1xy", "B1xyQQQQ", "aB1aB1aB1aB1xyQQQQ", uint8(1))
	f.Add("0123456789abc", "zyxwvuts9", strings.Repeat("0123456789ab", 9), uint8(5))
	f.Fuzz(func(t *testing.T, one, two, in string, cut uint8) {
		// Byte semantics: the reference walks bytes, so keep to single-byte text.
		in = strings.Map(func(r rune) rune { return r & 0x7f }, in)
		m := NewMask([]string{one, two})
		step := int(cut)%9 + 1
		var pieces []string
		for i := 0; i < len(in); i += step {
			pieces = append(pieces, in[i:min(i+step, len(in))])
		}
		want := slowMask([]string{one, two}, in)
		if got := masked(m, pieces...); got != want {
			t.Fatalf("mask %q and %q in %q, pieces of %d:\n got %q\nwant %q", one, two, in, step, got, want)
		}
		if got := m.String(in); got != want {
			t.Fatalf("mask %q and %q in %q:\n got %q\nwant %q", one, two, in, got, want)
		}
		// A value that cannot overlap itself is what ReplaceAll replaces.
		if m := NewMask([]string{one}); m != nil && !strings.Contains(one[1:]+one[:len(one)-1], one) && !strings.ContainsAny(one[1:], one[:1]) {
			if got, want := m.String(in), strings.ReplaceAll(in, one, Masked); got != want {
				t.Fatalf("mask %q in %q: got %q, want %q", one, in, got, want)
			}
		}
	})
}

func BenchmarkMask(b *testing.B) {
	m := NewMask([]string{"sk-ant-0123456789abcdef", "ghp_ABCDEFGHIJKLMNOP", "xoxb-1234-5678-abcd", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG"})
	in := []byte(strings.Repeat("2026-01-02 03:04:05 INFO some ordinary line of a log file\n", 1000))
	s := maskStream{mask: m}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		s.write(in, func([]byte) {})
	}
}
