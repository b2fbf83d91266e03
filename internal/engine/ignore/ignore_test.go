package ignore

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tree writes files given as "path" → content; a path that ends in a slash is a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		p := filepath.Join(top, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(p, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
			err = os.WriteFile(p, []byte(data), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func rulesFor(top string, roots ...string) *Rules {
	o := Options{Getenv: getenvOf(filepath.Join(top, "home"))}
	for _, r := range roots {
		o.Roots = append(o.Roots, filepath.Join(top, r))
	}
	return New(o)
}

// expect asks about paths relative to top; a value is "" or "file:pattern" after the state's letter: - clear, h, r.
func expect(t *testing.T, r *Rules, top string, want map[string]string) {
	t.Helper()
	for path, w := range want {
		kind := File
		if strings.HasSuffix(path, "/") {
			kind = Directory
		}
		v := r.Check(filepath.Join(top, path), kind)
		got := string("-hr"[v.State])
		if v.File != "" {
			rel, _ := filepath.Rel(top, v.File)
			got += " " + filepath.ToSlash(rel) + ":" + v.Pattern
		}
		if got != w {
			t.Errorf("%s: got %q, want %q", path, got, w)
		}
	}
}

func TestAIFilesRefuse(t *testing.T) {
	top := tree(t, map[string]string{
		"w/.git/":              "",
		"w/.gitignore":         "build/\n*.log\n",
		"w/.adzeignore":        "secrets/\n*.pem\n!public.pem\n",
		"w/.aiignore":          "!secrets/\n!*.pem\n/private\n",
		"w/.qwenignore":        "*.key",
		"w/sub/.agentignore":   "notes.md",
		"w/sub/.adzeignore":    "!*.pem",
		"w/build/.adzeignore":  "x",
		"w/lib/.git/":          "",
		"w/lib/.gitignore":     "own.txt",
		"w/.aiignore.d/a":      "",
		"above/.aiignore":      "*.txt",
		"above/w/sub/f":        "",
		"folder/.aiignore/sub": "",
	})
	expect(t, rulesFor(top, "w"), top, map[string]string{
		"w/a.go":                "-",
		"w/build/":              "h w/.gitignore:build/",
		"w/build":               "-",
		"w/build/deep/a.go":     "h w/.gitignore:build/",
		"w/secrets/a/b":         "r w/.adzeignore:secrets/",
		"w/a.pem":               "r w/.adzeignore:*.pem",
		"w/public.pem":          "-",
		"w/sub/a.pem":           "-",
		"w/sub/deep/id.key":     "r w/.qwenignore:*.key",
		"w/sub/notes.md":        "r w/sub/.agentignore:notes.md",
		"w/notes.md":            "-",
		"w/private/x.log":       "r w/.aiignore:/private",
		"w/sub/private":         "-",
		"w/build/k.key":         "r w/.qwenignore:*.key",
		"w/build/x":             "r w/build/.adzeignore:x",
		"w/lib/own.txt":         "h w/lib/.gitignore:own.txt",
		"w/lib/a.log":           "-",
		"above/w/sub/f.txt":     "r above/.aiignore:*.txt",
		"folder/.aiignore/sub":  "-",
		"folder/x":              "-",
		"w/does/not/exist.key":  "r w/.qwenignore:*.key",
		"elsewhere/build/a.log": "-",
	})
}

// A home directory that is a repository ignoring everything must not hide the project inside it.
func TestWhereGitRulesBegin(t *testing.T) {
	top := tree(t, map[string]string{
		"home/.git/":                      "",
		"home/.gitignore":                 "*",
		"home/proj/.git/":                 "",
		"home/proj/.gitignore":            "vendor/",
		"home/proj/vendor/lib/.git/":      "",
		"home/proj/vendor/lib/.gitignore": "*.o",
		"home/other/.git/":                "",
		"plain/.gitignore":                "*.o",
		"plain/sub/.gitignore":            "*.x",
		"plain/up/.gitignore":             "",
		"outside/.gitignore":              "*.o",
		"outside/sub/":                    "",
	})
	r := rulesFor(top, "home/proj", "home/proj/vendor/lib", "plain/sub", "plain")
	expect(t, r, top, map[string]string{
		"home/proj/":               "-",
		"home/proj/a.go":           "-",
		"home/proj/vendor/x":       "h home/proj/.gitignore:vendor/",
		"home/proj/vendor/lib/a":   "-",
		"home/proj/vendor/lib/a.o": "h home/proj/vendor/lib/.gitignore:*.o",
		"home/x":                   "h home/.gitignore:*",
		"home/other/x":             "-",
		"plain/sub/a.o":            "h plain/.gitignore:*.o",
		"plain/sub/a.x":            "h plain/sub/.gitignore:*.x",
		"plain/a.x":                "-",
		"outside/a.o":              "-",
		"outside/sub/a.o":          "-",
	})
	d, v := r.Start(filepath.Join(top, "outside"))
	if v.State != Clear || d.Match("a.o", File).State != Hidden {
		t.Error("a walk that begins outside every root must honor the .gitignore it begins at")
	}
	d, v = r.Start(filepath.Join(top, "home/proj/vendor"))
	if v.State != Hidden || d.Match("lib", Directory).State != Clear {
		t.Errorf("a walk that is told to begin in an ignored folder must see what is in it: %v", v)
	}
}

func TestChangesAreNoticed(t *testing.T) {
	top := tree(t, map[string]string{"w/.git/info/": "", "w/a/b/": ""})
	r := rulesFor(top, "w")
	steps := []struct{ file, data, want string }{
		{"w/.gitignore", "*.o", "h w/.gitignore:*.o"},
		{"w/.gitignore", "*.p", "-"},
		{"w/a/.gitignore", "x.o", "h w/a/.gitignore:x.o"},
		{"w/a/b/.gitignore", "!*.o", "- w/a/b/.gitignore:!*.o"},
		{"w/a/b/.gitignore", "", "h w/a/.gitignore:x.o"},
		{"w/a/.gitignore", "", "-"},
		{"w/.git/info/exclude", "b/", "h w/.git/info/exclude:b/"},
		{"w/.git/info/exclude", "", "-"},
		{"home/.config/git/ignore", "x.?", "h home/.config/git/ignore:x.?"},
		{"home/.gitconfig", "[core]\nexcludesfile=~/mine", "-"},
		{"home/mine", "x.o", "h home/mine:x.o"},
		{"w/.git/config", "[core]\nexcludesfile=", "-"},
		{"w/.aiignore", "/a/*/*.o", "r w/.aiignore:/a/*/*.o"},
	}
	old := time.Now().Add(-time.Hour)
	for round := range 2 {
		for _, s := range steps {
			p := filepath.Join(top, s.file)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(s.data), 0o644); err != nil {
				t.Fatal(err)
			}
			expect(t, r, top, map[string]string{"w/a/b/x.o": s.want})
			if round == 1 {
				old = old.Add(time.Second)
				if err := os.Chtimes(p, old, old); err != nil { // a stamp that is old enough to be trusted
					t.Fatal(err)
				}
				expect(t, r, top, map[string]string{"w/a/b/x.o": s.want})
				expect(t, r, top, map[string]string{"w/a/b/x.o": s.want})
			}
		}
		for _, s := range steps {
			if err := os.Remove(filepath.Join(top, s.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		expect(t, r, top, map[string]string{"w/a/b/x.o": "-"})
	}
}

// What an unreadable .aiignore protects is unknown, so everything beside it is denied.
func TestUnreadableAIFileRefuses(t *testing.T) {
	top := tree(t, map[string]string{"w/": ""})
	if err := os.Symlink("gone", filepath.Join(top, "w", ".aiignore")); err != nil {
		t.Skip("no links here: ", err)
	}
	v := rulesFor(top, "w").Check(filepath.Join(top, "w", "a"), File)
	if v.State != Refused || !errors.Is(v, fs.ErrNotExist) || !strings.Contains(v.Error(), ".aiignore") {
		t.Fatalf("got %+v", v)
	}
}

func TestWorktreeAndIncludes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := tree(t, map[string]string{
		"home/.gitconfig": "[includeIf \"gitdir:repo/\"]\n path = sub/inc\n[includeIf \"gitdir:nowhere/\"]\n path = sub/never\n[include]path=sub/more\n",
		"home/sub/inc":    "[core]\n\texcludesfile = ~/wrong\n",
		"home/sub/more":   "[core]\n\texcludesfile = \"~/ex\\\ncludes\" # note\n",
		"home/sub/never":  "[core]\n\texcludesfile = ~/never\n",
		"home/excludes":   "*.bak\n",
		"home/wrong":      "*\n",
		"repo/f":          "x",
	})
	home, repo := filepath.Join(top, "home"), filepath.Join(top, "repo")
	runGit(t, home, repo, nil, "init", "-q")
	runGit(t, home, repo, nil, "add", "f")
	runGit(t, home, repo, nil, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")
	runGit(t, home, repo, nil, "worktree", "add", "-q", filepath.Join(top, "tree"))
	if err := os.WriteFile(filepath.Join(repo, ".git", "info", "exclude"), []byte("*.ex\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	paths := []string{"a.ex", "a.bak", "a.go"}
	for _, dir := range []string{repo, filepath.Join(top, "tree")} {
		r := New(Options{Roots: []string{dir}, Getenv: getenvOf(home)})
		for i, want := range gitVerdicts(t, home, dir, paths) {
			if got := r.Check(filepath.Join(dir, paths[i]), File); got != want {
				t.Errorf("%s in %s: got %v, want %v", paths[i], dir, got, want)
			}
		}
	}
}

func TestIgnoreCase(t *testing.T) {
	top := tree(t, map[string]string{
		"w/.git/config": "[core]\n\tignorecase\n",
		"w/.gitignore":  "Build\n*.LOG\n/Src/*.[A-C]\nq?X\n",
	})
	expect(t, rulesFor(top, "w"), top, map[string]string{
		"w/BUILD":   "h w/.gitignore:Build",
		"w/a.log":   "h w/.gitignore:*.LOG",
		"w/src/x.b": "h w/.gitignore:/Src/*.[A-C]",
		"w/QQx":     "h w/.gitignore:q?X",
	})
}

func TestManyAtOnce(t *testing.T) {
	top := tree(t, map[string]string{"w/.git/": "", "w/.gitignore": "*.o", "w/a/b/.aiignore": "k"})
	r := rulesFor(top, "w")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				expect(t, r, top, map[string]string{"w/a/x.o": "h w/.gitignore:*.o", "w/a/b/k": "r w/a/b/.aiignore:k", "w/z": "-"})
			}
		})
	}
	wg.Wait()
}

func BenchmarkCheck(b *testing.B) {
	top := tree(b, map[string]string{"w/.git/": "", "w/.gitignore": "*.o\nnode_modules/\n", "w/a/b/c/": ""})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(top, "w/.gitignore"), old, old); err != nil {
		b.Fatal(err)
	}
	r := rulesFor(top, "w")
	for b.Loop() {
		r.Check(filepath.Join(top, "w/a/b/c/x.go"), File)
	}
}

func BenchmarkMatch(b *testing.B) {
	top := tree(b, map[string]string{"w/.git/": "", "w/.gitignore": "*.o\nnode_modules/\n/dist\n*.log\nbuild/\n.cache\n**/tmp/*.x\nfoo*bar\n"})
	d, _ := rulesFor(top, "w").Start(filepath.Join(top, "w"))
	for b.Loop() {
		d.Match("search_test.go", File)
	}
}

// Files of further names refuse as the usual ones do, each on its own; git's rules can be switched off.
func TestCustomNamesAndNoGit(t *testing.T) {
	top := tree(t, map[string]string{
		"w/.git/":         "",
		"w/.gitignore":    "*.log\n",
		"w/.hide":         "a\n*.key\n",
		"w/nodot":         "b\n!*.key\n",
		"w/.adzeignore":   "c\n",
		"w/sub/.hide":     "deep\n",
		"w/sub/.ignored9": "x\n",
	})
	custom := []string{".hide", "nodot", ".adzeignore", ".hide", "n3", "n4", "n5", "n6", "n7", "n8", ".ignored9"}
	r := New(Options{Roots: []string{filepath.Join(top, "w")}, Getenv: getenvOf(top), NoGit: true, Custom: custom})
	want := map[string]string{
		"w/x.log":    "-",
		"w/a":        "r w/.hide:a",
		"w/b":        "r w/nodot:b",
		"w/c":        "r w/.adzeignore:c",
		"w/x.key":    "r w/.hide:*.key",
		"w/sub/deep": "r w/sub/.hide:deep",
		"w/sub/x":    "-", // the ninth name
		"w/deep":     "-",
	}
	expect(t, r, top, want)
	dir, _ := r.Start(filepath.Join(top, "w"))
	sub := dir.Enter("sub", dir.Mark(".hide")|dir.Mark("other"))
	if v := sub.Match("deep", File); v.State != Refused {
		t.Errorf("a walk finds %v", v)
	}
	if dir.Mark(".gitignore") != 0 || dir.Mark(".git") != 0 {
		t.Error("git's files matter")
	}
}
