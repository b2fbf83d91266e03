package platforms

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/fenced"
)

// Values of the table in the README.
const (
	tested    = "tested"
	emulated  = "tested under emulation"
	builtOnly = "built only"
	missing   = "missing"
)

// features are the columns of the table: what is tested on linux/amd64, in other words of the results, and where it is
// missing.
var features = []struct {
	name             string
	results          []string // stories that show it: all of one platform's
	onlyArm, onlyWin string   // a story of one of the platforms
	windows, macOS   string   // where it isn't shown; "": built only
}{
	{name: "file tools, `-p`, sessions, undo, MCP", results: []string{"program", "file tools", "-p", "sessions", "undo", "MCP"}},
	{name: "commands", onlyArm: "commands", onlyWin: "commands with cmd"},
	{name: "`adze demo`", results: []string{"demo"}},
	{name: "archive of a release", results: []string{"archive"}},
	{name: "sandbox", windows: missing},
	{name: "trials in an overlay", windows: missing, macOS: missing},
	{name: "terminal, fleets"},
}

// The table in the README says what make test-arm64 and make test-windows have shown.
func TestTable(t *testing.T) {
	const page, begin, end = "../../../README.md", "<!-- platforms -->\n", "<!-- TestTable in internal/dev/platforms -->\n"
	arm64, windows := results(t, "arm64.txt"), results(t, "windows.txt")
	rows := []string{"| |", "|---|", "| linux/amd64 |", "| linux/arm64, in qemu |", "| windows/amd64, in wine |", "| macOS, never run |"}
	for _, f := range features {
		value := func(worked []string, only, otherwise string) string {
			stories := slices.Clone(f.results)
			if only != "" {
				stories = append(stories, only)
			}
			missed := slices.ContainsFunc(stories, func(story string) bool { return !slices.Contains(worked, story) })
			switch {
			case len(stories) > 0 && !missed:
				return emulated
			case otherwise != "":
				return otherwise
			}
			return builtOnly
		}
		for i, cell := range []string{f.name, "---", tested, value(arm64, f.onlyArm, ""), value(windows, f.onlyWin, f.windows), value(nil, "", f.macOS)} {
			if i == 1 {
				rows[i] += cell + "|"
			} else {
				rows[i] += " " + cell + " |"
			}
		}
	}
	table := strings.Join(rows, "\n") + "\n"
	if err := fenced.Made(page, begin, end, table, *update); err != nil {
		t.Errorf("%v: run go test ./internal/dev/platforms -run TestTable -update", err)
	}
}

// results returns the stories that worked on a platform, as its test has recorded them.
func results(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
