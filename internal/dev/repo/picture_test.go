package repo

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The picture of the packages in docs/design.md is what the code imports.
func TestPackagePicture(t *testing.T) {
	const page, begin, end = "docs/design.md", "<!-- packages -->\n", "<!-- /packages -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the picture", page)
	}
	generated(t, page, before+begin+"```\n"+packagePicture(t)+"```\n"+end+after)
}

// packagePicture shows the layers, and in each layer rows of packages that import only packages of lower rows.
func packagePicture(t *testing.T) string {
	t.Helper()
	imports := ownImports(t)
	var b strings.Builder
	for i, l := range layers {
		rows := map[int][]string{}
		for path := range imports {
			if layerOf(path).name == l.name {
				level := height(t, imports, l, path)
				rows[level] = append(rows[level], shortName(path))
			}
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(l.name + ": " + l.about + "\n")
		for level := len(rows) - 1; level >= 0; level-- {
			slices.Sort(rows[level])
			writeRow(&b, rows[level])
		}
	}
	return b.String()
}

// height returns the length of the longest chain of imports below a package in its layer.
func height(t *testing.T, imports map[string][]string, l layer, path string) int {
	limit := 0
	for _, imported := range imports[path] {
		if layerOf(imported).name == l.name {
			limit = max(limit, height(t, imports, l, imported)+1)
		}
	}
	return limit
}

func writeRow(b *strings.Builder, packages []string) {
	const width = 110
	line := "  │"
	for _, p := range packages {
		if len(line)+2+len(p) > width {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += "  " + p
	}
	b.WriteString(line + "\n")
}

// shortName is the name of a package in the picture: without the directory of its layer.
func shortName(path string) string {
	for _, room := range []string{"internal/app/", "internal/engine/", "internal/dev/"} {
		if name, ok := strings.CutPrefix(path, room); ok {
			return name
		}
	}
	return path
}
