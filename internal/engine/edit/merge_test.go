package edit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/edit"
)

// Merge agrees with git merge-file: about conflicts, and byte for byte about the result.
func TestMergeAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	clean := 0
	total := soak.Count(150, 5000)
	for i := range total {
		var base []string
		for n := range r.IntN(30) {
			base = append(base, fmt.Sprintf("line %d", n))
		}
		texts := []string{text(r, base), text(r, changed(r, base, "ours")), text(r, changed(r, base, "theirs"))}
		if i%10 == 0 {
			texts[2] = texts[1] // the same changes
		}
		var paths []string
		for n, name := range []string{"ours", "base", "theirs"} {
			paths = append(paths, filepath.Join(dir, name))
			if err := os.WriteFile(paths[n], []byte(texts[[]int{1, 0, 2}[n]]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", append([]string{"merge-file", "-p"}, paths...)...)
		cmd.Dir = dir
		want, err := cmd.Output()
		got, ok := edit.Merge(texts[0], texts[1], texts[2])
		if ok != (err == nil) || ok && got != string(want) {
			t.Fatalf("base %q\nours %q\ntheirs %q\nmerged %v %q\ngit %v %q", texts[0], texts[1], texts[2], ok, got, err, want)
		}
		if ok {
			clean++
		}
	}
	if clean < total/10 || clean == total {
		t.Errorf("%d of %d texts were merged", clean, total)
	}
}

// With few distinct lines, alignments are ambiguous; these hold for each of them.
func TestMergeOneSide(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range soak.Count(200, 5000) {
		var base []string
		for range r.IntN(20) {
			base = append(base, fmt.Sprint(r.IntN(4)))
		}
		a, b := text(r, base), text(r, changed(r, base, "x"))
		for _, c := range [][4]string{{a, a, b, b}, {a, b, a, b}, {a, b, b, b}, {a, a, a, a}} {
			if got, ok := edit.Merge(c[0], c[1], c[2]); !ok || got != c[3] {
				t.Fatalf("Merge(%q, %q, %q) = %q, %v", c[0], c[1], c[2], got, ok)
			}
		}
	}
}

// changed changes a few places; new lines differ from all others.
func changed(r *rand.Rand, lines []string, by string) []string {
	lines = slices.Clone(lines)
	for n := range r.IntN(4) {
		i := r.IntN(len(lines) + 1)
		end := min(len(lines), i+r.IntN(3))
		var more []string
		for m := range r.IntN(3) {
			more = append(more, fmt.Sprintf("%s %d.%d", by, n, m))
		}
		lines = slices.Replace(lines, i, end, more...)
	}
	return lines
}

// text joins lines, sometimes without a newline at the end.
func text(r *rand.Rand, lines []string) string {
	s := strings.Join(lines, "\n")
	if s != "" && r.IntN(5) > 0 {
		s += "\n"
	}
	return s
}
