package edit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func patchOf(files string) string { return beginPatch + "\n" + files + endPatch + "\n" }

// apply parses a patch with one update and applies it.
func apply(t testing.TB, text, hunks string) (string, error) {
	t.Helper()
	files, err := ParsePatch(patchOf("*** Update File: f\n" + hunks))
	if err != nil {
		return text, err
	}
	r, err := ApplyHunks(text, files[0].Hunks)
	if err != nil {
		return text, err
	}
	return replace(text, r.Spans), nil
}

func TestHunks(t *testing.T) {
	const classes = "class A:\n  def f():\n    return 1\n  def g():\n    return 1\nclass B:\n  def f():\n    return 1\n"
	for name, c := range map[string]struct{ text, hunks, want string }{
		"one":           {"a\nb\nc\n", "@@\n a\n-b\n+B\n", "a\nB\nc\n"},
		"no @@ line":    {"a\nb\n", " a\n-b\n+B\n", "a\nB\n"},
		"two in order":  {"x\na\nx\n", "@@\n-x\n+1\n@@\n-x\n+2\n", "1\na\n2\n"},
		"order decides": {"x\na\nx\n", "@@\n-a\n+A\n@@\n-x\n+2\n", "x\nA\n2\n"},
		"a scope":       {classes, "@@ class B:\n-    return 1\n+    return 2\n", strings.Replace(classes, "B:\n  def f():\n    return 1", "B:\n  def f():\n    return 2", 1)},
		"nested scopes": {classes, "@@ class A:\n@@   def g():\n-    return 1\n+    return 2\n",
			strings.Replace(classes, "def g():\n    return 1", "def g():\n    return 2", 1)},
		// As in OpenAI's guide for GPT-4.1: without the end of the line.
		"the words of a scope":  {"class Ab:\n  x\nclass A(B):\n  x\n", "@@ class A\n-  x\n+  y\n", "class Ab:\n  x\nclass A(B):\n  y\n"},
		"line numbers":          {"a\nb\n", "@@ -1,2 +1,2 @@\n-b\n+B\n", "a\nB\n"},
		"end of file":           {"a\nb\na\n", "@@\n-a\n+A\n*** End of File\n", "a\nb\nA\n"},
		"adds at the end":       {"a\n", "@@\n+b\n", "a\nb\n"},
		"no newline stays":      {"a\nb", "@@\n-b\n+B\n", "a\nB"},
		"adds without newline":  {"a", "@@\n+b\n", "a\nb"},
		"newline added":         {"a", "@@\n-a\n\\ No newline at end of file\n+a\n", "a\n"},
		"newline removed":       {"a\n", "@@\n-a\n+a\n\\ No newline at end of file\n", "a"},
		"an empty context line": {"a\n\nb\n", "@@\n a\n\n-b\n+B\n", "a\n\nB\n"},
		"trailing blanks":       {"a  \nb\n", "@@\n a\n-b\n+B\n", "a  \nB\n"},
		"typography":            {"it’s\nb\n", "@@\n it's\n-b\n+B\n", "it’s\nB\n"},
		"indentation":           {"\tif x {\n\t\ty\n\t}\n", "@@\n if x {\n-    y\n+    z\n }\n", "\tif x {\n\t\tz\n\t}\n"},
		"deletion":              {"a\nb\nc\n", "@@\n a\n-b\n c\n", "a\nc\n"},
		"carriage returns":      {"a\nb\n", "@@\n a\r\n-b\r\n+B\r\n", "a\nB\n"},
	} {
		if got, err := apply(t, c.text, c.hunks); err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}

func TestHunksThatDontFit(t *testing.T) {
	for name, c := range map[string]struct{ text, hunks, want string }{
		"twice":             {"a\nb\na\n", "@@\n-a\n+A\n", "line 3 of the patch: text to replace occurs 2 times, at lines 1, 3"},
		"overlapping":       {"a\na\na\n", "@@\n-a\n-a\n+b\n", "occurs 2 times, at lines 1, 2"},
		"nowhere":           {"a\n", "@@\n-b\n+c\n", "line 3 of the patch: text to replace not found in the file"},
		"another scope":     {"a = 1\ndef f():\n  pass\n", "@@ def f():\n-a = 1\n+a = 2\n", "It is at line 1, before the line that @@ names"},
		"no such scope":     {"a\n", "@@ def f():\n-a\n+b\n", `The @@ line names "def f():", which no line begins with`},
		"another order":     {"a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", "line 6 of the patch: the part overlaps another one, or comes before it"},
		"only adds":         {"a\n", "@@ a\n+b\n", "the part only adds lines"},
		"not at the end":    {"a\nb\n", "@@\n-a\n+A\n*** End of File\n", "not found"},
		"no whole line":     {"ab\n", "@@\n-b\n+c\n", "not found"},
		"done already":      {"func f(x int) int {\n", "@@\n-func f() int {\n+func f(x int) int {\n", "already there, at line 1"},
		"overlapping parts": {"a\nb\nc\n", "@@\n-a\n b\n@@\n b\n-c\n", "line 6 of the patch: the part overlaps another one"},
		"twice at an end":   {"a\nb\na", "@@\n-a\n+A\n", "occurs 2 times, at lines 1, 3"},
	} {
		got, err := apply(t, c.text, c.hunks)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// A bad patch is an error that names its line.
func TestBadPatches(t *testing.T) {
	for name, c := range map[string]struct {
		patch string
		line  int
		want  string
	}{
		"empty":          {"", 1, "the first line must be"},
		"no end":         {"*** Begin Patch\n*** Add File: a\n+b\n", 3, "without"},
		"no files":       {patchOf(""), 2, "no files"},
		"line ends":      {"*** Begin Patch\r\n*** End Patch\r\n", 1, `\r\n line endings`},
		"a mark":         {"\ufeff*** Begin Patch\n*** End Patch\n", 1, "byte order mark"},
		"a header":       {patchOf("*** Frobnicate File: foo\n"), 2, "not a valid header"},
		"no header":      {patchOf("@@\n-a\n"), 2, "is in no file"},
		"no changes":     {patchOf("*** Update File: a\n"), 3, "has no changes"},
		"only context":   {patchOf("*** Update File: a\n@@\n b\n"), 5, "changes nothing"},
		"a move alone":   {patchOf("*** Add File: a\n*** Move to: b\n"), 3, "must follow"},
		"no mark":        {patchOf("*** Update File: a\n@@\nx\n"), 4, "must begin with a space"},
		"no plus":        {patchOf("*** Add File: a\n+x\ny\n"), 4, "must begin with +"},
		"deleted lines":  {patchOf("*** Delete File: a\n-x\n"), 3, "has no lines"},
		"more":           {patchOf("*** Delete File: a\n") + "x", 4, "more text"},
		"end of nothing": {patchOf("*** Update File: a\n@@\n*** End of File\n"), 4, "changes nothing"},
		"too long":       {patchOf("*** Add File: a\n" + strings.Repeat("+0123456789abcde\n", 10<<20/17)), 246724, "exceeds 4 MB"},
	} {
		_, err := ParsePatch(c.patch)
		var bad *PatchError
		if !errors.As(err, &bad) || bad.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.want)
		}
	}
}

// Forms that models write are read.
func TestLenientPatches(t *testing.T) {
	for name, patch := range map[string]string{
		"padded marks":   " *** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch ",
		"a padded end":   "*** Begin Patch \n*** Update File: f\n@@\n-a\n+b\n *** End Patch",
		"a padded file":  "*** Begin Patch\n  *** Update File: f\n@@\n-a\n+b\n*** End Patch",
		"a shell's form": "<<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEOF\n",
	} {
		files, err := ParsePatch(patch)
		if err != nil || len(files) != 1 || files[0].Path != "f" || len(files[0].Hunks) != 1 || files[0].Hunks[0].Old != "a\n" {
			t.Errorf("%s: %+v, %v", name, files, err)
		}
	}
}

// Lines that look like marks of a patch are content where they have their own mark.
func TestPatchOfPatch(t *testing.T) {
	text := patchOf("*** Update File: g\n@@\n-x\n+y\n")
	got, err := apply(t, text, "@@\n *** Update File: g\n @@\n--x\n+-z\n +y\n *** End Patch\n")
	if want := strings.Replace(text, "-x", "-z", 1); err != nil || got != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
}

// randomText returns lines of a small alphabet, so that many are equal.
func randomText(r *rand.Rand) string {
	words := []string{"", "a", "b", "}", "\tx", "  y", "é…", "+", "-a", "@@", "*** End Patch", "a\u200b", "\\ No newline"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(words[r.IntN(len(words))] + "\n")
	}
	text := b.String()
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// hunkPatch returns the difference of two texts as a patch, with n lines of context.
func hunkPatch(old, now string, n int) string {
	a, b := linesOf(old), linesOf(now)
	var out strings.Builder
	line := func(mark, text string) {
		out.WriteString(mark + strings.TrimSuffix(text, "\n") + "\n")
		if !strings.HasSuffix(text, "\n") {
			out.WriteString(noNewline + "\n")
		}
	}
	for _, d := range ChangedLines(a, b) {
		out.WriteString("@@\n")
		for _, l := range a[max(0, d.Start-n):d.Start] {
			line(" ", l)
		}
		for _, l := range a[d.Start:d.End] {
			line("-", l)
		}
		for _, l := range b[d.ReplStart:d.ReplEnd] {
			line("+", l)
		}
		for _, l := range a[d.End:min(len(a), d.End+n)] {
			line(" ", l)
		}
	}
	return out.String()
}

// applyLines makes a change by edits of lines: one for each changed part, with a line beside what is only added.
func applyLines(old, now string) (string, error) {
	a, b := linesOf(old), linesOf(now)
	if strings.HasSuffix(old, "\n") != strings.HasSuffix(now, "\n") || now == "" {
		return now, nil // edits of lines keep the end of the file
	}
	anchors := strings.Split(Anchored(old, old, 1), "\n")
	at := func(i int) string { anchor, _, _ := strings.Cut(anchors[i], "|"); return anchor }
	var edits []LineEdit
	for _, d := range ChangedLines(a, b) {
		first, last, fresh := d.Start, d.End, b[d.ReplStart:d.ReplEnd]
		switch {
		case first < last:
		case len(a) == 0:
			return "", errors.New("no lines")
		case last < len(a):
			last, fresh = last+1, append(slices.Clone(fresh), a[last])
		default:
			first, fresh = first-1, append([]string{a[first-1]}, fresh...)
		}
		edits = append(edits, LineEdit{at(first), at(last - 1), strings.Join(fresh, "")})
	}
	r, err := ApplyLines(old, nil, edits)
	return replace(old, r.Spans), err
}

// Random edits of random files give the same bytes as patch, as whole-file patch, as replacement and as edits of lines, or an
// error.
func TestDialectsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 1))
	landed, refused := 0, 0
	for range 20_000 {
		old, now := randomText(r), randomText(r)
		if r.IntN(2) == 0 && old != "" { // a small change
			lines := linesOf(old)
			lines[r.IntN(len(lines))] = fmt.Sprintf("new %d\n", r.IntN(3))
			now = strings.Join(lines, "")
		}
		if old == now {
			continue
		}
		files, err := ParsePatch(FormatPatch([]FilePatch{{Kind: PatchUpdate, Path: "f", Hunks: []Hunk{{Old: old, New: now}}}}))
		if err != nil {
			t.Fatalf("%q to %q: %v", old, now, err)
		}
		whole, err := ApplyHunks(old, files[0].Hunks)
		if err != nil || replace(old, whole.Spans) != now {
			t.Fatalf("all of %q to %q: %q (%v)", old, now, replace(old, whole.Spans), err)
		}
		if old != "" {
			m, err := Find(old, Edit{Old: old, New: now})
			if err != nil || m.Apply(old) != now {
				t.Fatalf("replace %q by %q: %v", old, now, err)
			}
		}
		if got, err := applyLines(old, now); err != nil && old != "" && !strings.Contains(err.Error(), "overlaps") || err == nil && got != now {
			t.Fatalf("lines of %q to %q: %q (%v)", old, now, got, err)
		}
		context := 1 + r.IntN(3)
		got, err := apply(t, old, hunkPatch(old, now, context))
		if err != nil {
			refused++
			continue
		}
		if landed++; got != now {
			t.Fatalf("%q to %q: %q\n%s", old, now, got, hunkPatch(old, now, context))
		}
	}
	t.Logf("%d landed, %d refused", landed, refused)
	if landed < 5*refused/2 {
		t.Errorf("only %d landed, %d were refused", landed, refused)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(patchOf("*** Update File: f\n@@ x\n-a\n+b\n*** End of File\n"), "x\na\n")
	f.Add(patchOf("*** Add File: f\n+b\n*** Delete File: g\n"), "")
	f.Add("<<EOF\n"+patchOf("*** Update File: f\n*** Move to: g\n a\n\n-b\n\\ No newline at end of file\n")+"EOF", "a\n\nb")
	f.Fuzz(func(t *testing.T, patch, text string) {
		files, err := ParsePatch(patch)
		if err != nil {
			var bad *PatchError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Line > 1+strings.Count(patch, "\n") {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, file := range files {
			r, err := ApplyHunks(text, file.Hunks)
			if err != nil {
				continue
			}
			checkSpans(t, text, r.Spans)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb", "1:x", "2:abc| b", "1:abc| c\r\n")
	f.Add("", "0:", "-1:aaa", "")
	f.Fuzz(func(t *testing.T, text, first, last, now string) {
		all := LineEdit{New: now}
		if text != "" {
			all = AllLines(text, now)
		}
		for _, e := range []LineEdit{{first, last, now}, all, {all.First, last, now}, {first, all.Last, now}} {
			r, err := ApplyLines(text, nil, []LineEdit{e})
			var stale *StaleError
			if errors.As(err, &stale) && len(stale.Around(text, text)) > 1700 {
				t.Fatalf("%d bytes", len(stale.Around(text, text)))
			}
			checkSpans(t, text, r.Spans)
			next := replace(text, r.Spans)
			r, _ = ApplyLines(next, []Version{{text, r.Spans}}, []LineEdit{e}) // with the anchors of the text before
			checkSpans(t, next, r.Spans)
		}
	})
}

func checkSpans(t *testing.T, text string, spans []Span) {
	at := 0
	for _, s := range spans {
		if s.Start < at || s.End < s.Start || s.End > len(text) {
			t.Fatalf("spans %+v of %q", spans, text)
		}
		at = s.End
	}
}

func FuzzApply(f *testing.F) {
	f.Add("a\nb\n", "a", "b", "b", "c")
	f.Fuzz(func(t *testing.T, text, old1, new1, old2, new2 string) {
		r, err := Apply(text, []Edit{{Old: old1, New: new1}, {Old: old2, New: new2}})
		if err != nil && len(err.Error()) > 2200 {
			t.Fatalf("%d bytes: %v", len(err.Error()), err)
		}
		checkSpans(t, text, r.Spans)
	})
}
