package platforms

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Values of the table in the README.
const (
	tested    = "tested"
	emulated  = "tested under emulation"
	builtOnly = "built only"
	missing   = "missing"
)

// features are the rows of the table: what is tested on Linux, in other words of the results, and where it is missing.
var features = []struct {
	row     string
	results []string // stories, one of which works where the feature is tested under emulation
	windows string   // where none does; "": built only
	macOS   string
}{
	{row: "`version`, `doctor`, settings", results: []string{"program"}},
	{row: "`adze demo`", results: []string{"demo"}},
	{row: "file tools, edits, search", results: []string{"file tools"}},
	{row: "`-p` with a scripted model", results: []string{"-p"}},
	{row: "sessions: kill, resume", results: []string{"sessions"}},
	{row: "undo and redo", results: []string{"undo"}},
	{row: "MCP: client and server, stdio", results: []string{"MCP"}},
	{row: "commands", results: []string{"commands", "commands with cmd"}},
	{row: "archive of a release", results: []string{"archive"}},
	{row: "sandbox of commands", windows: missing},
	{row: "trials in an overlay", windows: missing, macOS: missing},
	{row: "conversation on the terminal"},
	{row: "fleets"},
}

// The table in the README says what make test-arm64 and make test-windows have shown.
func TestTable(t *testing.T) {
	const page, begin, end = "../../../README.md", "<!-- platforms -->\n", "<!-- TestTable in internal/dev/platforms -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table of platforms", page)
	}
	arm64, windows := results(t, "arm64.txt"), results(t, "windows.txt")
	var table strings.Builder
	table.WriteString("| | linux/amd64 | linux/arm64, in qemu | windows/amd64, in wine | macOS, never run |\n|---|---|---|---|---|\n")
	for _, f := range features {
		value := func(worked []string, otherwise string) string {
			switch {
			case slices.ContainsFunc(f.results, func(story string) bool { return slices.Contains(worked, story) }):
				return emulated
			case otherwise != "":
				return otherwise
			}
			return builtOnly
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", f.row, tested, value(arm64, ""), value(windows, f.windows), value(nil, f.macOS))
	}
	if *update {
		err = os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644)
	}
	if err != nil || old != table.String() && !*update {
		t.Errorf("%s is stale (%v): run go test ./internal/dev/platforms -run TestTable -update", page, err)
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
