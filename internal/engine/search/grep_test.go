package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/google/go-cmp/cmp"
)

func TestGrepModes(t *testing.T) {
	top := tree(t, map[string]string{
		"a.go":      "one\nfoo\nthree\nfour\nfive\nfoo foo\n",
		"b/c.txt":   "foo\r\nbar\r\n",
		"b/d.md":    "nothing\n",
		"e":         "x\ny\nfoo",
		".dot/f.go": "foo\n",
		".git/g":    "foo\n",
		"bin":       "foo\x00\n",
	})
	base := GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})}
	cases := []struct {
		name string
		edit func(*GrepRequest)
		want string
	}{
		{"all", func(r *GrepRequest) {}, ".dot/f.go 1\n1:foo\na.go 2\n2:foo\n--\n6:foo foo\nb/c.txt 1\n1:foo\ne 1\n3:foo\n"},
		{"context", func(r *GrepRequest) { r.Before, r.After = 1, 1 }, ".dot/f.go 1\n1:foo\na.go 2\n1-one\n2:foo\n3-three\n--\n5-five\n6:foo foo\nb/c.txt 1\n1:foo\n2-bar\ne 1\n2-y\n3:foo\n"},
		{"meeting context", func(r *GrepRequest) { r.Before, r.After, r.Globs = 2, 2, []string{"a*"} }, "a.go 2\n1-one\n2:foo\n3-three\n4-four\n5-five\n6:foo foo\n"},
		{"counts", func(r *GrepRequest) { r.Mode = Counts }, ".dot/f.go 1\na.go 2\nb/c.txt 1\ne 1\n"},
		{"paths", func(r *GrepRequest) { r.Mode = Paths }, ".dot/f.go 1\na.go 1\nb/c.txt 1\ne 1\n"},
		{"limit", func(r *GrepRequest) { r.Limit = 2 }, ".dot/f.go 1\n1:foo\na.go 2\n2:foo\n"},
		{"offset", func(r *GrepRequest) { r.Limit, r.Offset = 2, 2 }, "a.go 2\n6:foo foo\nb/c.txt 1\n1:foo\n"},
		{"past the end", func(r *GrepRequest) { r.Limit, r.Offset = 2, 9 }, ""},
		{"no hidden", func(r *GrepRequest) { r.SkipHidden, r.Mode = true, Paths }, "a.go 1\nb/c.txt 1\ne 1\n"},
		{"type", func(r *GrepRequest) { r.Types = []string{"go"}; r.Mode = Paths }, ".dot/f.go 1\na.go 1\n"},
		{"glob", func(r *GrepRequest) { r.Globs = []string{"*.{go,txt}", "!.dot"}; r.Mode = Paths }, "a.go 1\nb/c.txt 1\n"},
		{"glob with folder", func(r *GrepRequest) { r.Globs = []string{"b/**"}; r.Mode = Paths }, "b/c.txt 1\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := base
			c.edit(&req)
			if diff := cmp.Diff(c.want, rel(top, show(grep(t, req)))); diff != "" {
				t.Error(diff)
			}
		})
	}
	res := grep(t, GrepRequest{Scope: base.Scope, Pattern: base.Pattern, Limit: 1})
	if res.Matches != 5 || res.MatchedFiles != 4 || res.Binary != 1 || res.Seen != 6 {
		t.Errorf("totals must count what the limit leaves out: %+v", res)
	}
	res = grep(t, GrepRequest{Scope: Scope{Paths: []string{filepath.Join(top, "bin")}}, Pattern: base.Pattern})
	if len(res.Files) != 1 || !res.Files[0].Binary || res.Files[0].Lines != nil {
		t.Errorf("a binary file that is named must be told of: %+v", res.Files)
	}
}

func TestMultiline(t *testing.T) {
	top := tree(t, map[string]string{"a": "x\nfunc a() {\n\treturn 1\n}\nfunc b() {\n}\nfoo\nbar foo\nbar\n", "b": "\ufefffoo\nbar"})
	cases := []struct {
		q    Query
		want string
	}{
		{Query{Pattern: `foo\nbar`}, "a 3\n7:foo\n8:bar foo\n9:bar\nb 2\n1:foo\n2:bar\n"},
		{Query{Pattern: `\{\n\s+return`}, "a 2\n2:func a() {\n3:\treturn 1\n"},
		{Query{Pattern: `func.*foo`}, ""},
		{Query{Pattern: `func.*foo`, DotNewline: true}, "a 7\n2:func a() {\n3:\treturn 1\n4:}\n5:func b() {\n6:}\n7:foo\n8:bar foo\n"},
		{Query{Pattern: `^foo$`}, "a 1\n7:foo\nb 1\n1:foo\n"},
		{Query{Pattern: `\Ax\n`}, "a 1\n1:x\n"},
		{Query{Pattern: `\bfoo\nb`}, "a 3\n7:foo\n8:bar foo\n9:bar\nb 2\n1:foo\n2:bar\n"},
	}
	for _, c := range cases {
		c.q.Multiline = true
		got := rel(top, show(grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, c.q)})))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.q.Pattern, diff)
		}
	}
}

