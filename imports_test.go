package adze_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/adze-dev/adze/"

// mayImport is the package order: which of our packages a package may import. Every package must be listed.
var mayImport = map[string]string{
	// The core, and the packages that use only the core.
	"tool":           "internal/humanize internal/nearest tool/schema",
	"tool/schema":    "internal/humanize internal/nearest",
	"tool/tooltest":  "tool",
	"permission":     "tool permission/shell permission/shell/bash permission/shell/program permission/shell/form permission/shell/match internal/table internal/workspace/names",
	"model":          "internal/humanize tool",
	"agent":          "internal/humanize tool tool/schema model",
	"journal":        "tool model",
	"journal/export": "internal/humanize tool model journal",
	"model":          "tool",
	"agent":          "tool tool/schema model",
	"journal":        "internal/filelock tool model",
	"journal/export": "tool model journal",

	// Reading shell commands knows no rules and no tools.
	// A command line goes forward: reading, programs, proof, wrappers, rules.
	"permission/shell/bash":       "",
	"permission/shell/program":    "permission/shell/bash internal/table",
	"permission/shell/form":       "permission/shell/bash internal/table",
	"permission/shell/wrap":       "permission/shell/bash permission/shell/program",
	"permission/shell/match":      "permission/shell/bash permission/shell/program permission/shell/form",
	"permission/shell":            "permission/shell/bash permission/shell/wrap",
	"permission/environ":          "internal/table internal/workspace/names permission/shell/form",
	"permission/internal/bashlab": "permission/environ permission/shell permission/shell/bash permission/shell/program permission/shell/form permission/shell/match",
	"permission/ondisk":           "permission internal/gitconfig internal/gitindex internal/homedir internal/workspace/names internal/workspace/nofollow internal/workspace/realpath",

	// Models by their API.
	"model/api":                     "internal/humanize tool tool/schema model",
	"model/openai":                  "tool tool/schema model model/api",
	"model/anthropic":               "tool model model/api",
	"model/gemini":                  "tool model model/api",
	"model/responses":               "tool model model/api",
	"model/openai/openaitest":       "model/internal/scripted",
	"permission/internal/sessions":  "", // only tests
	"model/anthropic/anthropictest": "model/internal/scripted",
	"model/gemini/geminitest":       "model/internal/scripted",
	"model/responses/responsestest": "model/internal/scripted",
	"model/internal/scripted":       "",
	"model/replay":                  "tool model",

	// Engines know no tools.
	"internal/humanize":           "",
	"internal/nearest":            "",
	"internal/shellwords":         "",
	"internal/workspace":          "internal/homedir internal/workspace/names internal/workspace/nofollow internal/workspace/realpath internal/atomicfile",
	"internal/workspace/hardlink": "",
	"internal/workspace/names":    "",
	"internal/workspace/nofollow": "",
	"internal/workspace/realpath": "",
	"internal/workspace/watch":    "",
	"internal/table":              "",
	"internal/text":               "",
	"internal/atomicfile":         "internal/filelock internal/workspace/hardlink internal/workspace/nofollow internal/workspace/realpath",
	"internal/edit":               "",
	"internal/document":           "internal/humanize",
	"internal/homedir":            "",
	"internal/filelock":           "",
	"internal/ignore":             "internal/gitconfig internal/homedir",
	"internal/search":             "internal/ignore",
	"internal/search/bench":       "internal/search internal/ignore",
	"internal/proc":               "internal/gitconfig internal/proc/term internal/proc/sandbox",
	"internal/proc/term":          "",
	"internal/proc/sandbox":       "internal/gitconfig internal/table internal/workspace/names internal/workspace/realpath",
	"internal/proc/sandbox":       "internal/table internal/workspace/names internal/workspace/realpath",
	"internal/plainadze":          "",
	"internal/proc/kerneltest":    "",
	"internal/trial":              "internal/proc/sandbox internal/workspace/hardlink internal/workspace/names",
	"internal/web":                "internal/humanize internal/text internal/web/markdown",
	"internal/trial":              "internal/filelock internal/proc/sandbox internal/workspace/hardlink internal/workspace/names",
	"internal/web":                "internal/text internal/web/markdown",
	"internal/web/markdown":       "",
	"internal/web/websearch":      "internal/web",
	"internal/fenced":             "",
	"internal/failures":           "internal/humanize",
	"internal/gitconfig":          "",
	"internal/gitindex":           "",
	"internal/gitwork":            "internal/gitconfig",
	"internal/secretvalues":       "internal/gitconfig internal/proc",
	"internal/secretfiles":        "internal/gitconfig internal/gitindex internal/workspace/names internal/workspace/watch",
	"internal/secretfiles":        "internal/humanize internal/gitindex internal/workspace/names internal/workspace/watch",
	"internal/leaktest":           "",
	"internal/peers":              "",
	"internal/release":            "",
	"internal/site":               "",
	"internal/ptytest":            "internal/proc/term",
	"internal/settings":           "internal/nearest",
	"internal/soak":               "",
	"internal/soak/list":          "",
	"internal/spill":              "internal/filelock",
	"internal/leftover":           "internal/filelock",
	"internal/waittest":           "",
	"internal/context":            "internal/ignore internal/text internal/workspace/names internal/workspace/nofollow internal/workspace/realpath",
	"internal/engine/dotenv":      "",
	"internal/trust":              "discover internal/atomicfile internal/workspace/nofollow",
	"internal/bench": "journal hook internal/undo internal/session model tool builtin permission permission/ondisk internal/proc internal/proc/sandbox internal/trial discover model/openai/openaitest " +
		"model/anthropic/anthropictest model/gemini/geminitest model/responses/responsestest internal/tui/screentest",

	// What calls changed can be taken back.
	"internal/undo": "tool journal internal/search internal/workspace/hardlink internal/workspace/names internal/workspace/nofollow internal/workspace/watch",
	"internal/undo": "internal/humanize tool journal internal/search internal/workspace/hardlink internal/workspace/nofollow internal/workspace/watch",

	// The tools use the engines.
	"builtin": "internal/humanize tool tool/schema internal/homedir internal/workspace internal/workspace/names internal/workspace/watch internal/text internal/atomicfile internal/leftover internal/edit internal/document " +
		"internal/ignore internal/search internal/proc internal/proc/sandbox internal/trial internal/secretvalues internal/secretfiles internal/context internal/gitwork permission/environ permission/shell permission/shell/bash permission/shell/form " +
		"internal/web internal/web/markdown internal/web/websearch",

	// External tools, and the MCP server.
	"hook":                    "internal/proc",
	"discover":                "internal/humanize internal/shellwords permission/shell/bash tool tool/schema internal/proc discover/internal/clean discover/internal/oauth discover/internal/stdio",
	"discover/internal/clean": "internal/humanize tool",
	"discover/internal/oauth": "",
	"discover/internal/stdio": "internal/humanize tool discover/internal/clean",
	"discover":                "tool tool/schema internal/proc discover/internal/clean discover/internal/oauth discover/internal/stdio",
	"discover/internal/clean": "tool",
	"discover/internal/oauth": "internal/filelock",
	"discover/internal/stdio": "tool discover/internal/clean",
	"serve":                   "tool",

	// Requests to models, in a file.
	"internal/requestlog": "model",

	// One run, for any front end.
	"internal/session": "internal/humanize internal/requestlog journal journal/export hook internal/undo internal/workspace tool model model/api model/openai model/anthropic model/gemini model/responses agent builtin discover permission permission/ondisk permission/environ permission/shell/bash " +
	"internal/session": "internal/approval internal/requestlog journal journal/export hook internal/undo internal/workspace tool model model/api model/openai model/anthropic model/gemini model/responses agent builtin discover permission permission/ondisk permission/environ " +
		"internal/settings internal/spill internal/context internal/trust internal/atomicfile internal/edit internal/document internal/nearest internal/secretvalues internal/secretfiles internal/workspace/nofollow internal/workspace/names internal/workspace/watch internal/proc internal/proc/sandbox internal/trial",
	"internal/session": "internal/requestlog journal journal/export hook internal/undo internal/workspace tool model model/api model/openai model/anthropic model/gemini model/responses agent builtin discover permission permission/ondisk permission/environ " +
		"internal/engine/dotenv internal/settings internal/spill internal/context internal/trust internal/atomicfile internal/edit internal/document internal/nearest internal/secretvalues internal/secretfiles internal/workspace/nofollow internal/workspace/names internal/workspace/watch internal/proc internal/proc/sandbox internal/trial",

	// A session that a program drives.
	"internal/headless": "hook journal tool tool/schema model agent discover internal/approval internal/session internal/settings",

	// A session in an editor.
	"internal/acp": "journal tool model agent builtin discover permission internal/approval internal/session",

	// What front ends share: approvals, and the parts of a terminal.
	"internal/approval":       "tool permission",
	"internal/tui/cell":       "",
	"internal/tui/paint":      "internal/tui/cell",
	"internal/tui/screentest": "",
	"internal/tui/keys":       "",
	"internal/tui/editor":     "internal/tui/cell",
	"internal/tui/markdown":   "internal/tui/cell",
	"internal/tui/viewer":     "internal/tui/cell internal/tui/keys",
	"internal/tui":            "internal/humanize internal/nearest internal/shellwords tool model agent builtin internal/approval internal/tui/viewer internal/tui/cell internal/tui/paint internal/tui/keys internal/tui/editor internal/tui/markdown",

	// A session that took place, on its screen again.
	"internal/playback": "tool model agent journal builtin internal/tui internal/tui/cell internal/tui/paint",

	// The front ends may import everything.
	"internal/cli": "*",
	"cmd/adze":     "internal/cli .",

	// Programs that embed Adze.
	"examples/approval": ". builtin permission permission/ondisk tool",
	"examples/notes":    "agent journal model model/openai model/replay tool",

	// The entry point for programs that embed Adze.
	".": "builtin",
}

