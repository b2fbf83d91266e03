package repo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	for _, name := range append(embeddedTables(t), ".gitattributes", "go.mod", "LICENSE", "internal/app/demo/project.go") {
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
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
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
// any command. A new embedded table is read with package internal/engine/table, and by checkoutProbe. The program is built once,
// and its tables get a carriage return where they are in it.
func TestBuildWithConvertedTables(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("a program with other bytes than it was signed with doesn't start")
	}
	top := t.TempDir()
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(workingDir(t), "internal/checkoutprobe/main.go"): writeFile(t, filepath.Join(top, "main.go"), []byte(checkoutProbe)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(top, "probe.exe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", probe,
		"-overlay", writeFile(t, filepath.Join(top, "overlay.json"), overlay), "./internal/checkoutprobe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(probe)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(probe).CombinedOutput(); err != nil || !strings.Contains(string(out), "judged") {
		t.Fatalf("with the tables as they are: %v\n%s", err, out)
	}
	for i, name := range embeddedTables(t) {
		table, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(program, table); n != 1 {
			t.Fatalf("the program contains %s %d times", name, n)
		}
		converted := bytes.Clone(program)
		converted[bytes.Index(program, table)+bytes.IndexByte(table, '\n')-1] = '\r'
		path := writeFile(t, filepath.Join(top, fmt.Sprintf("converted%d.exe", i)), converted)
		out, err := exec.Command(path).CombinedOutput()
		if err == nil || strings.Contains(string(out), "judged") || !strings.Contains(string(out), "panic: line 1 contains") {
			t.Errorf("%s with CRLF: %v\n%s", name, err, out)
		}
	}
}

func workingDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeFile writes a file that can be run, and returns its path.
func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkoutProbe reads all tables: it makes environments and sandboxes, lists declarations, and judges commands.
const checkoutProbe = `package main

import (
	"fmt"

	"github.com/adze-dev/adze/internal/engine/broker"
	"github.com/adze-dev/adze/internal/engine/outline"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func main() {
	roots := []string{"/nowhere"}
	_, _ = environ.Unapproved{Roots: roots, Tried: true}.Environ([]string{"SOME=x"})
	_ = places.Caches([]string{"HOME=/nowhere"})
	_ = outline.Of("a.py", "")
	_ = redact.NewMask(nil, nil)
	c, _ := broker.NewCredentials([]broker.Credential{{Host: "a.example.com", Header: "A", Value: "kq7-9fXw2-Lm"}}, nil,
		func(string) (string, error) { return "/nowhere/file", nil })
	_ = c.Environ(nil)
	_, _, _ = permission.ParseRules([]string{"Network(registries)"}, nil, nil)
	p := permission.New(permission.World{Roots: roots, Disk: ondisk.New(roots)}, permission.Default)
	for _, line := range []string{"awk '{print > \"pwn\"}' a.txt", "make x"} {
		d := p.Judge(tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Execs, Target: line}}}})
		fmt.Println("judged", line, d.Verdict, d.Offer)
	}
}
`
