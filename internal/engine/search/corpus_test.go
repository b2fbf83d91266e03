package search

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// corpusPatterns are searched for in Go's own sources; each is compared line by line.
var corpusPatterns = []string{
	`return`, `ErrUnexpectedEOF`, `todo`, `TODO`, `(TODO|FIXME|XXX)\b`, `func \w+Error\(`, `[a-z]{3}_[A-Z]+\d+`, `[a-z]+\s+[0-9]{4,}`, `^package \w+$`, `^$`,
	`^\s*//`, `\bif err != nil\b`, `\berr\b.*\berr\b`, `[A-Z]{5,}`, `0x[0-9a-fA-F]{8}`, `"[^"]{40,}"`, `'\\.'`, `\t{5,}`, `\s+$`, `func \(.*\) \w+\(`,
	`interface\{\}`, `map\[string\]\w+`, `\[\]byte\("`, `<-`, `:=.*:=`, `^type \w+ struct \{$`, `^\}$`, `(a|b|c)+d`, `(ab)*c\b`, `x{2,}`,
	`[^ -~\t]`, `[^\x00-\x7f]+`, `é`, `日本`, `世界`, `(?i)utf-?8`, `(?i)K[a-z]*S\b`, `(?i)straße`, `\w+@\w+\.\w+`, `https?://[^\s"]+`,
	`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`, `[[:upper:]][[:lower:]]+[[:digit:]]`, `^import \(`, `defer .*Close\(\)`, `go func`, `select \{`, `case .*:$`, `\bnil\b|\btrue\b|\bfalse\b`, `a.*b.*c.*d.*e`, `.{120,}`,
	`^.{0,3}$`, `(foo|bar|baz|quux)`, `[aeiou]{4}`, `\Bing\b`, `_test\.go`, `\$\{?\w+`, `%[dsvqx]`, `\\n`, `/\*.*\*/`, `[({]\s*$`,
	`(the|a|an) (\w+) (is|are)`, `ſ`, `k`, `\x{2028}|…`, `=\s*-?\d+$`, `\<main\>`, `a\/b`, `unicode\.`, `.`, `zzzzqqqq`,
}

// goRoot is Go's directory. A test binary with trimmed paths doesn't know it.
func goRoot(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("go is not installed: ", err)
	}
	return strings.TrimSpace(string(out))
}

// corpus copies some of Go's sources into a repository with nested ignore files.
func corpus(t *testing.T) string {
	dirs := []string{"strings", "unicode/utf8", "bytes"}
	switch share := soak.Share(); {
	case share >= 1: // 40 MB
		dirs = append(dirs, "regexp", "encoding/json", "net", "crypto", "cmd/compile/internal/ssa")
	case share > 0:
		dirs = append(dirs, "regexp", "encoding/json", "net/http")
	}
	top := tree(t, map[string]string{
		".gitignore":             "*_test.go\n!builder_test.go\n/bytes/*_386.s\ntestdata/\n",
		"strings/.gitignore":     "!replace_test.go\nreader.go\n",
		"bytes/.gitignore":       "example*\n",
		"crlf/dos.go":            "package dos\r\n\r\nfunc x() error { return nil }\r\n}\r\nTODO\r\n",
		"crlf/bad.txt":           "\xfd\xff bad \xc3 bytes \xe2\x84\n\xe2\x84\xaa and ſ\nlast \xf0\x9f\x98\x80 line",
		"strings/sub/.gitignore": "*\n!*.keep\n",
		"strings/sub/a.keep":     "return 1\n",
		"strings/sub/b":          "return 1\n",
	})
	src := filepath.Join(goRoot(t), "src")
	for _, d := range dirs {
		err := filepath.WalkDir(filepath.Join(src, d), func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			r, err := filepath.Rel(src, p)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(top, r)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(top, r), data, 0o644)
		})
		if err != nil {
			t.Skip("Go's sources are not here: ", err)
		}
	}
	return top
}

