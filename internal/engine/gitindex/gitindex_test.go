package gitindex

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Git's own indexes are read, in each version and with each kind of hash.
func TestParse(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	for _, format := range []string{"sha1", "sha256"} {
		for version := 2; version <= 4; version++ {
			t.Run(fmt.Sprintf("%s version %d", format, version), func(t *testing.T) {
				data := makeIndex(t, format, version)
				if data[7] != byte(version) {
					t.Fatalf("git wrote version %d", data[7])
				}
				size, other := 20, 32
				if format == "sha256" {
					size, other = 32, 20
				}
				var got []string
				split, err := Parse(data, size, func(e Entry) error {
					got = append(got, fmt.Sprintf("%s %o %d", e.Name, e.Mode, e.Size))
					return nil
				})
				slices.Sort(got)
				want := []string{".env 100644 5", "a/b/deep.txt 100644 300", "a/b/deeper.txt 100644 0", "new.txt 100644 0"}
				if version == 2 {
					want = want[:3]
				}
				if err != nil || split != nil || !slices.Equal(got, want) {
					t.Errorf("Parse = %q, %v, %v, want %q", got, split, err, want)
				}
				if _, err := Parse(data, other, func(Entry) error { return nil }); err == nil {
					t.Errorf("hashes of %d bytes are accepted", other)
				}
				for n := range len(data) {
					if _, err := Parse(data[:n], size, func(Entry) error { return nil }); err == nil && n < len(data)-200 {
						t.Errorf("the first %d of %d bytes are accepted", n, len(data))
					}
				}
			})
		}
	}
}

// makeIndex returns the index of a new repository. Version 3 needs a flag that version 2 doesn't have: a file to add later.
func makeIndex(t *testing.T, format string, version int) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, size := range map[string]int{".env": 5, "a/b/deep.txt": 300, "a/b/deeper.txt": 0, "new.txt": 7} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{'x'}, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "--object-format="+format)
	git("add", ".env", "a")
	if version > 2 {
		git("add", "-N", "new.txt")
	}
	git("update-index", fmt.Sprintf("--index-version=%d", version))
	data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"+strings.Repeat("\x00", 20)), 20)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"+strings.Repeat("\x00", 100)), 20)
	f.Add(append([]byte("DIRC\x00\x00\x00\x03\x00\x00\x00\x01"), bytes.Repeat([]byte{0xff}, 200)...), 32)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size != 20 && size != 32 {
			return
		}
		n := 0
		split, err := Parse(data, size, func(Entry) error { n++; return nil })
		if err == nil && n > len(data) {
			t.Errorf("%d entries", n)
		}
		if split != nil {
			_ = split.Parse(data, size, func(Entry) error { return nil })
		}
	})
}
