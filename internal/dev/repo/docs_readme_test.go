package repo

import (
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/dev/fenced"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// readmeProgram has the lines of the README's Go code. It is compiled, not run.
var _ = func(dir string) (*tool.Executor, error) {
	helper := adze.Main() // first in main, so that Adze can sandbox commands and stop their process trees
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: helper})
	if err != nil {
		return nil, err
	}
	policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
	x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask, Check: set.Check}
	return x, nil
}

// The README's Go code is in this file, line by line, so it compiles.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	blocks, err := fenced.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("internal/dev/repo/docs_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	rest, lines := string(source), 0
	for _, b := range blocks {
		if b.Language != "go" {
			continue
		}
		for line := range strings.Lines(b.Text) {
			lines++
			i := strings.Index(rest, "\t"+line)
			if i < 0 {
				t.Fatalf("README.md:%d: this line isn't in docs_readme_test.go:\n%s", b.Line, line)
			}
			rest = rest[i+len(line):]
		}
	}
	if lines < 4 {
		t.Error("README.md has no Go code")
	}
}

// The README is short, and every block in it is of a kind that a test reads.
func TestReadmeShape(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n >= 250 {
		t.Errorf("README.md has %d lines", n)
	}
	for _, b := range fenced.Parse(string(text)) {
		switch b.Language {
		case "sh", "json", "go": // TestPages and what it names, TestSettingsExamples, TestReadmeGo
		default:
			t.Errorf("README.md:%d: no test reads %q", b.Line, b.Language)
		}
	}
}
