package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// open makes the tools of a session in a directory.
func open(t testing.TB, dir string) *Set {
	t.Helper()
	s, err := New(Options{Dir: dir, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wired returns the options of a session that has everything but skills.
func wired(dir string) Options {
	return Options{
		Dir: dir, HasUser: true, Session: true, Mode: func() string { return "default" }, SetMode: func(string) error { return nil },
		Task:      func(context.Context, TaskRequest) (tool.Result, error) { return tool.TextResult("done"), nil },
		FindTools: func(context.Context, tool.Call, string, int) []tool.Declaration { return nil },
	}
}

// one builds a tool by its name, as tooltest.Check wants it.
func one(t testing.TB, name string) func(dir string) tool.Tool {
	return func(dir string) tool.Tool {
		s, err := New(Options{Dir: dir, State: filepath.Join(t.TempDir(), "state"), AllRead: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range s.All() {
			if tl.Declaration().Name == name {
				return tl
			}
		}
		t.Fatalf("there is no tool %s", name)
		return nil
	}
}

func allowAll(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }

// executor runs the tools of a session without asking.
func executor(s *Set) *tool.Executor {
	return &tool.Executor{Registry: tool.NewRegistry(s.All()...), Policy: allowAll}
}

// call runs one call.
func call(t testing.TB, x *tool.Executor, name string, args any) tool.Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{Name: name, Args: raw})
	return batch.Wait()[0]
}

type args map[string]any

func TestStories(t *testing.T) {
	tooltest.Stories(t, "testdata/*.txtar", func(t *testing.T, dir string) *tool.Executor { return executor(open(t, dir)) })
}

// Everything that a model sees is in one file that can be reviewed. It must stay small: it is sent with every request.
func TestDeclarations(t *testing.T) {
	var b bytes.Buffer
	size, dialects := 0, map[tool.Dialect]int{} // a model has the tools of one dialect
	s, err := New(wired(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tl := range s.All() {
		d := tl.Declaration()
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		own := len(`{"name":"","description":"","parameters":}`) + len(d.Name) + len(d.Description) + len(d.Parameters) +
			len(d.Grammar)
		if dialects[d.Dialect] += own; d.Dialect == "" {
			size += own
		}
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	for dialect, own := range dialects {
		if dialect != "" && size+own > 18_000 {
			t.Errorf("%s: the declarations are %d bytes, more than 18,000", dialect, size+own)
		}
	}
	golden(t, "testdata/declarations.json", b.Bytes())
}

// Every parameter has a description, and every tool a summary for users, who are not "you" to it.
func TestEveryParameterIsDescribed(t *testing.T) {
	s, err := New(wired(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var walk func(at string, schema map[string]any)
	walk = func(at string, schema map[string]any) {
		if items, ok := schema["items"].(map[string]any); ok {
			walk(at+"[]", items)
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			p := p.(map[string]any)
			about, _ := p["description"].(string)
			if len(about) < 10 || !strings.HasSuffix(about, ".") {
				t.Errorf("%s.%s is described as %q", at, name, about)
			}
			enum, _ := p["enum"].([]any)
			for _, value := range enum {
				if !strings.Contains(about, value.(string)) {
					t.Errorf("%s.%s: the description doesn't explain %v", at, name, value)
				}
			}
			walk(at+"."+name, p)
		}
	}
	for _, tl := range s.All() {
		d := tl.Declaration()
		var schema map[string]any
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		walk(d.Name, schema)
		if d.Summary == "" || strings.HasSuffix(d.Summary, ".") || regexp.MustCompile(`(?i)\byour?\b`).MatchString(d.Summary) {
			t.Errorf("%s has the summary %q", d.Name, d.Summary)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the code gives now; look at the difference and run go test -update:\n%s", name, diff)
	}
}

// put writes files below a directory.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
