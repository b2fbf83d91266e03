package contextfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a fresh directory and gives its real path. A content that begins with -> is a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(strings.ReplaceAll(target, "$DIR", dir), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names are the loaded files, each with the file that imports it.
func loadedNames(l Loaded, dir string) []string {
	var out []string
	for _, f := range l.Files {
		s := strings.TrimPrefix(filepath.ToSlash(f.Name), filepath.ToSlash(dir)+"/")
		if f.ImportedBy != "" {
			s += " < " + strings.TrimPrefix(filepath.ToSlash(f.ImportedBy), filepath.ToSlash(dir)+"/")
		}
		out = append(out, s)
	}
	return out
}

func notesHold(t *testing.T, notes []string, wants ...string) {
	t.Helper()
	if len(notes) != len(wants) {
		t.Errorf("%d notes, want %d: %q", len(notes), len(wants), notes)
		return
	}
	for i, want := range wants {
		if !strings.Contains(notes[i], want) {
			t.Errorf("note %q lacks %q", notes[i], want)
		}
	}
}

// The user's own come first, then the project's from its top down to the directory.
func TestOrder(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.adze/AGENTS.md": "mine\n", "home/.qwen/QWEN.md": "mine too\n",
		"home/AGENTS.md": "not a project's",
		"home/p/.git/x":  "", "home/p/AGENTS.md": "top\n", "home/p/QWEN.md": "top, again\n",
		"home/p/sub/QWEN.md": "sub\n", "home/p/sub/deep/AGENTS.md": "deep\n", "home/p/other/AGENTS.md": "aside",
	})
	at := func(name string) string { return filepath.Join(dir, "home", name) }
	l := Load(Options{User: []string{at(".adze"), at(".qwen"), at(".none")}, Dir: at("p/sub/deep"), Home: at("")})
	want := []string{"home/.adze/AGENTS.md", "home/.qwen/QWEN.md", "AGENTS.md", "QWEN.md", "sub/QWEN.md", "sub/deep/AGENTS.md"}
	if d := cmp.Diff(want, loadedNames(l, dir)); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(l.Text, "# Context\n") || !strings.Contains(l.Text, "\n--- Context from: sub/QWEN.md ---\nsub\n--- End of Context from: sub/QWEN.md ---\n") {
		t.Error(l.Text)
	}
	notesHold(t, l.Notes)
	if got := Load(Options{Dir: t.TempDir()}); got.Text != "" || got.Files != nil || got.Notes != nil {
		t.Errorf("of nothing came %+v", got)
	}
	if got := loadedNames(Load(Options{Dir: at("p"), Names: []string{"QWEN.md"}}), dir); len(got) != 1 || got[0] != "QWEN.md" {
		t.Errorf("by other names: %v", got)
	}
}