func TestIgnoredAndRefused(t *testing.T) {
	top := tree(t, map[string]string{
		".git/":             "",
		".gitignore":        "build/\n*.log",
		".aiignore":         "secret*",
		"a":                 "foo",
		"build/x":           "foo",
		"build/.gitignore":  "y",
		"build/y":           "foo",
		"x.log":             "foo",
		"secret/k":          "foo",
		"sub/secret.txt":    "foo",
		"sub/.qwenignore":   "!secret.txt\nz",
		"sub/z":             "foo",
		"nested/.git/":      "",
		"nested/.gitignore": "own",
		"nested/own":        "foo",
		"nested/n.log":      "foo",
		"sneak":             "-> secret",
		"sneak2":            "-> sub/z",
	})
	p := mustCompile(t, Query{Pattern: "foo"})
	names := func(s Scope) string {
		return rel(top, show(grep(t, GrepRequest{Scope: s, Pattern: p, Mode: Paths})))
	}
	if got := names(Scope{Paths: []string{top}}); got != "a 1\nnested/n.log 1\n" {
		t.Errorf("by default: %q", got)
	}
	if got := names(Scope{Paths: []string{top}, NoIgnore: true}); got != "a 1\nbuild/x 1\nbuild/y 1\nnested/n.log 1\nnested/own 1\nx.log 1\n" {
		t.Errorf("without git's rules: %q", got)
	}
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{filepath.Join(top, "build")}, Rules: ignore.New(ignore.Options{Roots: []string{top}})}, Pattern: p})
	if len(res.Files) != 1 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "git-ignored by "+filepath.Join(top, ".gitignore")+" line 1 (build/)") {
		t.Errorf("a git-ignored folder that is named: %+v", res)
	}
	for _, path := range []string{"secret", "secret/k", "sub/secret.txt", "sub/z", "sneak", "sneak/k", "sneak2"} {
		_, err := Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{filepath.Join(top, path)}, NoIgnore: true}, Pattern: p})
		var v ignore.Verdict
		if !errors.As(err, &v) || v.State != ignore.Refused || !strings.Contains(err.Error(), "ignore line ") {
			t.Errorf("%s must be refused: %v", path, err)
		}
	}
}

func TestUTF16(t *testing.T) {
	wide := func(order binary.AppendByteOrder, s string) string {
		b := order.AppendUint16(nil, 0xfeff)
		for _, u := range utf16.Encode([]rune(s)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	text := strings.Repeat("an ordinary line\r\n", 60000) + "hello 😀 wörld\r\nend"
	top := tree(t, map[string]string{"be": wide(binary.BigEndian, text), "le": wide(binary.LittleEndian, text), "odd": wide(binary.LittleEndian, "hello") + "x"})
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "(?i)HELLO( . WÖRLD)?"})})
	want := "be 1\n60001:hello 😀 wörld\nle 1\n60001:hello 😀 wörld\nodd 1\n1:hello�\n"
	if diff := cmp.Diff(want, rel(top, show(res))); diff != "" || res.Files[0].Encoding != "utf-16be" {
		t.Error(diff)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	line := strings.Repeat("ä", 3000) + "needle" + strings.Repeat("z", 3000)
	top := tree(t, map[string]string{"a": "short needle\n" + line + "\n"})
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "needle"}), MaxLine: 100})
	l := res.Files[0].Lines[1]
	if !l.Cut || len(l.Text) > 100 || !strings.Contains(l.Text, "needle") || !strings.HasPrefix(line[l.Offset:], l.Text) || !strings.HasPrefix(l.Text, "ä") {
		t.Errorf("got %+v", l)
	}
	if diff := cmp.Diff([]Range{{1, 1}}, res.Files[0].Shown()); diff != "" {
		t.Error(diff)
	}
}

func TestDeadlineTellsWhatWasFound(t *testing.T) {
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("d%d/f%d", i%60, i)] = "foo\n"
	}
	top := tree(t, files)
	res, err := Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{top}, Timeout: time.Nanosecond}, Pattern: mustCompile(t, Query{Pattern: "foo"})})
	if err != nil || res.Incomplete != TimedOut || res.Matches == 3000 {
		t.Errorf("a deadline: %v, %q, %d matches", err, res.Incomplete, res.Matches)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err = Grep(ctx, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})})
	if !errors.Is(err, context.Canceled) || res.Incomplete != Cancelled {
		t.Errorf("a cancelled context: %v, %q", err, res.Incomplete)
	}
	res, err = Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"}), Enough: 10})
	if err != nil || res.Incomplete != Enough || res.Matches < 10 || res.Matches > 100 {
		t.Errorf("enough: %v, %q, %d", err, res.Incomplete, res.Matches)
	}
}

// A search can be canceled in the middle of a large file. The goal is 50 ms; the bound only finds hangs.
func TestCancelInLargeFile(t *testing.T) {
	top := tree(t, map[string]string{"a": ""})
	f, err := os.OpenFile(filepath.Join(top, "a"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunk := []byte(strings.Repeat("the quick brown fox é jumps xxxxxxxxxxxx abbabaaab\n", 1<<14))
	for range soak.Count(60, 300) {
		if _, err := f.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	for _, q := range []Query{{Pattern: "zzz"}, {Pattern: `(x+x+)+y`}, {Pattern: `[^a]b.*c\n\d`, Multiline: true}, {Pattern: `é.*q\d`}, {Pattern: `[ab]*a[ab]{700}x`}, {Pattern: `[ab\n]*a[ab\n]{700}x`, Multiline: true}} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		start := time.Now()
		if _, err := Grep(ctx, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, q)}); err == nil {
			t.Logf("%q finished before it was cancelled, in %v", q.Pattern, time.Since(start))
		} else if d := time.Since(start) - 20*time.Millisecond; d > 30*time.Second {
			t.Errorf("%q: cancelling took %v", q.Pattern, d)
		}
	}
}
