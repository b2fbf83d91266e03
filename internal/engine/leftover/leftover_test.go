//go:build unix

package leftover

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LEFTOVER_KILLED"); dir != "" { // the process that is killed
		l := Open(dir)
		l.Add(Tree, filepath.Join(dir, "a\nb"))
		l.Add(Files, filepath.Join(dir, "c"))
		os.Stdout.WriteString("ready\n")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// swept returns the paths that Sweep finds.
func swept(dir string, gone bool) (all []string) {
	Sweep(dir, func(kind Kind, path string) bool {
		all = append(all, string(kind)+" "+strings.TrimPrefix(path, dir+"/"))
		return gone
	})
	return all
}

// What a killed process recorded is found, until it is gone, and not before the process has ended.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), "LEFTOVER_KILLED="+dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if got := swept(dir, true); got != nil {
		t.Errorf("while it runs: %q", got)
	}
	c.Process.Kill()
	c.Wait()
	want := []string{"tree a\nb", "files c"}
	for range 2 { // they are still there
		if got := swept(dir, false); !slices.Equal(got, want) {
			t.Errorf("killed: %q", got)
		}
	}
	if got := swept(dir, true); !slices.Equal(got, want) {
		t.Errorf("killed: %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

// A log that is closed leaves nothing.
func TestClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	l := Open(dir)
	for range 2 {
		if err := l.Add(Tree, "/a"); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(l.file.Name()); string(text) != "tree \"/a\"\n" {
		t.Errorf("%q", text)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}

// Damaged logs, and files that aren't logs, change nothing.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "other")
	for name, text := range map[string]string{"cut": "tree \"/a\"\ntree \"/b", "relative": "tree \"a\"\n", "garbage": "\x00\nx\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(other, []byte("tree \"/c\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := swept(dir, true); !slices.Equal(got, []string{"tree /a"}) {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// Directories of other users, and what a link leads to, aren't changed.
func TestRemoveOwn(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"own/deep", "target/deep", "foreign/deep"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("target"), at("link")); err != nil {
		t.Fatal(err)
	}
	if !RemoveOwn(at("own")) || !RemoveOwn(at("missing")) {
		t.Error("not removed")
	}
	if RemoveOwn(at("link")) {
		t.Error("a link was removed")
	}
	if os.Getuid() == 0 {
		if err := os.Chown(at("foreign"), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if RemoveOwn(at("foreign")) {
			t.Error("another user's directory was removed")
		}
	}
	for name, want := range map[string]bool{"own": false, "target/deep": true, "foreign/deep": true} {
		if _, err := os.Stat(at(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
