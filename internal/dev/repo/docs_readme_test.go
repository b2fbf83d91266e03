package repo

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/dev/fenced"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// These functions have the lines of the Go code in docs/embedding.md. They are compiled, not run.
var _ = func(ctx context.Context, a *adze.Agent) error {
	for event, err := range a.Run(ctx, "fix the failing test") {
		if err != nil {
			return err
		}
		if text, ok := event.(adze.Text); ok {
			fmt.Print(text)
		}
	}
	return nil
}

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

// The Go code of docs/embedding.md is in this file, line by line, so it compiles; programs are TestEmbeddingProgram's.
func TestEmbeddingGo(t *testing.T) {
	t.Parallel()
	blocks, err := fenced.Read("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("internal/dev/repo/docs_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	rest, lines := string(source), 0
	for _, b := range blocks {
		if b.Language != "go" || strings.HasPrefix(b.Text, "package ") || strings.HasPrefix(b.Text, "func ") {
			continue
		}
		for line := range strings.Lines(b.Text) {
			lines++
			i := strings.Index(rest, "\t"+line)
			if i < 0 {
				t.Fatalf("docs/embedding.md:%d: this line isn't in docs_readme_test.go:\n%s", b.Line, line)
			}
			rest = rest[i+len(line):]
		}
	}
	if lines < 4 {
		t.Error("docs/embedding.md has no Go code")
	}
}

// The README is short, and every block in it is of a kind that a test reads.
func TestReadmeShape(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(text), "\n") - strings.Count(string(text), "\n<!--")
	for _, b := range fenced.Parse(string(text)) {
		switch b.Language {
		case "go": // TestEmbeddingProgram
			n -= strings.Count(b.Text, "\n")
		case "sh", "json": // TestPages and what it names, TestSettingsExamples
		default:
			t.Errorf("README.md:%d: no test reads %q", b.Line, b.Language)
		}
	}
	if n > 133 {
		t.Errorf("README.md has %d lines without comments and the program", n)
	}
}

// Numbers in the README are those of docs/numbers.md, which make bench and make bench-peers write, and the size that .ci/run allows.
func TestReadmeNumbers(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme, numbers, ci := read("README.md"), read("docs/numbers.md"), read(".ci/run")
	if !strings.Contains(readme, "less than 24 MB") || !strings.Contains(ci, `-ge $((24 * 1000 * 1000))`) {
		t.Error("README.md and .ci/run have different limits of the size")
	}
	for _, m := range regexp.MustCompile(`\d[\d.,]* (?:[KMG]B|m?s)\b`).FindAllString(readme, -1) {
		if m != "24 MB" {
			t.Errorf("README.md has %s outside of a row of docs/numbers.md", m)
		}
	}
	rows := 0
	for _, row := range regexp.MustCompile(`(?m)^\| [^|]+, (?:ms|MB|KB) \|.*$`).FindAllString(readme, -1) {
		if rows++; !strings.Contains(numbers, row+"\n") {
			t.Errorf("docs/numbers.md has no row %s", row)
		}
	}
	if rows < 3 {
		t.Errorf("README.md has %d rows of numbers", rows)
	}
}

// The program contains no hosts except those of model providers, search engines, registries, standards and its own repository: it
// contacts nothing else by itself.
func TestHosts(t *testing.T) {
	t.Parallel()
	known := []string{
		"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "openai.azure.com",
		"NAME.openai.azure.com.", "aiplatform.googleapis.com", "oauth2.googleapis.com",
		"html.duckduckgo.com", "api.tavily.com", "api.search.brave.com", "dashscope.aliyuncs.com", "www.googleapis.com",
		"github.com", "raw.githubusercontent.com", "json-schema.org", "www.w3.org", "spdx.org", "agent-plugins.org",
		"pkg.go.dev", "127.0.0.1", "localhost", "example.com", ".", "",
	}
	hosts := regexp.MustCompile(`https?://([\w.-]*)`)
	for _, f := range goSources(t).all {
		if f.isTest() || f.below("internal/dev", "examples", "fleet") {
			continue
		}
		for _, m := range hosts.FindAllStringSubmatch(withoutComments(f), -1) {
			if !slices.Contains(known, m[1]) && !strings.HasSuffix(m[1], ".example.com") {
				t.Errorf("%s has %s", f.path, m[0])
			}
		}
	}
}

// withoutComments returns the code of a file.
func withoutComments(f source) string {
	text := []byte(string(f.text))
	for _, group := range f.file.Comments {
		from, to := int(group.Pos()-f.file.FileStart), int(group.End()-f.file.FileStart)
		for i := from; i < to; i++ {
			text[i] = ' '
		}
	}
	return string(text)
}