// naiveWalk lists the files of a tree that git does not ignore, by asking git.
func naiveWalk(t *testing.T, top string) []string {
	var all []string
	err := filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if e.Name() == ".git" {
			return filepath.SkipDir
		}
		if e.Type().IsRegular() {
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-C", top, "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(all, "\x00"))
	out, _ := cmd.Output() // it fails when nothing is ignored
	ignored := map[string]bool{}
	for _, p := range strings.Split(string(out), "\x00") {
		ignored[p] = true
	}
	var kept []string
	for _, p := range all {
		if !ignored[p] {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	return kept
}

// TestEqualToNaive compares with package regexp on every line of every file that git does not ignore.
func TestEqualToNaive(t *testing.T) {
	serial.Test(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := corpus(t)
	if out, err := exec.Command("git", "init", "-q", top).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	var files []string
	var texts [][]byte
	for _, p := range naiveWalk(t, top) {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if isBinary(data) {
			continue
		}
		files, texts = append(files, p), append(texts, data)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	for i, pattern := range corpusPatterns {
		q := Query{Pattern: pattern, Case: Case(i % 3)}
		slow, err := newNaive(q)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for k, p := range files {
			if lines := slow.lines(texts[k]); len(lines) > 0 {
				fmt.Fprintf(&want, "%s\n%s\n", p, strings.Join(lines, "\n"))
			}
		}
		res, err := Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{top}, portable: i%4 == 3}, Pattern: mustCompile(t, q), MaxLine: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		expected := strings.ReplaceAll(want.String(), "\r\n", "\n") // the return is not shown
		if got := plain(res); got != expected {
			t.Errorf("%q differs: %s", pattern, firstDifference(got, expected))
		}
	}
	t.Logf("%d patterns over %d files", len(corpusPatterns), len(files))
}

func plain(res *GrepResult) string {
	var b bytes.Buffer
	for _, f := range res.Files {
		fmt.Fprintf(&b, "%s\n", f.Path)
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "%d:%s\n", l.Number, l.Text)
		}
	}
	return b.String()
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(as), len(bs))
}

// TestEqualToRipgrep compares with ripgrep over all of Go's tree. Its classes are Unicode's where RE2's are ASCII, so they
// are spelled out for it; lines that are not UTF-8 are omitted, because there its "." and [^x] match less than Go's.
func TestEqualToRipgrep(t *testing.T) {
	rg := os.Getenv("ADZE_RG")
	if rg == "" {
		t.Skip("set ADZE_RG to a ripgrep binary to compare with it")
	}
	// NUL bytes after the first 64 KB stop ripgrep but not us; Windows line endings are its --crlf.
	top := filepath.Join(goRoot(t), "src")
	spell := strings.NewReplacer(`\\`, `\\`, `\w`, `[0-9A-Za-z_]`, `\d`, `[0-9]`, `\s`, `[\t\f\r\x20]`, `\b`, `(?-u:\b)`, `\B`, `(?-u:\B)`, `\<`, `(?-u:\b)`, `\>`, `(?-u:\b)`)
	for i, pattern := range corpusPatterns {
		q := Query{Pattern: pattern, Case: Case(1 + i%2)}
		args := []string{"--no-config", "--no-heading", "-n", "--hidden", "--crlf", "--sort", "path", "--color", "never", "-e", spell.Replace(pattern), top}
		if q.Case == Insensitive {
			args = append([]string{"-i"}, args...)
		}
		out, _ := exec.Command(rg, args...).Output()
		res, err := Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, q), MaxLine: bufferSize / 4})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range res.Files {
			for _, l := range f.Lines {
				fmt.Fprintf(&b, "%s:%d:%s\n", f.Path, l.Number, l.Text)
			}
		}
		if d := difference(b.String(), string(out)); d != "" {
			t.Errorf("%q (case %d): %s", pattern, q.Case, d)
		}
	}
}

// difference compares without regard to the order of files, which the two sort differently.
func difference(got, want string) string {
	want = strings.ReplaceAll(want, "\r\n", "\n")
	have := map[string]int{}
	// Of a line that is longer than the buffer only a part is shown.
	short := func(l string) string {
		if len(l) > bufferSize/8 {
			p := strings.SplitN(l, ":", 3)
			return p[0] + ":" + p[1]
		}
		return l
	}
	for _, l := range strings.Split(got, "\n") {
		if utf8.ValidString(l) {
			have[short(l)]++
		}
	}
	for _, l := range strings.Split(want, "\n") {
		if !utf8.ValidString(l) {
			continue
		}
		if l = short(l); have[l] == 0 {
			return fmt.Sprintf("missing %q", l)
		}
		have[l]--
	}
	for l, n := range have {
		if n > 0 {
			return fmt.Sprintf("too much %q", l)
		}
	}
	return ""
}
