// Command site makes the documentation site: a directory of plain HTML from README.md and docs/*.md. It needs no
// server: each page can search all pages with an index that it loads as a script.
//
//	go run ./internal/dev/site -out bin/site
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

func main() {
	root := flag.String("root", ".", "directory of the repository")
	out := flag.String("out", "bin/site", "directory for the pages; it is created")
	flag.Parse()
	if err := makeSite(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// order returns the order of the pages in the menu. The others follow by name.
func order() []string {
	return []string{"README.md", "docs/guide.md", "docs/terminal.md", "docs/keys.md", "docs/cli.md", "docs/models.md",
		"docs/settings.md", "docs/permissions.md", "docs/security.md", "docs/secrets.md", "SECURITY.md",
		"docs/tools.md", "docs/sessions.md", "docs/hooks.md", "docs/headless.md", "docs/fleet.md"}
}

// makeSite writes the pages of a repository.
func makeSite(root, out string) error {
	sources, err := list(root)
	if err != nil {
		return err
	}
	site := map[string]*page{}
	var pages []*page
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(source)))
		if err != nil {
			return err
		}
		p := render(source, text)
		if i := slices.IndexFunc(pages, func(other *page) bool { return other.File == p.File }); i >= 0 {
			return fmt.Errorf("%s and %s would both be %s", pages[i].source, source, p.File)
		}
		site[source] = p
		pages = append(pages, p)
	}
	if site["README.md"] == nil {
		return fmt.Errorf("%s has no README.md", root)
	}
	if err := checkLinks(root, site); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	frame, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return err
	}
	for _, p := range pages {
		var b bytes.Buffer
		if err := frame.Execute(&b, map[string]any{
			"Page": p, "Pages": pages, "Body": template.HTML(p.body),
		}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, p.File), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return writeRest(root, out, pages)
}

// list returns the sources of the pages, in the order of the menu.
func list(root string) ([]string, error) {
	found := []string{"README.md", "CHANGELOG.md", "SECURITY.md"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range docs {
		found = append(found, "docs/"+filepath.Base(path))
	}
	found = slices.DeleteFunc(found, func(source string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(source)))
		return err != nil
	})
	rank := func(source string) int {
		if i := slices.Index(order(), source); i >= 0 {
			return i
		}
		return len(order())
	}
	slices.SortStableFunc(found, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return found, nil
}

// writeRest writes the files that pages refer to: the style, the search and its index, pictures.
func writeRest(root, out string, pages []*page) error {
	var index []indexEntry
	for _, p := range pages {
		index = append(index, p.index...)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "index.js"), []byte("var searchIndex = "+string(text)+";\n"),
		0o644); err != nil {
		return err
	}
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
	}
	for _, p := range pages {
		for _, picture := range p.pictures {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(picture)))
			if err != nil {
				return fmt.Errorf("%s: %w", p.source, err)
			}
			if err := os.WriteFile(filepath.Join(out, filepath.Base(picture)), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
