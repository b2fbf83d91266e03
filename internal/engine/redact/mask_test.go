package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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
			m := maskOf(c.values...)
			c.want = strings.ReplaceAll(c.want, "[masked]", Masked)
			if d := cmp.Diff(c.want, m.String(c.in)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, masked(m, strings.Split(c.in, "")...)); d != "" {
				t.Error("byte by byte:", d)
			}
		})
	}
}

// maskOf masks values whose names are those of credentials.
func maskOf(values ...string) *Mask {
	var all []Secret
	for _, v := range values {
		all = append(all, Secret{Value: v})
	}
	return NewMask(all, nil)
}

// masked feeds the pieces through a stream.
func masked(m *Mask, pieces ...string) string {
	var out bytes.Buffer
	s := Stream{mask: m}
	give := func(p []byte) { out.Write(p) }
	for _, p := range pieces {
		s.Write([]byte(p), give)
	}
	s.Flush(give)
	return out.String()
}

// slowMask looks for every form of every value at every place, joins what overlaps, and replaces from the back.
func slowMask(values []string, in string) string {
	var spans []span
	for i := range in {
		for _, v := range values {
			long, short := Secret{Value: v}.forms()
			for _, t := range long {
				if strings.HasPrefix(in[i:], string(t)) {
					spans = append(spans, span{i, i + len(t), ""})
				}
			}
			for _, t := range short {
				if strings.HasPrefix(in[i:], string(t)) {
					spans = append(spans, span{i + 1, i + len(t) - 1, ""})
				}
			}
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	for i := 0; i+1 < len(spans); {
		if spans[i+1].from < spans[i].to || spans[i+1].from == spans[i].from {
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
	f.Add("abc", "abc@defGHI", "x:abc@de:abc@defGHI:ab:abc@", uint8(0))
	f.Add("abc", "abc", "YWJj:abc@:abc@", uint8(3))
	f.Add("abcABC12", "12abcdef", "xYWJjQUJDMTI=xhYmNBQkMxMg==", uint8(3))
	f.Add("0123456789abc", "zyxwvuts9", strings.Repeat("0123456789ab", 9), uint8(5))
	f.Fuzz(func(t *testing.T, one, two, in string, cut uint8) {
		// Byte semantics: the reference walks bytes, so keep to single-byte text.
		in = strings.Map(func(r rune) rune { return r & 0x7f }, in)
		m := maskOf(one, two)
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
	})
}

// TestMaskForms checks the forms in which a value is masked.
func TestMaskForms(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	long := Secret{Value: "s3cr/t+V&lue", User: "me", Sure: true}
	short := Secret{Value: "pa55wd", User: "me", Sure: true}
	for _, c := range []struct {
		name   string
		secret Secret
		in     string
		want   string // "": nothing is masked
	}{
		{"plain", long, "a s3cr/t+V&lue b", "a * b"},
		{"query", long, "?q=s3cr%2Ft%2BV%26lue", "?q=*"},
		{"query in lower case", long, "?q=s3cr%2ft%2bV%26lue", "?q=*"},
		{"JSON", long, `{"a":"s3cr/t+V\u0026lue"}`, `{"a":"*"}`},
		{"base64", long, b64([]byte(long.Value)), "*"},
		{"base64 of user and value", long, "basic " + b64([]byte("me:"+long.Value)) + "\n", "basic *\n"},
		{"base64, one byte before", long, b64([]byte("x" + long.Value)), "eH*=="},
		{"base64, two bytes before", long, b64([]byte("xy" + long.Value)), "eHl*="},
		{"base64, in the middle", long, b64([]byte("abc" + long.Value + "more")), "YWJj*bW9yZQ=="},
		{"upper case", Secret{Value: "CANARYHDR", Sure: true}, "basic CANARYHDR", "basic *"},
		{"short", short, "the pa55wd is", ""},
		{"short in a URL", short, "https://me:pa55wd@h/pa55wd", "https://me:*@h/pa55wd"},
		{"short in base64 with its user", short, "basic " + b64([]byte("me:pa55wd")), "basic *"},
		{"an ordinary word", Secret{Value: "hopscotch", User: "u", Sure: true}, "hopscotch https://u:hopscotch@h", "hopscotch https://u:*@h"},
		{"a default", Secret{Value: "postgres", User: "postgres", Sure: true}, "postgres://postgres:postgres@db", ""},
		{"not sure", Secret{Value: "CANARYHDR"}, "CANARYHDR", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMask([]Secret{c.secret}, nil)
			want := c.in
			if c.want != "" {
				want = strings.ReplaceAll(c.want, "*", Masked)
			}
			if d := cmp.Diff(want, m.String(c.in)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(want, masked(m, strings.Split(c.in, "")...)); d != "" {
				t.Error("byte by byte:", d)
			}
		})
	}
}

// BenchmarkMask masks output with 20 values, one of them short.
func BenchmarkMask(b *testing.B) {
	secrets := []Secret{{Value: "pa55wd", User: "u", Sure: true}}
	for i := range 19 {
		secrets = append(secrets, Secret{Value: fmt.Sprintf("ghp_%x", sha256.Sum256([]byte{byte(i)}))[:40], User: "x-access-token", Sure: true})
	}
	m := NewMask(secrets, nil)
	in := []byte(strings.Repeat("2026-01-02 03:04:05 INFO some ordinary line of a log file: https://example.com/x\n", 13000)) // 1 MB
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			NewMask(secrets, nil)
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		text := string(in)
		for b.Loop() {
			m.String(text)
		}
	})
	b.Run("pieces", func(b *testing.B) {
		s := Stream{mask: m}
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			for p := in; len(p) > 0; p = p[min(len(p), 4096):] {
				s.Write(p[:min(len(p), 4096)], func([]byte) {})
			}
		}
	})
}

// A long text that had no secret is remembered only for equal texts, and not by a mask with more secrets.
func TestLongTextsWithoutSecretsAreRemembered(t *testing.T) {
	const secret = "sk-live-0123456789"
	text := strings.Repeat("a line of a long file\n", minClean/8)
	m := maskOf(secret)
	for range 2 {
		if m.String(text) != text || !m.clean.has(text) {
			t.Fatal("a text without secrets isn't remembered")
		}
	}
	with := text[:len(text)-len(secret)] + secret
	for range 2 {
		if got := m.String(with); strings.Contains(got, secret) {
			t.Fatal("a secret in a text of the same length is shown")
		}
	}
	plain := strings.Repeat("another-value-1\n", minClean/8)
	if m.String(plain) != plain {
		t.Fatal("changed")
	}
	if strings.Contains(maskOf("another-value-1").String(plain), "another-value-1") {
		t.Error("another mask shows a secret")
	}
}
