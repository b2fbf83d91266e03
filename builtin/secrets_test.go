package builtin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// Names of files below the workspace. Adze's own directory is in it too.
var (
	secretNames = []string{
		".env", ".env.local", "sub/.env", "d/server.pem", "id_rsa", "d/id_ed25519.bak", ".ssh/config", ".ssh/known", ".aws/credentials",
		"sub/secrets.yml", ".npmrc", "x.tfstate", "nb.env", ".kube/config", "own/settings.json", "own/mcp/mcp-tokens.json",
		"own/sessions/a/journal.jsonl", "own/store/ab/cd", "own/AGENTS.md", "d/credentials.json", ".ENV", "sub/deep/prod.env",
	}
	plainNames = []string{"a.txt", "main.go", "sub/b.go", "sub/deep/c.txt", ".gitignore", ".env.example", "d/notes.md", "nb.ipynb", "AGENTS.md", "own.txt", "link.txt", "d/link"}
	secretText = []string{"", "KEY=alpha\n", "KEY=beta\nTOKEN=word\n", "\x00\x01binary KEY", "word\n", "%PDF-1.4\n", "\xef\xbb\xbfKEY", "- KEY\n", "{\"cells\": []}\n", "KEY\n\n\n\n\n\n"}
)

// twin is a workspace that is made twice, with other contents, sizes and times of its secret files.
type twin struct {
	root  string
	plain map[string]string
	links map[string]string
	mode  permission.Mode
	calls []tool.Call
	asks  []string // prompts with mentions
}

