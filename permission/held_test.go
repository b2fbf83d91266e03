//go:build unix

package permission_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

var update = flag.Bool("update", false, "rewrite testdata/enforced_allowed.txt")

// stocked is a calm disk that has every secret that is asked for, and whatever is in the home.
type stocked struct{ calm }

func (stocked) Glob(pattern string) ([]string, bool) {
	if _, secret := names.Secret(pattern); secret || strings.HasPrefix(pattern, home) && !strings.HasPrefix(pattern, root) {
		return []string{pattern}, true
	}
	return nil, true
}

func enforcedWorld() permission.World {
	w := calmWorld()
	w.Disk, w.Enforced = func() permission.Disk { return stocked{} }, func() bool { return true }
	return w
}

// Attacks that run without approval where the sandbox enforces reads, for review: each is only held by the sandbox.
func TestAttacksEnforced(t *testing.T) {
	const file = "testdata/enforced_allowed.txt"
	w := enforcedWorld()
	lines, _ := attacks(t)
	var allowed []string
	for _, line := range lines {
		if permission.New(w, permission.Default).Judge(commandRequest(line)).Verdict == tool.Allow {
			allowed = append(allowed, strings.ReplaceAll(line, "\n", "⏎"))
		}
	}
	slices.Sort(allowed)
	got := strings.Join(slices.Compact(allowed), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs: review it, then run go test ./permission -run TestAttacksEnforced -update", file)
		for _, line := range allowed {
			if !strings.Contains("\n"+string(want), "\n"+line+"\n") {
				t.Errorf("newly allowed: %s", line)
			}
		}
	}
}
