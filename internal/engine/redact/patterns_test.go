package redact

import (
	"bytes"
	"encoding/base64"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/table"
)

// Every kind has examples, and texts that look like it and aren't masked. A ~ is removed: other programs that look for
// secrets shouldn't report the file.
func TestExamples(t *testing.T) {
	m := NewMask(nil, nil)
	kinds := map[string]bool{}
	text, err := os.ReadFile("testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table.Must(table.Lines(string(text), 40)) {
		f := strings.SplitN(l.Text, "\t", 2)
		text := strings.NewReplacer("~", "", `\n`, "\n").Replace(f[1])
		got := m.Kinds(text)
		if f[0] == "none" && len(got) > 0 || f[0] != "none" && !slices.Equal(got, []string{f[0]}) {
			t.Errorf("line %d: %s: %v", l.Number, f[1], got)
		}
		kinds[f[0]] = true
	}
	for _, k := range []string{"private-key", "url-password"} {
		if !kinds[k] {
			t.Errorf("%s has no example", k)
		}
	}
	for _, l := range table.Must(table.Lines(patternsText, 1)) {
		if k := strings.Fields(l.Text)[0]; !kinds[k] {
			t.Errorf("%s has no example", k)
		}
	}
}

// Generated secrets of every vendor are found in every form.
func TestGenerated(t *testing.T) {
	r := rand.New(rand.NewSource(42))
	m := NewMask(nil, nil)
	tried, missed := 0, 0
	for _, name := range formNames() {
		form := textForms[name]
		for _, make := range makers {
			for range 5 {
				s := make(r)
				if name == "user" && strings.ContainsAny(s.secret, " \n/@") {
					continue
				}
				text := form(r, s.secret)
				tried++
				if kinds := m.Kinds(text); !slices.Contains(kinds, s.kind) {
					missed++
					t.Logf("%s, %s: %v in %q", s.kind, name, kinds, text)
				} else if got := m.String(text); strings.Contains(got, s.secret) {
					t.Errorf("%s, %s is shown: %q", s.kind, name, got)
				}
			}
		}
	}
	if t.Logf("%d of %d missed", missed, tried); missed*100 > tried*2 {
		t.Errorf("more than 2 %%")
	}
}

// Tokens without anything between them are found, as in the output of cat for files without a newline at the end.
func TestTokensInARow(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	m := NewMask(nil, nil)
	for _, first := range makers {
		for _, second := range makers {
			a, b := first(r), second(r)
			if strings.ContainsAny(a.secret+b.secret, "\n@") || strings.Contains(a.secret+b.secret, "xxxx") { // as in examples
				continue
			}
			for _, text := range []string{"cat: " + a.secret + b.secret, a.secret + b.secret + a.secret + "\n"} {
				got := m.String(text)
				if strings.Contains(got, a.secret[len(a.secret)-8:]) || strings.Contains(got, b.secret[len(b.secret)-8:]) {
					t.Errorf("%s and %s: %q in %q", a.kind, b.kind, got, text)
				}
				if pieces := masked(m, strings.Split(text, "")...); pieces != got {
					t.Errorf("byte by byte: %q, not %q", pieces, got)
				}
			}
		}
	}
}

// Whatever the pieces are, a stream is masked like the whole text.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	known := []Secret{{Value: "my-own-s3cret/Value", Sure: true}, {Value: "pa55", Sure: true}, {Value: "Value-of-another1", Sure: true}}
	table := NewTable(nil)
	m := NewMask(known, table)
	for range 600 {
		text := randomText(r)
		want := m.String(text)
		var pieces []string
		for rest := text; rest != ""; {
			n := min(1+r.Intn(1+r.Intn(60)), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := masked(m, pieces...); got != want {
			t.Fatalf("pieces %q\n got %q\nwant %q", pieces, got, want)
		}
	}
}

func formNames() []string { return slices.Sorted(maps.Keys(textForms)) }

// randomText mixes secrets, parts of them and other text.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	names := formNames()
	for range 1 + r.Intn(12) {
		s := makers[r.Intn(len(makers))](r).secret
		switch r.Intn(8) {
		case 0:
			s = s[:r.Intn(len(s))]
		case 1:
			s = s[r.Intn(len(s)):]
		case 2, 3:
			s = textForms[names[r.Intn(len(names))]](r, s)
		case 4:
			s = []string{"my-own-s3cret/Value", ":pa55@", "my-own-s3cret/Value-of-another1", "aws_secret_access_key = "}[r.Intn(4)]
		case 5:
			s = pick(r, digits+letters+"+/", 40)
		}
		b.WriteString(s + []string{"", " ", "\n", ".", "-", "x", `\n`, "%3D"}[r.Intn(8)])
	}
	return b.String()
}

