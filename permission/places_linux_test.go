package permission_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Most everyday commands run without approval. The lists are by people who hadn't seen this package.
func TestEveryday(t *testing.T) {
	serial.Test(t)
	if !bashlab.Has("git") {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	if err := bashlab.MakeExample(dir, 3000); err != nil {
		t.Fatal(err)
	}
	secrets := sync.OnceValues(secretsIn(dir)) // no command runs
	for _, tt := range []struct {
		file          string
		overlay, none float64
	}{{"harmless.txt", 0.98, 0.5}, {"everyday.txt", 0.95, 0.55}, {"everyday2.txt", 0.95, 0.55}} {
		for place, want := range map[permission.Place]float64{permission.Overlay: tt.overlay, permission.None: tt.none} {
			t.Run(fmt.Sprint(tt.file, " ", place), func(t *testing.T) {
				t.Parallel()
				lines := bashlab.ReadLines(t, "testdata/"+tt.file)
				var asks []string
				for _, l := range lines {
					if d, why := checkAmong(secrets, dir, l.Text, permission.Rules{}, place); d.Verdict != tool.Allow && !d.Try {
						asks = append(asks, fmt.Sprintf("%s:%d: %s\n\t%s", tt.file, l.Number, l.Text, strings.Join(why, "\n\t")))
					}
				}
				share := 1 - float64(len(asks))/float64(len(lines))
				t.Logf("%.1f %% of %d run without approval\n%s", 100*share, len(lines), strings.Join(asks, "\n"))
				if share < want {
					t.Errorf("%.1f %% run without approval, want %.0f %%", 100*share, 100*want)
				}
			})
		}
	}
}
