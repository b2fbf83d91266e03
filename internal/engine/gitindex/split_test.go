package gitindex

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Entries of a shared index that the index deletes were listed, and those that it replaces had their old mode and an empty
// name: after git rm --cached, .env counted as tracked.
func TestSplitIndex(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		run := func(line string) string {
			c := exec.Command("bash", "-ec", line)
			c.Dir = dir
			c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", line, err, out)
			}
			return string(out)
		}
		run("git init -q --object-format=" + format + `; mkdir d; for i in {1..300}; do echo $i > d/f$i; done; echo x > .env; echo y > program; git add -A; git config splitIndex.maxPercentChange 100; git update-index --split-index
			git rm -q --cached .env d/f1 d/f7 d/f64 d/f65 d/f300; chmod +x program; git add program; echo new > new; git add new; git rm -qr --cached d/f2*`)
		size := 20
		if format == "sha256" {
			size = 32
		}
		var got []string
		visit := func(e Entry) error {
			got = append(got, fmt.Sprintf("%o %s", e.Mode, e.Name))
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		split, err := Parse(data, size, visit)
		if err != nil || split == nil {
			t.Fatalf("not a split index: %v", err)
		}
		if data, err = os.ReadFile(filepath.Join(dir, ".git/sharedindex."+split.Shared)); err != nil {
			t.Fatal(err)
		}
		if err := split.Parse(data, size, visit); err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(run("git ls-files -s")) {
			f := strings.Fields(line)
			want = append(want, f[0]+" "+f[3])
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) < 150 {
			t.Errorf("%s: %d entries, want %d:\n%q\n%q", format, len(got), len(want), got, want)
		}
	}
}
