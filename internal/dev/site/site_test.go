package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSite(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{
		"README.md":     "# Thing\n\n![p](docs/p.svg) See [more](docs/more.md#a-b-2), [code](main.go), [out](https://example.com/x.md) and [here](#use-it).\n\n## Use it\n\n`x`\n",
		"docs/more.md":  "# More\n\n## A `b`, 2?\n\n<script>alert(1)</script>\n\n| k | v |\n|---|---|\n| needle | 1 |\n\n[back](../README.md)\n",
		"docs/p.svg":    "<svg/>",
		"main.go":       "package main",
		"docs/other.md": "# Other\n\nSee [more.md](more.md#a-b-2) and [docs/more.md](more.md). Not here.\n", "SECURITY.md": "# Report\n", "docs/security.md": "# Security\n\n[policy](../SECURITY.md)\n",
	})
	if err := makeSite(root, out); err != nil {
		t.Fatal(err)
	}
	for file, parts := range map[string][]string{
		"index.html": {"<title>Thing</title>", `<summary>On this page</summary>`, `<a href="#use-it">Use it</a>`, `<a href="https://github.com/adze-dev/adze">Source</a>`, `href="more.html#a-b-2"`, `href="https://github.com/adze-dev/adze/blob/main/main.go"`, `href="https://example.com/x.md"`, `id="use-it"`, `src="p.svg"`},
		"more.html":  {"<title>More – Adze</title>", `id="a-b-2"`, `<a href="index.html">back</a>`, `<a href="more.html" aria-current="page">More</a>`},
		"index.js":   {`"f":"more.html#a-b-2","p":"More","h":"A b, 2?"`, "needle"},
		"p.svg":      {"<svg/>"}, "style.css": {"dark"}, "page.js": {"searchIndex"}, "other.html": {"Other", `See <a href="more.html#a-b-2">More</a> and <a href="more.html">More</a>`},
		"llms.txt":             {"# Thing\n\n> p See more, code, out and here\n", "## Build\n\n- [More](" + repository + "docs/more.md)", "[Other](" + repository + "docs/other.md): See more.md and docs/more.md\n"},
		"security-policy.html": {"Report"}, "security.html": {"Security", `href="security-policy.html"`},
	} {
		text, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Error(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s:\n%s", file, part, text)
			}
		}
		if strings.Contains(string(text), "alert(1)") && file == "more.html" {
			t.Error("HTML in Markdown is not left out")
		}
	}
}

func TestDeadLinks(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n[x](docs/none.md)\n": "README.md: there is no docs/none.md",
		"# A\n[x](#b)\n":           "README.md: README.md has no heading #b",
		"# A\n":                    "docs/Same.md and docs/same.md would both be same.html",
	} {
		root := t.TempDir()
		write(t, root, map[string]string{"README.md": text})
		if strings.HasPrefix(want, "docs/") {
			write(t, root, map[string]string{"docs/Same.md": text, "docs/same.md": text})
		}
		if err := makeSite(root, t.TempDir()); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// All links and anchors of the documentation lead somewhere.
func TestDocumentation(t *testing.T) {
	if err := makeSite("../../..", t.TempDir()); err != nil {
		t.Error(err)
	}
}
