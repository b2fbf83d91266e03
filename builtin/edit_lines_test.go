package builtin

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/tool"
)

// callIn runs a call of a model that writes edits in a dialect.
func callIn(t testing.TB, x *tool.Executor, dialect tool.Dialect, name string, args any) tool.Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{Name: name, Args: raw, Dialect: dialect})
	return batch.Wait()[0]
}

// anchorOf returns the anchor of the only line that contains a text.
func anchorOf(t testing.TB, text, part string) string {
	t.Helper()
	found := ""
	for line := range strings.Lines(edit.Anchored(text, text, 1)) {
		if anchor, rest, _ := strings.Cut(line, "| "); strings.Contains(rest, part) {
			if found != "" {
				t.Fatalf("%q is in several lines", part)
			}
			found = anchor
		}
	}
	if found == "" {
		t.Fatalf("%q is in no line", part)
	}
	return found
}

// A model that edits with anchors reads them, and gets the new ones with each result and each error.
func TestEditLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	const before = "one\ntwo\n\nfour\nfive"
	put(t, dir, map[string]string{"a.txt": before})
	x := executor(open(t, dir))
	read := func(offset int) string {
		return callIn(t, x, tool.AnchorDialect, "read_file", args{"absolute_path": path, "offset": offset}).Result.Text()
	}
	if got := read(0); got != edit.Anchored(before, before, 1) || !strings.HasPrefix(got, "1:") {
		t.Fatalf("read %q", got)
	}
	if got := read(3); !strings.HasSuffix(got, "\n\n"+edit.Anchored(before, "four\nfive", 4)) {
		t.Errorf("read a part: %q", got)
	}
	if got := call(t, x, "read_file", args{"absolute_path": path}).Result.Text(); got != before {
		t.Errorf("in another dialect: %q", got)
	}
	two, four := anchorOf(t, before, "two"), anchorOf(t, before, "four")
	o := callIn(t, x, tool.AnchorDialect, linesName, args{"file_path": path, "edits": []args{
		{"first": four, "new_text": four + "| FOUR\nmore"}, // an anchor that was copied
		{"first": two, "last": anchorOf(t, before, "two"), "new_text": "2\n"},
	}})
	const after = "one\n2\n\nFOUR\nmore\nfive"
	if got, _ := os.ReadFile(path); string(got) != after {
		t.Fatalf("%q: %s", got, o.Result.Text())
	}
	if !strings.Contains(o.Result.Text(), "\n"+anchorOf(t, after, "more")+"| more\n") {
		t.Errorf("the result has no anchors: %s", o.Result.Text())
	}
	for what, c := range map[string]struct {
		edits []args
		want  string
	}{
		"stale":           {[]args{{"first": four, "new_text": "x"}}, anchorOf(t, after, "FOUR") + "| FOUR\n"},
		"not an anchor":   {[]args{{"first": "two", "new_text": "x"}}, `"two": no line has this anchor now`},
		"no such line":    {[]args{{"first": "99999999999999999999:abc", "new_text": "x"}}, "no line has this anchor"},
		"the wrong order": {[]args{{"first": anchorOf(t, after, "more"), "last": anchorOf(t, after, "one"), "new_text": ""}}, "before the first"},
		"overlapping": {[]args{{"first": anchorOf(t, after, "one"), "last": anchorOf(t, after, "FOUR"), "new_text": ""},
			{"first": anchorOf(t, after, "2"), "new_text": ""}}, "edits[1]: it overlaps edits[0]"},
		"no change": {[]args{{"first": anchorOf(t, after, "one"), "new_text": "one"}}, "nothing was changed"},
		"no edits":  {nil, "edits"},
	} {
		o := callIn(t, x, tool.AnchorDialect, linesName, args{"file_path": path, "edits": c.edits})
		if got, _ := os.ReadFile(path); o.Status == tool.StatusSuccess || !strings.Contains(o.Result.Text(), c.want) ||
			string(got) != after {
			t.Errorf("%s: %q: %s", what, got, o.Result.Text())
		}
	}
	put(t, dir, map[string]string{"a.txt": "zero\n" + after}) // by another program
	o = callIn(t, x, tool.AnchorDialect, linesName, args{"file_path": path, "edits": []args{{"first": anchorOf(t, after, "five"), "new_text": ""}}})
	fresh := anchorOf(t, "zero\n"+after, "five")
	if got := o.Result.Text(); !strings.Contains(got, "+zero") || !strings.Contains(got, fresh+"| five") {
		t.Fatalf("after a change by someone else: %s", got)
	}
	o = callIn(t, x, tool.AnchorDialect, linesName, args{"file_path": path, "edits": []args{{"first": fresh, "new_text": ""}}})
	if got, _ := os.ReadFile(path); string(got) != "zero\n"+strings.TrimSuffix(after, "five") {
		t.Errorf("%q: %s", got, o.Result.Text())
	}
}