func TestImportDirection(t *testing.T) {
	for path, imports := range ownImports(t) {
		allowed, ok := mayImport[path]
		if !ok {
			t.Errorf("package %s is not listed: add it and what it may import to mayImport", path)
			continue
		}
		for _, imported := range imports {
			if allowed != "*" && !slices.Contains(strings.Fields(allowed), imported) {
				t.Errorf("package %s imports %s, against the package order", path, imported)
			}
		}
	}
}

// The core can be used in any program: it needs nothing but the standard library and packages for suggestions and
// for texts such as "3 files".
func TestCoreImportsOnlyTheStandardLibrary(t *testing.T) {
	core := []string{"tool", "tool/schema", "internal/nearest", "internal/humanize"}
	for _, path := range core {
		for _, imported := range imports(t, path) {
			own, _ := strings.CutPrefix(imported, modulePath)
			if strings.Contains(strings.Split(imported, "/")[0], ".") && !slices.Contains(core, own) {
				t.Errorf("package %s imports %s", path, imported)
			}
		}
	}
}

// ownImports returns the packages of this module and what they import of it, tests aside.
func ownImports(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || ownModule(path)) {
			return filepath.SkipDir
		}
		if found, _ := filepath.Glob(filepath.Join(path, "*.go")); len(found) == 0 {
			return nil
		}
		key := filepath.ToSlash(path)
		all[key] = nil
		for _, imported := range imports(t, path) {
			if own, ok := strings.CutPrefix(imported+"/", modulePath); ok {
				all[key] = append(all[key], cmp.Or(strings.TrimSuffix(own, "/"), "."))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ownModule reports whether a directory is a module of its own, which has its own tests.
func ownModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// otherModules lists the directories of modules of their own.
func otherModules(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || path == "." {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if ownModule(path) {
			found = append(found, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func imports(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, f := range goSources(t).in(filepath.ToSlash(dir)) {
		if f.isTest() {
			continue
		}
		for _, spec := range f.file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return found
}
