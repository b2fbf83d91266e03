package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// A tree with five times as many files as can be completed, a million with ADZE_SOAK=1: the list is bounded and says so, and
// each key has matches.
func TestCompleteFarTooManyFiles(t *testing.T) {
	t.Parallel()
	most := soak.Count(2000, maxFiles)
	all := 5 * most
	l := &List{root: t.TempDir(), limit: most, now: time.Now}
	for i := range all {
		dir := filepath.Join(l.root, fmt.Sprintf("dir%03d", i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("file%d.go", i)))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	typed := "file1"
	for end := range len(typed) + 1 {
		var last []tui.Candidate
		l.Complete(t.Context(), typed[:end], func(c []tui.Candidate) { last = c })
		if len(last) != maxMatches+1 {
			t.Fatalf("%q: %d completions", typed[:end], len(last))
		}
		note := last[maxMatches].About
		if note != fmt.Sprintf("%d of %d files: type a path to name others", most, all) && !strings.HasPrefix(note, "there are more files") {
			t.Errorf("%q: the note is %q", typed[:end], note)
		}
	}
	if n := len(l.known().names); n > most {
		t.Errorf("%d files are listed, %d at most", n, most)
	}
}