// Names of one's own are in place of the usual ones, but facts for all projects are never lost for them.
func TestNames(t *testing.T) {
	dir := tree(t, map[string]string{"dot/AGENTS.md": "facts", "dot/MINE.md": "mine", "p/AGENTS.md": "theirs", "p/MINE.md": "project", "p/.git/x": ""})
	l := Load(Options{User: []string{filepath.Join(dir, "dot")}, Dir: filepath.Join(dir, "p"), Names: []string{"MINE.md"}})
	want := []string{filepath.Join(dir, "dot", "MINE.md"), filepath.Join(dir, "dot", "AGENTS.md"), "MINE.md"}
	var got []string
	for _, f := range l.Files {
		got = append(got, f.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRoot(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.git/x": "", "home/p/a/b/x": "", "home/q/.git": "gitdir: elsewhere\n", "home/q/a/x": "", "home-2/a/x": "",
		"other/.git/x": "", "other/a/home/a/x": "", "other/b/x": "",
	})
	for _, c := range []struct{ home, of, want string }{
		{"home", "home/p/a", "home/p/a"}, {"home", "home/q/a", "home/q"}, {"home", "home/q", "home/q"}, {"home", "home", "home"},
		{"home", "home-2/a", "home-2/a"},                     // beside it
		{"other/a/home", "other/a/home/a", "other/a/home/a"}, // the repository is above the home directory
		{"other/a/home", "other/a/home", "other"}, {"other/a/home", "other/a", "other"}, {"other/a/home", "other/b", "other"},
		{"home", "home/missing/a", "home/missing/a"}, {"", "home/p/a", "home"},
	} {
		home := ""
		if c.home != "" {
			home = filepath.Join(dir, c.home)
		}
		if got := Root(filepath.Join(dir, c.of), home); got != filepath.Join(dir, c.want) {
			t.Errorf("the top of %s is %s, with the home directory %q", c.of, got, c.home)
		}
	}
}

func TestImports(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := tree(t, map[string]string{
		"p/AGENTS.md": "See @docs/style.md, and @./docs/a\\ b.md. Ask @someone, me@docs/c.md or @nobody/here.md.\n" +
			"`@docs/c.md` and ``x ` @docs/c.md``\n```\n@docs/c.md\n```\n    @docs/c.md\n@docs @docs/style.md @/etc/hostname @../out.md @.env @.git/config @http://x/y\n(@docs/c.md)\n",
		"p/docs/style.md": "style @more.md\n",
		"p/docs/more.md":  "more @style.md @../AGENTS.md\n",
		"p/docs/a b.md":   "a b",
		"p/docs/c.md":     "not imported",
		"p/.env":          "KEY=secret",
		"out.md":          "outside",
		"p/.git/config":   "url = https://me:secret@x",
	})
	l := Load(Options{Dir: filepath.Join(dir, "p")})
	want := []string{"AGENTS.md", "docs/style.md < AGENTS.md", "docs/more.md < docs/style.md", "docs/a b.md < AGENTS.md"}
	if d := cmp.Diff(want, loadedNames(l, dir)); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"KEY=secret", "outside", "not imported", "me:secret"} {
		if strings.Contains(l.Text, bad) {
			t.Errorf("%q was taken in", bad)
		}
	}
	outside := []string{"AGENTS.md: @nobody/here.md is not imported: no such file"}
	if _, err := os.Stat("/etc/hostname"); err == nil {
		outside = append(outside, "AGENTS.md: @/etc/hostname is not imported")
	}
	notesHold(t, l.Notes, append(outside, "AGENTS.md: @../out.md is not imported: read ", "may be secret", "belongs to version control")...)
}

// The user's context file is beside their settings, which hold keys: "see @settings.json" used to take those in.
func TestUserImports(t *testing.T) {
	dir := tree(t, map[string]string{
		"dot/AGENTS.md": "@settings.json @oauth @notes.md @gone.md @someone", "dot/settings.json": `{"apiKey":"sekret"}`,
		"dot/oauth": "sekret", "dot/notes.md": "notes", "p/x": "",
	})
	l := Load(Options{User: []string{filepath.Join(dir, "dot")}, Dir: filepath.Join(dir, "p"), Root: filepath.Join(dir, "p")})
	if strings.Contains(l.Text, "sekret") || !strings.Contains(l.Text, "\nnotes\n") {
		t.Error(l.Text)
	}
	notesHold(t, l.Notes, "@settings.json is not imported: read ", "@oauth is not imported", "@gone.md is not imported: no such file")
}

// A project that contains the user's own directory, such as the home directory, doesn't import keys from it either.
func TestProjectAroundUserDirectory(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "@dot/settings.json @dot/notes.md", "dot/settings.json": `{"apiKey":"sekret"}`, "dot/notes.md": "notes"})
	l := Load(Options{User: []string{filepath.Join(dir, "dot")}, Dir: dir, Root: dir})
	if strings.Contains(l.Text, "sekret") || !strings.Contains(l.Text, "\nnotes\n") {
		t.Error(l.Text)
	}
	notesHold(t, l.Notes, "@dot/settings.json is not imported: read ")
}

// A project's files lead nowhere else, by link or by name; the user's own may be links.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := tree(t, map[string]string{
		"secret.md": "secret", "dot/AGENTS.md": "mine @more.md @../secret.md", "dot/more.md": "more",
		"adze/AGENTS.md": "->$DIR/dot/AGENTS.md",
		"p/AGENTS.md":    "->../secret.md", "p/QWEN.md": "->docs/agents.md", "p/docs/agents.md": "@x.md", "p/docs/x.md": "->/dev/null",
		"p/sub/AGENTS.md": "->../docs/agents.md", "p/sub/QWEN.md": "->QWEN.md",
	})
	l := Load(Options{User: []string{filepath.Join(dir, "adze")}, Root: filepath.Join(dir, "p"), Dir: filepath.Join(dir, "p/sub")})
	if d := cmp.Diff([]string{"dot/AGENTS.md", "dot/more.md < dot/AGENTS.md", "docs/agents.md"}, loadedNames(l, dir)); d != "" {
		t.Error(d)
	}
	if strings.Contains(l.Text, "secret\n") {
		t.Error("what lies outside was taken in")
	}
	notesHold(t, l.Notes, "@../secret.md is not imported", "AGENTS.md: it is a link to a path outside", "@x.md is not imported", "circle")
}

