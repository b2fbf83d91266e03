// Command site makes the documentation site: a directory of plain HTML from README.md and docs/*.md. It needs no
// server: each page can search all pages with an index that it loads as a script.
//
//	go run ./internal/dev/site -out bin/site
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path"
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

// group is a part of the menu.
type group struct {
	Title string
	names []string // of sources, without docs/ and .md
	Pages []*page
}

// groups returns the menu. The last group also has the pages that no group names, by name.
func groups() []*group {
	var out []*group
	for line := range strings.Lines(`
Start: README guide coming-from troubleshooting comparison limitations
Use: terminal keys cli tools sessions
Configure: settings models permissions hooks telemetry
Stay safe: security secrets SECURITY
Build: headless embedding fleet adding-a-tool
`) {
		if title, names, ok := strings.Cut(line, ":"); ok {
			out = append(out, &group{Title: title, names: strings.Fields(names)})
		}
	}
	return out
}

// makeSite writes the pages of a repository.
func makeSite(root, out string) error {
	sources, err := list(root)
	if err != nil {
		return err
	}
	site, files := map[string]*page{}, map[string]string{}
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(source)))
		if err != nil {
			return err
		}
		p := render(source, text)
		if other, taken := files[p.File]; taken {
			return fmt.Errorf("%s and %s would both be %s", other, source, p.File)
		}
		site[source], files[p.File] = p, source
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
	menu := arrange(site, sources)
	for _, p := range site {
		var b bytes.Buffer
		if err := frame.Execute(&b, map[string]any{
			"Page": p, "Menu": menu, "Body": template.HTML(p.html(site)),
			"Repository": strings.TrimSuffix(repository, "/blob/main/"),
		}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, p.File), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return writeRest(root, out, menu)
}

// list returns the sources of the pages.
func list(root string) ([]string, error) {
	found := []string{"README.md", "CHANGELOG.md", "SECURITY.md"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	for _, path := range docs {
		found = append(found, "docs/"+filepath.Base(path))
	}
	return slices.DeleteFunc(found, func(source string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(source)))
		return err != nil
	}), err
}

// arrange puts pages into the groups of the menu.
func arrange(site map[string]*page, sources []string) []*group {
	menu, rest := groups(), slices.Clone(sources)
	for _, g := range menu {
		for _, name := range g.names {
			i := slices.IndexFunc(rest, func(source string) bool { return path.Base(source) == name+".md" })
			if i >= 0 {
				g.Pages = append(g.Pages, site[rest[i]])
				rest = slices.Delete(rest, i, i+1)
			}
		}
	}
	last := menu[len(menu)-1]
	slices.Sort(rest)
	for _, source := range rest {
		last.Pages = append(last.Pages, site[source])
	}
	return slices.DeleteFunc(menu, func(g *group) bool { return len(g.Pages) == 0 })
}

// writeRest writes what isn't a page: the index of the search, llms.txt, the style, scripts and pictures.
func writeRest(root, out string, menu []*group) error {
	write := func(name string, content []byte) error { return os.WriteFile(filepath.Join(out, name), content, 0o644) }
	var index []indexEntry
	var pages []*page
	llms := strings.Builder{}
	for i, g := range menu {
		if i == 0 {
			fmt.Fprintf(&llms, "# %s\n\n> %s\n", g.Pages[0].Title, g.Pages[0].about)
		}
		fmt.Fprintf(&llms, "\n## %s\n\n", g.Title)
		for _, p := range g.Pages {
			fmt.Fprintf(&llms, "- [%s](%s%s): %s\n", p.Title, repository, p.source, p.about)
			index = append(index, p.index...)
		}
		pages = append(pages, g.Pages...)
	}
	text, err := json.Marshal(index)
	err = errors.Join(err, write("index.js", []byte("var searchIndex = "+string(text)+";\n")),
		write("llms.txt", []byte(llms.String())))
	for _, name := range []string{"style.css", "page.js"} {
		content, failed := assets.ReadFile("assets/" + name)
		err = errors.Join(err, failed, write(name, content))
	}
	for _, p := range pages {
		for _, picture := range p.pictures {
			content, failed := os.ReadFile(filepath.Join(root, filepath.FromSlash(picture)))
			if failed != nil {
				return fmt.Errorf("%s: %w", p.source, failed)
			}
			err = errors.Join(err, write(filepath.Base(picture), content))
		}
	}
	return err
}
