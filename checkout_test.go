package adze_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A checkout with core.autocrlf, the default of Git for Windows, used to convert the embedded tables.
func TestCheckoutConvertsNothing(t *testing.T) {
	top := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", top, "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "-q", "source")
	var files []string
	for _, name := range append(embeddedTables(t), ".gitattributes", "go.mod", "LICENSE", "internal/cli/demo.go") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(top, "source", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	git("-C", "source", "add", "-A")
	git("-C", "source", "commit", "-qm", "x")
	git("clone", "-q", "-c", "core.autocrlf=true", "source", "checkout")
	for _, name := range files {
		if data, err := os.ReadFile(filepath.Join(top, "checkout", name)); err != nil || bytes.Contains(data, []byte("\r")) {
			t.Errorf("%s has other line endings in a checkout with core.autocrlf: %v", name, err)
		}
	}
}

// embeddedTables lists the embedded text files: data that code reads.
func embeddedTables(t *testing.T) []string {
	var names []string
	embed := regexp.MustCompile(`(?m)^//go:embed (\S+\.txt)$`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "fleet"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range embed.FindAllSubmatch(source, -1) {
			names = append(names, filepath.ToSlash(filepath.Join(filepath.Dir(path), string(m[1]))))
		}
		return err
	})
	if err != nil || len(names) < 2 {
		t.Fatalf("embedded text files %q: %v", names, err)
	}
	return names
}

// A program that was built from a checkout with CRLF auto-approved awk programs that write files. It must not judge
// any command. A new embedded table is read with package internal/table, and by checkoutProbe.
func TestBuildWithConvertedTables(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		name = filepath.Join(top, name)
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	run := func(replace map[string]string) (string, error) {
		replace[filepath.Join(here, "internal/checkoutprobe/main.go")] = write("main.go", []byte(checkoutProbe))
		overlay, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "run", "-overlay", write("overlay.json", overlay), "./internal/checkoutprobe").CombinedOutput()
		return string(out), err
	}
	if out, err := run(map[string]string{}); err != nil || !strings.Contains(out, "judged") {
		t.Fatalf("with the tables as they are: %v\n%s", err, out)
	}
	for _, name := range embeddedTables(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		converted := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		out, err := run(map[string]string{filepath.Join(here, name): write("table.txt", converted)})
		if err == nil || strings.Contains(out, "judged") || !strings.Contains(out, "panic: line 1 contains") {
			t.Errorf("%s with CRLF: %v\n%s", name, err, out)
		}
	}
}

// checkoutProbe reads all tables: it makes environments and sandboxes, and judges commands.
const checkoutProbe = `package main

import (
	"fmt"

	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func main() {
	roots := []string{"/nowhere"}
	_, _ = environ.Unapproved{Roots: roots, Tried: true}.Environ([]string{"SOME=x"})
	_ = sandbox.Caches([]string{"HOME=/nowhere"})
	p := permission.New(permission.World{Roots: roots, Disk: ondisk.New(roots)}, permission.Default)
	for _, line := range []string{"awk '{print > \"pwn\"}' a.txt", "make x"} {
		d := p.Judge(tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Execs, Target: line}}}})
		fmt.Println("judged", line, d.Verdict, d.Offer)
	}
}
`
