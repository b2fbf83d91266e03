package adze_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// layer is a group of packages with the same place in the package order.
type layer struct {
	name     string
	about    string
	uses     []string // layers that its packages may import; every layer may import itself
	packages []string // packages, or with "/..." packages and all below them that no layer lists by name
}

// layers are the layers from top to bottom. The program knows settings and the terminal, the library knows tools, and
// engines know neither. Tools for development are in no program.
var layers = []layer{
	{
		name: "program", about: "flags, settings, sessions, terminal", uses: []string{"library", "engines"},
		packages: []string{
			".", "cmd/adze", "internal/cli", "internal/session", "internal/settings", "internal/trust", "internal/spill", "internal/requestlog", "internal/undo",
			"internal/approval", "internal/headless", "internal/acp", "internal/playback", "internal/tui/...",
		},
	},
	{
		name: "library", about: "tools, permissions, models, agent loop", uses: []string{"engines"},
		packages: []string{
			"tool/...", "builtin", "permission/...", "discover/...", "serve", "hook", "model/...", "agent", "journal/...",
		},
	},
	{
		name: "engines", about: "no tools, no settings",
		packages: []string{
			"internal/atomicfile", "internal/leftover", "internal/context", "internal/document", "internal/edit", "internal/gitconfig", "internal/gitindex",
			"internal/gitwork", "internal/homedir", "internal/humanize", "internal/ignore", "internal/nearest", "internal/proc", "internal/proc/sandbox",
			"internal/proc/term", "internal/search", "internal/secretfiles", "internal/secretvalues", "internal/shellwords", "internal/table", "internal/text", "internal/trial", "internal/web/...",
			"internal/atomicfile", "internal/filelock", "internal/leftover", "internal/context", "internal/document", "internal/edit", "internal/gitconfig", "internal/gitindex",
			"internal/engine/...", "internal/atomicfile", "internal/leftover", "internal/context", "internal/document", "internal/edit", "internal/gitconfig", "internal/gitindex",
			"internal/gitwork", "internal/homedir", "internal/ignore", "internal/nearest", "internal/proc", "internal/proc/sandbox",
			"internal/proc/term", "internal/search", "internal/secretfiles", "internal/secretvalues", "internal/table", "internal/text", "internal/trial", "internal/web/...",
			"internal/workspace/...",
		},
	},
	{
		name: "development", about: "tests, benchmarks, releases, examples", uses: []string{"program", "library", "engines"},
		packages: []string{
			"examples/...", "internal/bench", "internal/failures", "internal/fenced", "internal/leaktest", "internal/peers", "internal/plainadze",
			"internal/proc/kerneltest", "internal/ptytest", "internal/release", "internal/search/bench", "internal/site", "internal/soak/...",
			"internal/waittest", "permission/internal/bashlab", "permission/internal/sessions",
		},
	},
}

// layerOf returns the layer of a package: the one that lists it, or that lists a package above it with "/...".
func layerOf(t *testing.T, path string) layer {
	t.Helper()
	for _, covers := range []func(string) bool{
		func(p string) bool { return path == p },
		func(p string) bool {
			above, all := strings.CutSuffix(p, "/...")
			return all && (path == above || strings.HasPrefix(path, above+"/"))
		},
	} {
		found := slices.DeleteFunc(slices.Clone(layers), func(l layer) bool { return !slices.ContainsFunc(l.packages, covers) })
		if len(found) == 1 {
			return found[0]
		}
	}
	t.Fatalf("package %s is in no layer or in several: list it in one of layers", path)
	return layer{}
}

func TestLayers(t *testing.T) {
	for path, imports := range ownImports(t) {
		l := layerOf(t, path)
		for _, imported := range imports {
			if other := layerOf(t, imported); other.name != l.name && !slices.Contains(l.uses, other.name) {
				t.Errorf("package %s (%s) imports %s (%s), against the order of layers", path, l.name, imported, other.name)
			}
		}
	}
}

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
			if layerOf(t, path).name == l.name {
				level := height(t, imports, l, path)
				rows[level] = append(rows[level], strings.TrimPrefix(path, "internal/"))
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
	most := 0
	for _, imported := range imports[path] {
		if layerOf(t, imported).name == l.name {
			most = max(most, height(t, imports, l, imported)+1)
		}
	}
	return most
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
