package ondisk

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell/prove"
	"pgregory.net/rapid"
)

// chains reads the rules of package names, which aren't exported, from its source.
func chains(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "internal", "workspace", "names", "secret.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) != 2 {
			return true
		}
		if s, ok := lit.Elts[0].(*ast.BasicLit); ok && s.Kind == token.STRING {
			if text, err := strconv.Unquote(s.Value); err == nil {
				out = append(out, text)
			}
		}
		return true
	})
	if len(out) < 100 {
		t.Fatalf("found only %d rules in package names", len(out))
	}
	return out
}

// A name under a rule of package names is never innocent, or a search could read it without approval.
func TestInnocentAgainstRules(t *testing.T) {
	for _, chain := range chains(t) {
		for _, fill := range []string{"", "x", "abc.json", "_1"} {
			for _, above := range []string{"/", "/home/me/app/"} {
				path := above + strings.ReplaceAll(chain, "*", fill)
				if copy := path + ".orig"; innocent(copy) {
					t.Errorf("%s is taken for innocent", copy)
				}
				if _, secret := names.Secret(path); secret && innocent(path) {
					t.Errorf("%s is secret by the rule %s and taken for innocent", path, chain)
				}
			}
		}
	}
}

func TestInnocentProperty(t *testing.T) {
	all := chains(t)
	rapid.Check(t, func(t *rapid.T) {
		chain := rapid.SampledFrom(all).Draw(t, "chain")
		fill := rapid.StringMatching(`[a-zA-Z0-9._-]{0,6}`).Draw(t, "fill")
		path := "/w/" + strings.ReplaceAll(chain, "*", fill)
		if rapid.Bool().Draw(t, "upper") {
			path = strings.ToUpper(path)
		}
		if _, secret := names.Secret(path); secret && innocent(path) {
			t.Fatalf("%s is secret and taken for innocent", path)
		}
	})
}

// plant makes files in a new directory and returns its canonical name. "a -> b" is a link.
func plant(t testing.TB, paths ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		name, target, link := strings.Cut(p, " -> ")
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(strings.ReplaceAll(target, "$TOP", top), full)
		} else if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(full, 0o755)
		} else {
			err = os.WriteFile(full, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestSecret(t *testing.T) {
	tests := []struct {
		name  string
		plant []string
		in    string
		want  string // in the planted directory
	}{
		{"nothing", []string{"w/a.go", "w/b/c.go"}, "w", ""},
		{"absent", nil, "w", ""},
		{"env", []string{"w/a.go", "w/b/.env"}, "w", "w/b/.env"},
		{"the file itself", []string{"w/server.key"}, "w/server.key", "w/server.key"},
		{"ordinary file itself", []string{"w/server.go"}, "w/server.go", ""},
		{"sample", []string{"w/.env.example"}, "w", ""},
		{"ignored by git", []string{"w/.gitignore", "w/node_modules/p/id_rsa"}, "w", "w/node_modules/p/id_rsa"},
		{"folder of keys", []string{"w/.ssh/known_hosts"}, "w", "w/.ssh"},
		{"a virtual environment called .env", []string{"w/.env/bin/python"}, "w", ""},
		{"chain", []string{"w/.config/gh/hosts.yml"}, "w", "w/.config/gh/hosts.yml"},
		{"chain across the start", []string{".config/gh/hosts.yml"}, ".config/gh", ".config/gh/hosts.yml"},
		{"objects of git", []string{"w/.git/objects/aa/x.pem"}, "w", ""},
		{"credentials of git", []string{"w/.git/credentials"}, "w", "w/.git/credentials"},
		{"link to a secret", []string{"w/plain.txt -> ../o/.env", "o/.env"}, "w", "o/.env"},
		{"link to a place of its own", []string{"w/plain -> ../o", "o/letter.txt"}, "w", "o"},
		{"link inside", []string{"w/a -> b", "w/b/c.go"}, "w", ""},
		{"link in a circle", []string{"w/a -> a", "w/b -> ."}, "w", ""},
		{"link to nothing", []string{"w/a -> /nowhere/.env"}, "w", ""},
		{"link to another root", []string{"w/a -> ../root2", "root2/x.go"}, "w", ""},
		{"link to a secret in another root", []string{"w/a -> ../root2", "root2/x.pem"}, "w", "root2/x.pem"},
		{"start is a link", []string{"o/.env", "w -> o"}, "w", "o/.env"},
		{"in capitals", []string{"w/SERVER.PEM"}, "w", "w/SERVER.PEM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := plant(t, tt.plant...)
			d := open(options{roots: []string{filepath.Join(top, "w"), filepath.Join(top, "root2")}})
			want := tt.want
			if want != "" {
				want = filepath.Join(top, want)
			}
			if got := d.secret(filepath.Join(top, tt.in), prove.Linked); got != want {
				t.Errorf("Secret = %q, want %q", got, want)
			}
		})
	}
}

func TestSecretWithoutLinks(t *testing.T) {
	top := plant(t, "w/plain.txt -> ../o/.env", "w/deep -> ../o", "o/.env", "start -> o")
	d := open(options{})
	if got := d.secret(filepath.Join(top, "w"), prove.Below); got != "" {
		t.Errorf("links that are not followed lead to %q", got)
	}
	// Every search enters the directory that it names.
	if got, want := d.secret(filepath.Join(top, "start"), prove.Below), filepath.Join(top, "o", ".env"); got != want {
		t.Errorf("Secret = %q, want %q", got, want)
	}
}

func TestSecretBounds(t *testing.T) {
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("w/%d/a.go", i))
	}
	top := plant(t, files...)
	dir := filepath.Join(top, "w")
	if got := open(options{entries: 100}).secret(dir, prove.Below); got != unseen {
		t.Errorf("with few entries: %q", got)
	}
	if got := open(options{}).secret(dir, prove.Below); got != "" {
		t.Errorf("with the usual entries: %q", got)
	}
	if got := open(options{}).secret("relative", prove.Below); got != unseen {
		t.Errorf("a relative path gives no answer")
	}
}

func BenchmarkSecret(b *testing.B) {
	var files []string
	for i := range 500 {
		for j := range 20 {
			files = append(files, fmt.Sprintf("src/package%d/file_%d_test.go", i, j))
		}
	}
	d, top := open(options{}), plant(b, files...)
	for b.Loop() {
		if s := d.secret(top, prove.Linked); s != "" {
			b.Fatal(s)
		}
	}
}