func FuzzPieces(f *testing.F) {
	r := rand.New(rand.NewSource(1))
	for range 20 {
		f.Add(randomText(r), uint8(r.Intn(30)))
	}
	m := NewMask([]Secret{{Value: "abcABC12", User: "me", Sure: true}}, NewTable(nil))
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		var pieces []string
		for rest := text; rest != ""; {
			n := min(int(cut)+1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		want := m.String(text)
		if got := masked(m, pieces...); got != want {
			t.Fatalf("pieces of %d of %q\n got %q\nwant %q", cut+1, text, got, want)
		}
		if again := m.String(want); again != want && !strings.Contains(text, opening) {
			t.Logf("masked twice: %q, %q", want, again)
		}
	})
}

// Only a file that contains a secret gets it back.
func TestRestore(t *testing.T) {
	table := NewTable(nil)
	m := NewMask([]Secret{{Value: "my-own-s3cret", Sure: true}}, table)
	name := m.String("my-own-s3cret")
	other := "[secret:jwt:0000-1]"
	for _, c := range []struct {
		text, content, want string
		err                 error
	}{
		{"a " + name + name, "b my-own-s3cret", "a my-own-s3cretmy-own-s3cret", nil},
		{"a " + name, "b", "", ErrOther},
		{"a " + name, "my-own-s3cret " + name, "", ErrBoth},
		{"a " + name, "b " + name, "a " + name, nil},
		{other, "my-own-s3cret", "", ErrUnknown},
		{other, "my-own-s3cret " + other, other, nil},
		{Masked, "my-own-s3cret", "", ErrUnknown},
		{"[secret:] [secret:jwt] [secret:a:b-c]", "", "[secret:] [secret:jwt] [secret:a:b-c]", nil},
	} {
		if got, _, err := table.Restore(c.text, c.content); got != c.want || err != c.err {
			t.Errorf("%q in %q: %q, %v", c.text, c.content, got, err)
		}
	}
	if again := m.String(name); again != name {
		t.Error("a placeholder is masked:", again)
	}
}

// TestCorpus searches the files below $SECRETS_CORPUS, and prints what it finds.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("SECRETS_CORPUS")
	if dir == "" {
		t.Skip("SECRETS_CORPUS isn't set")
	}
	m, files, size := NewMask(nil, nil), 0, 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			return err
		}
		files, size = files+1, size+len(text)
		found, _ := m.find(text, true, 0)
		for _, s := range found {
			t.Logf("%s: %s: %.80q after %q", path, s.kind, text[s.from:s.to], text[max(0, s.from-30):s.from])
		}
		return nil
	})
	t.Logf("%d files, %d MB, %v", files, size>>20, err)
}

func BenchmarkPatterns(b *testing.B) {
	m := NewMask(nil, NewTable(nil))
	line := "2026-01-02 03:04:05 INFO some ordinary line of a log file: https://example.com/x/internal/engine/redact/patterns.go\n"
	for name, in := range map[string]string{
		"log": strings.Repeat(line, 9000), "go": strings.Repeat(goText(b), 20),
		"base64": base64.StdEncoding.EncodeToString([]byte(pick(rand.New(rand.NewSource(1)), letters+digits+" \n\x00\xff", 800_000))),
	} {
		in = in[:1_000_000]
		b.Run(name+"/whole", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				m.find([]byte(in), true, 0)
			}
		})
		b.Run(name+"/pieces", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				s := m.Stream()
				for p := []byte(in); len(p) > 0; p = p[min(len(p), 4096):] {
					s.Write(p[:min(len(p), 4096)], func([]byte) {})
				}
			}
		})
	}
}

func goText(b *testing.B) string {
	var all []byte
	for _, name := range []string{"patterns.go", "mask.go", "blocks.go", "checks.go", "generate_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text...)
	}
	return string(bytes.Repeat(all, 2))
}
