package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
)

func TestMentions(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"main.go": "", "src/a.go": "", "my notes.txt": "", "odd(1).txt": "", "v1.": "", "team@home/x": ""})
	s := open(t, dir)
	for prompt, want := range map[string][]string{
		"explain @main.go":              {"@main.go reads main.go"},
		"@main.go and @src/":            {"@main.go reads main.go", "@src/ reads src/"},
		"@main.go, then (@src/a.go)?":   {"@main.go reads main.go", "@src/a.go reads src/a.go"},
		"see @main.go.":                 {"@main.go reads main.go"},
		"see @v1.":                      {"@v1. reads v1."},
		`@"my notes.txt" please`:        {`@"my notes.txt" reads my notes.txt`},
		`@'my notes.txt' please`:        {`@'my notes.txt' reads my notes.txt`},
		`@my\ notes.txt please`:         {`@my\ notes.txt reads my notes.txt`},
		`@odd\(1\).txt please`:          {`@odd\(1\).txt reads odd(1).txt`},
		"@odd(1).txt please":            {"@odd(1).txt reads odd(1).txt"},
		"@src/*.go @**/*.md":            {"@src/*.go reads src/", "@**/*.md reads ./"},
		"@team@home/x":                  {"@team@home/x reads team@home/x"},
		"@" + dir + "/main.go":          {"@" + dir + "/main.go reads main.go"},
		"ask me@main.go or @nobody":     nil,
		"@ alone, @@, @\"open, @'":      nil,
		"look @. or @.. or @/":          nil,
		"all of @./":                    {"@./ reads ./"},
		"@Override\nvoid f() {}":        nil,
		"a@b @main.go\n@src/a.go\tdone": {"@main.go reads main.go", "@src/a.go reads src/a.go"},
	} {
		var got []string
		for _, m := range s.Mentions(prompt) {
			rel, err := filepath.Rel(dir, m.Access.Target)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(m.Access.Target, "/") {
				rel += "/"
			}
			got = append(got, m.Text+" "+string(m.Access.Verb)+" "+rel)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", prompt, diff)
		}
	}
}

func TestAttach(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	put(t, outside, map[string]string{"far.txt": "far\n"})
	put(t, dir, map[string]string{"a.txt": "hello\n", "src/b.go": "package b\n", ".aiignore": "key\n", "key": "secret", "p.png": picture(t, 2, 2)})
	s := open(t, dir)

	parts, notes, err := s.Attach(t.Context(), s.Mentions("look at @a.txt and @src/ and @key"))
	if err != nil {
		t.Fatal(err)
	}
	refused := "@key was not added: denied by " + dir + "/.aiignore line 1 (key)"
	want := "\n--- Content from referenced files ---\n" +
		"\nContent from " + dir + "/a.txt:\nhello\n\n" +
		"\nContent from " + dir + "/src/b.go:\npackage b\n\n" +
		"\n[" + refused + "]\n" +
		"\n--- End of content ---"
	if diff := cmp.Diff([]tool.Part{tool.Text(want)}, parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{refused}, notes); diff != "" {
		t.Error(diff)
	}

	// Without mentions nothing is added.
	if parts, notes, err := s.Attach(t.Context(), s.Mentions("just @text")); parts != nil || notes != nil || err != nil {
		t.Errorf("%v %v %v", parts, notes, err)
	}

	// A picture is attached as an image.
	if parts, _, _ := s.Attach(t.Context(), s.Mentions("@p.png")); len(parts) != 3 {
		t.Errorf("%v", parts)
	}

	// The caller judges paths outside: it gets their access before anything is read.
	ms := s.Mentions("@" + filepath.Join(outside, "far.txt"))
	if len(ms) != 1 || !strings.HasSuffix(ms[0].Access.Target, "far.txt") || strings.HasPrefix(ms[0].Access.Target, dir) {
		t.Errorf("%+v", ms)
	}

	// Attached files count as read.
	o := call(t, executor(s), "edit", args{"file_path": filepath.Join(dir, "a.txt"), "old_string": "hello", "new_string": "bye"})
	if got, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(got) != "bye\n" {
		t.Errorf("%q %+v", got, o.Error)
	}
}

// For any prompt, mentions are parts of it, in order and disjoint.
func FuzzMentions(f *testing.F) {
	for _, seed := range []string{"@a", `@"a b" @'`, `@a\ b @[x]*`, "@\xff\x00@", "@{a,b}.c)", "@~/x @/"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	put(f, dir, map[string]string{"a": "", "b/c": "", "a b": ""})
	s := open(f, dir)
	f.Fuzz(func(t *testing.T, prompt string) {
		rest := prompt
		for _, m := range s.Mentions(prompt) {
			i := strings.Index(rest, m.Text)
			if i < 0 || !strings.HasPrefix(m.Text, "@") || !m.Absent && m.Access.Verb != tool.Reads {
				t.Fatalf("%q is no mention in %q", m.Text, prompt)
			}
			rest = rest[i+len(m.Text):]
		}
	})
}