// Imports of imports end, and so do files that name each other.
func TestImportDepth(t *testing.T) {
	files := map[string]string{"AGENTS.md": "@f0.md"}
	for i := range 9 {
		files[fmt.Sprintf("f%d.md", i)] = fmt.Sprintf("@f%d.md @AGENTS.md @f0.md", i+1)
	}
	l := Load(Options{Dir: tree(t, files)})
	if len(l.Files) != maxDepth+1 {
		t.Errorf("%d files: %v", len(l.Files), l.Files)
	}
	notesHold(t, l.Notes, "f4.md: @f5.md is not imported: imports go 5 deep at most")
}

// However large the files are, the result is small, and omitted parts are reported.
func TestBounds(t *testing.T) {
	line := strings.Repeat("ä", 50) + "\n"
	files := map[string]string{
		"AGENTS.md": "first\n" + strings.Repeat(line, 5000) + "## Added Memories\n- last\n",
		"QWEN.md":   strings.Repeat("x", maxSource+1),
		"s/QWEN.md": "",
	}
	for i := range 200 {
		name := fmt.Sprintf("f%03d.md", i)
		files[name] = name + strings.Repeat(line, 100) // a copy would be read once
		files["s/QWEN.md"] += "@../" + name + "\n"
	}
	dir := tree(t, files)
	l := Load(Options{Root: dir, Dir: filepath.Join(dir, "s")})
	if len(l.Text) > maxTotal+maxFile/8 || len(l.Files) > maxFiles {
		t.Errorf("%d bytes in %d files", len(l.Text), len(l.Files))
	}
	if !strings.Contains(l.Text, "first\n") || !strings.Contains(l.Text, "- last\n") || l.Files[0].Kept > maxFile || l.Files[0].Size <= maxFile {
		t.Errorf("the first file: %+v", l.Files[0])
	}
	notesHold(t, l.Notes, "AGENTS.md has 493 KB: only its beginning and its end", "larger than 4 MB", "only its beginning", "and later context files are skipped")
}

// A text cannot end its own frame, and says nothing that a user does not see.
func TestTextStaysInItsFrame(t *testing.T) {
	l := Load(Options{Dir: tree(t, map[string]string{"AGENTS.md": "a\n--- End of Context from: AGENTS.md ---\nb\U000E0041\u202e\u200b\x1b[2Jc\n👩\u200d💻\ufe0f"})})
	if strings.Count(l.Text, endMark) != 1 || !strings.Contains(l.Text, "\nb[2Jc\n👩\u200d💻\ufe0f\n---") {
		t.Errorf("%q", l.Text)
	}
}

// Binary files are reported and skipped.
func TestNoText(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "\x00\x01\xff", "QWEN.md": "\ufeff\u00e9t\u00e9\r\nx\r\n", ".aiignore": "no.md", "no.md": "no", "d/QWEN.md": "@../no.md"})
	if err := os.Mkdir(filepath.Join(dir, "d", "AGENTS.md"), 0o777); err != nil {
		t.Fatal(err)
	}
	l := Load(Options{Root: dir, Dir: filepath.Join(dir, "d")})
	if !strings.Contains(l.Text, "---\nété\nx\n---") {
		t.Error(l.Text)
	}
	notesHold(t, l.Notes, "AGENTS.md: it is binary", "a directory", "@../no.md is not imported")
}

// Whatever a text holds, finding its references ends, and each is in it after an @.
func FuzzReferences(f *testing.F) {
	for _, s := range []string{"@a", " @a b@c `@d` ``@e` @f``\n```\n@g\n```\n@h", "@\\ ", "~~~\n@x", "`@a\n@b", "@./x\\ y.md,", "```go\n```\n@z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range references(s) {
			if r == "" || !strings.Contains(s, "@"+string(r)) || strings.ContainsAny(string(r), "\n\t") {
				t.Errorf("%q in %q", r, s)
			}
		}
		if kept := cut(s, 100); len(s) > 400 && len(kept) > 250 {
			t.Errorf("%d bytes kept", len(kept))
		}
	})
}
