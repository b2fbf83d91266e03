//go:build unix

package builtin

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A session that was killed left its temporary files until the same directory was written again, and its caches forever.
func TestLeftovers(t *testing.T) {
	dir, state, temp := t.TempDir(), t.TempDir(), t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestLeftoversChild$")
	c.Env = append(os.Environ(), "LEFTOVERS_DIR="+dir, "LEFTOVERS_STATE="+state, "TMPDIR="+temp)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	names := func(dir string) string {
		entries, _ := os.ReadDir(dir)
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return strings.Join(all, " ")
	}
	start := func() {
		t.Helper()
		s, err := New(Options{Dir: dir, State: state, Helper: testHelper})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	start()
	if got := names(dir); !strings.Contains(got, ".adze-") || !strings.Contains(got, ".tmp") || !strings.HasPrefix(names(temp), cachePrefix) {
		t.Errorf("files of a session that runs were removed: %s, %s", got, names(temp))
	}
	c.Process.Kill()
	c.Wait()
	start()
	if got := names(dir) + " " + names(temp); got != ".adze-notes.tmp made " {
		t.Errorf("after the next start: %s", got)
	}
	if got := names(filepath.Join(state, "leftovers")); got != "" {
		t.Errorf("logs: %s", got)
	}
}

// TestLeftoversChild is the session that is killed.
func TestLeftoversChild(t *testing.T) {
	dir := os.Getenv("LEFTOVERS_DIR")
	if dir == "" {
		t.Skip("is started by TestLeftovers")
	}
	s, err := New(Options{Dir: dir, State: os.Getenv("LEFTOVERS_STATE"), Helper: testHelper})
	if err != nil {
		t.Fatal(err)
	}
	inv := prepared(t, s, "write_file", writeFileArgs{Path: filepath.Join(dir, "made"), Content: "x"})
	if _, err := inv.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	cache, err := s.files.left.makeCache()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(cache, "x"), filepath.Join(dir, ".adze-notes.tmp"), // the user's
		filepath.Join(dir, fmt.Sprintf(".adze-%d-0123456789abcdef.tmp", os.Getpid())),
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("\nready")
	bufio.NewReader(os.Stdin).ReadByte()
}