func (w *twin) make(t *rapid.T, secret map[string]string, at time.Time) {
	if err := os.RemoveAll(w.root); err != nil {
		t.Fatal(err)
	}
	put := func(name, content string, at time.Time) {
		path := filepath.Join(w.root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("own/spill/s/saved.txt", "word saved KEY\n", epoch)
	for name, content := range w.plain {
		put(name, content, epoch.Add(time.Duration(len(name))*time.Second))
	}
	for name, content := range secret {
		put(name, content, at.Add(time.Duration(len(content)-len(name))*time.Minute))
	}
	// glob lists the newest first, by path if the times are equal. The time of a link can't be set everywhere: the one that is
	// first by path is made last, so that the order is the same whether or not the clock moved between them.
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(w.links))) {
		target := w.links[name]
		path := filepath.Join(w.root, filepath.FromSlash(name))
		os.Remove(path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Symlink(filepath.Join(w.root, filepath.FromSlash(target)), path) // not every system has links
	}
}

var epoch = time.Unix(1_700_000_000, 0)

// setTimes gives the files that a call has just changed a time that doesn't depend on how fast it was.
func (w *twin) setTimes(t *rapid.T, at time.Time) {
	err := filepath.WalkDir(w.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if info, err := e.Info(); err != nil || info.ModTime().Before(at) {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run makes all calls in a session without a user who approves, and returns everything that the model and the user see.
func (w *twin) run(t *rapid.T) []string {
	own := filepath.Join(w.root, "own")
	s, err := New(Options{Dir: w.root, State: own, Saved: filepath.Join(own, "spill"), Session: true, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	policy := permission.New(permission.World{
		Roots: s.Roots(), Home: filepath.Dir(w.root), State: own, Spill: filepath.Join(own, "spill"), Disk: ondisk.New(s.Roots()),
	}, w.mode)
	x := &tool.Executor{Registry: tool.NewRegistry(s.All()...), Policy: policy.Judge}
	var out []string
	for i, c := range w.calls {
		batch := x.Batch(t.Context())
		batch.Add(c)
		o := batch.Wait()[0]
		w.setTimes(t, epoch.Add(100*24*time.Hour+time.Duration(i)*time.Second))
		text := fmt.Sprintf("%s %s: %s %s", c.Name, c.Args, o.Status, o.Result.Text())
		if o.Error != nil {
			text += "\nerror: " + o.Error.ForModel()
		}
		if o.Result.Display != nil {
			text += "\ndisplay: " + o.Result.Display.Markdown()
		}
		out = append(out, text)
	}
	for _, prompt := range w.asks {
		var allowed []Mention
		for _, m := range s.Mentions(prompt) {
			d := policy.Judge(tool.Request{Invocation: tool.Invocation{Access: []tool.Access{m.Access}}})
			out = append(out, m.Text+" "+d.Reason)
			if d.Verdict == tool.Allow && !m.Absent {
				allowed = append(allowed, m)
			}
		}
		parts, notes, err := s.Attach(t.Context(), allowed)
		out = append(out, fmt.Sprint(prompt, parts, notes, err))
	}
	return out
}

func (w *twin) draw(t *rapid.T) {
	w.plain, w.links = map[string]string{}, map[string]string{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(plainNames), rapid.ID).Draw(t, "files") {
		w.plain[name] = rapid.SampledFrom([]string{"word\n", "KEY=alpha in go\n", "one\ntwo word\nthree\n", "*.bak\n", "{\"cells\": []}\n"}).Draw(t, "content")
	}
	any := rapid.SampledFrom(slices.Concat(secretNames, plainNames, []string{".", "sub", "d", ".ssh", "own", "own/spill", "own/spill/s/saved.txt", "own/mcp", "missing"}))
	for _, name := range []string{"link.txt", "d/link"} {
		if rapid.Bool().Draw(t, "is link") {
			delete(w.plain, name)
			w.links[name] = any.Draw(t, "target")
		}
	}
	w.mode = rapid.SampledFrom([]permission.Mode{permission.Default, permission.Plan, permission.AutoEdit}).Draw(t, "mode")
	path := func(label string) string { return filepath.Join(w.root, filepath.FromSlash(any.Draw(t, label))) }
	text := rapid.SampledFrom([]string{"KEY", "KEY=alpha", "KEY=b", "^KEY=(a|b)", "word", "x", ".", "^$", "TOKEN=w", "(?s)KEY.*TOKEN", "alpha in go"})
	glob := rapid.SampledFrom([]string{"**", "**/*", ".env*", "*", "**/.*", "*.pem", "d/**", ".*/**", "**/*.{go,env}", "own/**", "sub/**/*.env", "[.i]*"})
	number := rapid.IntRange(0, 3)
	for i := range rapid.IntRange(1, 12).Draw(t, "calls") {
		var name string
		var a args
		switch rapid.IntRange(0, 10).Draw(t, "tool") {
		case 0:
			name, a = "list_directory", args{"path": path("path"), "file_filtering_options": args{"respect_git_ignore": rapid.Bool().Draw(t, "git")}}
		case 1:
			name, a = "read_file", args{"absolute_path": path("path"), "offset": number.Draw(t, "offset"), "limit": 1 + number.Draw(t, "limit")}
		case 2:
			name, a = "read_many_files", args{"paths": []string{path("path"), glob.Draw(t, "paths")}, "useDefaultExcludes": rapid.Bool().Draw(t, "usual"),
				"file_filtering_options": args{"respect_git_ignore": false}}
		case 3, 4, 5:
			name, a = "grep_search", args{
				"pattern": text.Draw(t, "pattern"), "output_mode": rapid.SampledFrom([]string{"content", "files_with_matches", "count"}).Draw(t, "output"),
				"context": number.Draw(t, "context"), "multiline": rapid.Bool().Draw(t, "multiline"), "no_ignore": rapid.Bool().Draw(t, "ignored"),
				"case": rapid.SampledFrom([]string{"smart", "sensitive", "insensitive"}).Draw(t, "case"), "limit": 1 + number.Draw(t, "limit"),
				"offset": number.Draw(t, "offset"), "hidden": rapid.Bool().Draw(t, "hidden"),
			}
			if rapid.Bool().Draw(t, "has glob") {
				a["glob"] = glob.Draw(t, "glob")
			}
			if rapid.Bool().Draw(t, "has path") {
				a["path"] = path("path")
			}
		case 6:
			name, a = "glob", args{"pattern": glob.Draw(t, "glob"), "respect_git_ignore": rapid.Bool().Draw(t, "git")}
			if rapid.Bool().Draw(t, "has path") {
				a["path"] = path("path")
			}
		case 7:
			name, a = "edit", args{"file_path": path("path"), "old_string": text.Draw(t, "old"), "new_string": "changed", "replace_all": rapid.Bool().Draw(t, "all")}
		case 8:
			name, a = "write_file", args{"file_path": path("path"), "content": rapid.SampledFrom(secretText).Draw(t, "content")}
		case 10:
			name, a = "save_memory", args{"fact": text.Draw(t, "fact"), "scope": rapid.SampledFrom([]string{"global", "project"}).Draw(t, "scope")}
		case 9:
			name, a = "notebook_edit", args{"notebook_path": path("path"), "new_source": "1", "edit_mode": "insert", "cell_type": "code"}
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		w.calls = append(w.calls, tool.Call{ID: fmt.Sprint(i), Name: name, Args: raw})
	}
	for range rapid.IntRange(0, 2).Draw(t, "prompts") {
		w.asks = append(w.asks, "look at @"+any.Draw(t, "mention")+" and @"+glob.Draw(t, "pattern")+" please")
	}
}

// Nothing that a tool returns without approval depends on what secret files contain, how large they are or when they were
// changed. grep_search used to count the secret files that a pattern matches in, which reveals a key character by character,
// and list_directory showed their sizes. Adze's own directory was only secret to calls that named it.
func TestResultsDoNotDependOnSecrets(t *testing.T) {
	serial.Test(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := &twin{root: filepath.Join(base, "ws")}
		w.draw(t)
		first, second := map[string]string{}, map[string]string{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(secretNames), rapid.ID).Draw(t, "secrets") {
			if w.links[name] == "" {
				first[name], second[name] = rapid.SampledFrom(secretText).Draw(t, "first"), rapid.SampledFrom(secretText).Draw(t, "second")
			}
		}
		w.make(t, first, epoch)
		got := w.run(t)
		w.make(t, second, epoch.Add(time.Hour))
		if diff := cmp.Diff(got, w.run(t)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Saved results can be read and searched, even if the workspace contains Adze's own directory.
func TestSavedResultsStayReadable(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"real/own/spill/s/saved.txt": "the word\n", "real/own/settings.json": "the word\n"})
	own := filepath.Join(root, "real", "own")
	if err := os.Symlink(own, filepath.Join(root, "own")); err != nil {
		t.Skip(err)
	}
	s, err := New(Options{Dir: root, State: filepath.Join(root, "own"), Saved: filepath.Join(root, "own", "spill"), AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	saved := filepath.Join(own, "spill", "s")
	for _, c := range []struct {
		name string
		args args
		want bool
	}{
		{"read_file", args{"absolute_path": filepath.Join(saved, "saved.txt")}, true},
		{"grep_search", args{"pattern": "word", "path": filepath.Join(saved, "saved.txt")}, true},
		{"grep_search", args{"pattern": "word", "path": saved}, true},
		{"read_many_files", args{"paths": []string{saved}}, true},
		{"grep_search", args{"pattern": "word", "path": own}, false},
		{"grep_search", args{"pattern": "word"}, false},
		{"read_many_files", args{"paths": []string{"**"}}, false},
	} {
		o := call(t, x, c.name, c.args)
		if got := strings.Contains(o.Result.Text(), "the word"); got != c.want || o.Error != nil {
			t.Errorf("%s %v: %s", c.name, c.args, o.Result.Text())
		}
	}
}
