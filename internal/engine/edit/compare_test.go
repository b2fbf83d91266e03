package edit

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"same", "a\n", "a\n", ""},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"blanks", "a \n", "a\n", "@@ -1 +1 @@\n-a \n+a\n"},
		{"line ending", "a\r\nb\r\n", "a\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"},
		{"final newline", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"still no final newline", "a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"},
		{"new file", "", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"emptied", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\ny\n",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+y\n"},
		{"one hunk", "1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n",
			"@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- Current\n+++ Proposed\n" + want
		}
		if got := Compare(c.old, c.new).Unified("Current", "Proposed"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// patch applies a unified diff the obvious way.
func patch(t interface{ Fatalf(string, ...any) }, old, diff string) string {
	lines := linesOf(old)
	var out strings.Builder
	at := 0
	rest := linesOf(diff)
	if len(rest) > 0 {
		rest = rest[2:]
	}
	for i, line := range rest {
		body := line[1:]
		if i+1 < len(rest) && strings.HasPrefix(rest[i+1], "\\") {
			body = strings.TrimSuffix(body, "\n")
		}
		switch line[0] {
		case '@':
			from, count, _ := strings.Cut(strings.TrimPrefix(strings.Fields(line)[1], "-"), ",")
			n, err := strconv.Atoi(from)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if count != "0" {
				n--
			}
			for ; at < n; at++ {
				out.WriteString(lines[at])
			}
		case '+':
			out.WriteString(body)
		case ' ', '-':
			if lines[at] != body {
				t.Fatalf("line %d is %q, the diff says %q", at+1, lines[at], body)
			}
			at++
			if line[0] == ' ' {
				out.WriteString(body)
			}
		}
	}
	return out.String() + strings.Join(lines[at:], "")
}

func checkCompare(t interface{ Fatalf(string, ...any) }, old, new string) {
	c := Compare(old, new)
	if got := patch(t, old, c.Unified("a", "b")); got != new {
		t.Fatalf("the diff of %q and %q makes %q:\n%s", old, new, got, c.Unified("a", "b"))
	}
	s := c.Stat()
	if s.AddedLines-s.RemovedLines != len(linesOf(new))-len(linesOf(old)) || s.AddedChars-s.RemovedChars != chars(new)-chars(old) {
		t.Fatalf("stat of %q and %q: %+v", old, new, s)
	}
	c.Snippet("")
	for _, taken := range []string{"", "0", "1", "01"} { // the first, the third, ...
		header, _, _ := strings.Cut(c.Unified("a", "b"), "@@")
		var spans []Span
		for i, p := range c.Parts() {
			if strings.Contains(taken, strconv.Itoa(i%2)) {
				header += p.Diff
				spans = append(spans, p.Span)
			}
		}
		if got, want := Splice("", old, spans), patch(t, old, header); got != want {
			t.Fatalf("parts %q of %q to %q make %q, the diff %q:\n%s", taken, old, new, got, want, header)
		} else if taken == "01" && (got != new || header != c.Unified("a", "b")) {
			t.Fatalf("all parts of %q to %q make %q:\n%s", old, new, got, header)
		}
	}
}

func TestCompareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "d\r", "", " ", "e"})
		old := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "old"), "\n")
		new := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "new"), "\n")
		checkCompare(t, old, new)
	})
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, old, new string) { checkCompare(t, old, new) })
}

func TestGitAppliesDiff(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	rng := rand.New(rand.NewSource(1))
	for n := range 8 {
		var old, new []string
		for i := range 40 {
			line := fmt.Sprint("line ", i%7)
			if rng.Intn(5) > 0 {
				old = append(old, line)
			}
			if rng.Intn(5) > 0 {
				new = append(new, line)
			}
		}
		dir := t.TempDir()
		before, after := strings.Join(old, "\n"), strings.Join(new, "\n")+strings.Repeat("\n", n%2)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "-")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(Compare(before, after).Unified("a/f", "b/f"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v: %s", err, out)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != after {
			t.Fatalf("git apply made %q, want %q", got, after)
		}
	}
}

func TestCompareFindsFewDifferencesInManyLines(t *testing.T) {
	var old, new strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&old, "line %d of many\n", i)
		if i%40 == 0 {
			fmt.Fprintf(&new, "changed %d\n", i)
		} else {
			fmt.Fprintf(&new, "line %d of many\n", i)
		}
	}
	got := Compare(old.String(), new.String()).Stat()
	if got.AddedLines != 500 || got.RemovedLines != 500 {
		t.Errorf("got %+v, want 500 changed lines", got)
	}
}

func TestSnippet(t *testing.T) {
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = fmt.Sprint(i+1, "\n")
	}
	old := strings.Join(lines, "")
	new := strings.Replace(strings.Replace(old, "7\n", "seven\n", 1), "30\n", "", 1)
	want := "Showing lines 3-11 of 39:\n\n---\n\n3\n4\n5\n6\nseven\n8\n9\n10\n11\n" +
		"\nShowing lines 26-33 of 39:\n\n---\n\n26\n27\n28\n29\n31\n32\n33\n34\n"
	if got := Compare(old, new).Snippet(""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Compare(old, "").Snippet(""); got != "The file is now empty." {
		t.Errorf("got %q", got)
	}
	many := strings.Repeat("x\n", 2000)
	if got := Compare("", many).Snippet(""); got != "The changed lines 1-2000 of 2000 are too many to show." {
		t.Errorf("got %q", got)
	}
}
