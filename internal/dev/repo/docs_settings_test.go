package repo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/jsonc"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/dev/fenced"
)

// ownKeys are the settings that @qwen-code/qwen-code 0.24.4 doesn't have: its SETTINGS_SCHEMA was read on 19 November 2026.
var ownKeys = []string{
	"context.nested", "general.maxStateBytes", "lsp.diagnostics", "lsp.servers", "lsp.unsandboxed", "model.cacheTtl", "model.editDialect",
	"model.fallbackWait", "model.fallbacks", "network.credentials", "tools.afterChange", "tools.env", "tools.notSecret",
	"tools.sandboxBackend", "tools.sandboxUnixSockets", "tools.sandboxWrite", "tools.shell.passEnv", "tools.toolCallTimeout",
	"tools.trial", "tools.webFetch.allowPrivateHosts", "ui.keys", "ui.notifications", "undo.maxBytes", "undo.maxFileBytes", "undo.maxFiles",
}

// docs/settings.md has a table of all settings.
func TestSettingsTable(t *testing.T) {
	const path = "docs/settings.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| key | type | default | project | what it does |\n|---|---|---|---|---|\n")
	own := 0
	for _, d := range settings.Describe() {
		if d.About == "" || !strings.HasSuffix(d.About, ".") {
			t.Errorf("%s has no description", d.Key)
		}
		about := strings.ReplaceAll(d.About, "|", "\\|")
		if d.Adds {
			about += " Adds up."
		}
		if len(d.Also) > 0 {
			about += " Also: `" + strings.Join(d.Also, "`, `") + "`."
		}
		if len(d.Env) > 0 {
			about += " Variable: `" + strings.Join(d.Env, "`, `") + "`."
		}
		preset := ""
		if d.Default != "" {
			preset = "`" + d.Default + "`"
		}
		mark := ""
		if slices.Contains(ownKeys, d.Key) {
			own, mark = own+1, " ¹"
		}
		fmt.Fprintf(&table, "| `%s`%s | %s | %s | %s | %s |\n", d.Key, mark, d.Type, preset, d.Project, about)
	}
	if own != len(ownKeys) {
		t.Errorf("%d of the %d own keys exist", own, len(ownKeys))
	}
	between := regexp.MustCompile(`(?s)(<!-- settings -->\n).*(<!-- /settings -->)`)
	if !between.Match(page) {
		t.Fatalf("%s has no place for the table", path)
	}
	generated(t, path, between.ReplaceAllString(string(page), "${1}"+strings.ReplaceAll(table.String(), "$", "$$")+"${2}"))
}

// docs/settings.md names every variable of Adze and of Qwen Code that the program knows.
func TestVariables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"((?:ADZE|QWEN)_[A-Z_]+)"`)
	found := 0
	for _, f := range goSources(t).all {
		if f.isTest() || f.below("internal/dev") {
			continue
		}
		for _, m := range names.FindAllSubmatch(f.text, -1) {
			found++
			if !strings.Contains(string(page), "`"+string(m[1])+"`") {
				t.Errorf("%s: docs/settings.md doesn't name %s", f.path, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d variables", found)
	}
}

// docs/settings.schema.json is what adze config schema prints.
func TestSettingsSchema(t *testing.T) {
	schema, err := settings.Schema()
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "docs/settings.schema.json", string(schema)+"\n")
}

// The settings that pages show as examples are valid: by the schema in docs, and for the program, which knows every key.
func TestSettingsExamples(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("docs/settings.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "README.md") {
		for _, text := range settingsOn(t, page) {
			found++
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := settings.Load(settings.Sources{AdzeHome: home})
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, text)
				continue
			}
			if unknown, notes := s.Unknown(), s.Notes(); len(unknown)+len(notes) > 0 {
				t.Errorf("%s: unknown keys %v, notes %v\n%s", page, unknown, notes, text)
			}
			var value any
			if err := json.Unmarshal(jsonc.ToJSON([]byte(text)), &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); err != nil {
				t.Errorf("%s: the schema rejects the example: %v\n%s", page, err, text)
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d examples were found", found)
	}
}

// settingsOn returns the JSON objects on a page, except those whose note says that they are something else.
func settingsOn(t *testing.T, page string) []string {
	t.Helper()
	blocks, err := fenced.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, b := range blocks {
		if b.Language == "json" && !strings.HasPrefix(b.Note, "not settings") {
			found = append(found, b.Text)
		}
	}
	return found
}