// A secret of several lines is masked although each line has an anchor: then there are none.
func TestAnchorsAndSecrets(t *testing.T) {
	dir := t.TempDir()
	private, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed([]byte("Zk1Vb8Nn3Ls6Ky0Hj5Gd2Pm7Rt4Wq9Xc")))
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	put(t, dir, map[string]string{"a.txt": "first\n" + key + "last\n"})
	s := open(t, dir)
	x := executor(s)
	x.Mask = s.Mask
	got := callIn(t, x, tool.AnchorDialect, "read_file", args{"absolute_path": filepath.Join(dir, "a.txt")}).Result.Text()
	if strings.Contains(got, strings.Split(key, "\n")[1]) || !strings.Contains(got, "last") {
		t.Errorf("read %q", got)
	}
}

// The same wrong edit twice gets the whole place.
func TestSameMissTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.go")
	place := "func f() {\n" + strings.Repeat("\tx()\n", 100) + "\treturn 1\n}\n"
	put(t, dir, map[string]string{"a.go": "package a\n\n" + place})
	x := executor(open(t, dir))
	call(t, x, "read_file", args{"absolute_path": path})
	for name, a := range map[string]args{
		editName:  {"file_path": path, "old_string": strings.Replace(place, "1", "2", 1), "new_string": "y"},
		patchName: {"input": "*** Begin Patch\n*** Update File: a.go\n@@\n-\treturn  2\n+\treturn 3\n*** End Patch"},
	} {
		first := call(t, x, name, a).Result.Text()
		second := call(t, x, name, a).Result.Text()
		if strings.Contains(first, "failed before") || len(first) > 2048 {
			t.Errorf("%s: %d bytes: %s", name, len(first), first)
		}
		if !strings.Contains(second, "This edit failed before") || !strings.HasSuffix(second, "\treturn 1\n") && !strings.HasSuffix(second, place) {
			t.Errorf("%s, twice: %s", name, second)
		}
	}
}

// What an edit needs and changes, in each dialect.
func TestEditsDisturb(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	const before = "one\ntwo\nthree\nfour\nfive\nsix\n"
	put(t, dir, map[string]string{"a.txt": before, "b.txt": before})
	s, err := New(Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	prepare := func(name string, a any) *tool.Invocation {
		t.Helper()
		for _, one := range s.All() {
			if one.Declaration().Name == name {
				inv, err := one.Prepare(t.Context(), rework(a))
				if err != nil {
					t.Fatal(err)
				}
				return inv
			}
		}
		return nil
	}
	replace := func(file, old, now string) *tool.Invocation {
		return prepare(editName, args{"file_path": filepath.Join(dir, file), "old_string": old, "new_string": now})
	}
	two := replace("a.txt", "one\ntwo\nthree", "one\n2\nthree")
	for name, c := range map[string]struct {
		other *tool.Invocation
		want  bool
	}{
		"the same line":      {replace("a.txt", "two", "II"), true},
		"in its context":     {replace("a.txt", "three", "3"), true},
		"behind it":          {replace("a.txt", "four", "4"), false},
		"common context":     {replace("a.txt", "three\nfour", "three\n4"), false},
		"an insertion in it": {replace("a.txt", "one\n", "one\nnew\n"), true},
		"another file":       {replace("b.txt", "two", "II"), false},
		"a patch":            {prepare(patchName, applyPatchArgs{"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+II\n*** End Patch"}), true},
		"a patch behind it":  {prepare(patchName, applyPatchArgs{"*** Begin Patch\n*** Update File: a.txt\n@@\n-five\n+5\n*** End Patch"}), false},
		"lines":              {prepare(linesName, editLinesArgs{path, []oneSpan{{First: anchorOf(t, before, "two"), New: "II"}}}), true},
		"lines behind it":    {prepare(linesName, editLinesArgs{path, []oneSpan{{First: anchorOf(t, before, "six"), New: "6"}}}), false},
	} {
		if got := two.Disturbs(c.other) || c.other.Disturbs(two); got != c.want {
			t.Errorf("%s: %v\n%+v\n%+v", name, got, two.Replaces, c.other.Replaces)
		}
	}
}
