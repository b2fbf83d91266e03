package repo

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/adding-a-tool.md says that a tool touches four places. This test does what the page says, in a copy.
func TestAddingATool(t *testing.T) {
	page, err := os.ReadFile("docs/adding-a-tool.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^## \\d\\. [^\n]*`([^`\n]+)`\n\n```\\w+\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("the page has %d places, not four", len(blocks))
	}
	dir := t.TempDir()
	copyModule(t, dir)
	for _, b := range blocks {
		path := filepath.Join(dir, filepath.FromSlash(b[1]))
		content := b[2]
		if old, err := os.ReadFile(path); err == nil { // the one line goes to the top of the list
			list := "s.tools = []tool.Tool{\n"
			if !strings.Contains(string(old), list) {
				t.Fatalf("%s has no list of tools", b[1])
			}
			content = strings.Replace(string(old), list, list+b[2], 1)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// As make build does, so that packages which are compiled once serve both, wherever the copy is.
	cmd := exec.Command("go", "test", "-trimpath", "-vet=off", "-v", "-run", "^TestStories$/^uuid$", "./builtin")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestStories/uuid/several_at_once") {
		t.Errorf("the page's tool does not work: %v\n%s", err, out)
	}
}

// copyModule copies what go needs to build and test package builtin.
func copyModule(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, path), 0o777)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), content, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}
