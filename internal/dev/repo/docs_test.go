package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/tool"
)

var update = flag.Bool("update", false, "rewrite what is generated")

// docs/tools.md is what the declarations say.
func TestToolReference(t *testing.T) {
	generated(t, "docs/tools.md", toolReference(declarations(t)))
}

// docs/mcp-peers.md names tests that exist.
func TestPeersTable(t *testing.T) {
	page, err := os.ReadFile("docs/mcp-peers.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, pattern := range []string{"internal/dev/peers/*_test.go", "cmd/adze/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code = append(code, text...)
		}
	}
	names := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1)
	if len(names) < 30 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, m := range names {
		if !bytes.Contains(code, []byte("func "+string(m[1])+"(t *testing.T)")) {
			t.Errorf("there is no test %s", m[1])
		}
	}
}

func declarations(t *testing.T) []tool.Declaration {
	t.Helper()
	set, err := builtin.New(builtin.Options{
		Dir: t.TempDir(), HasUser: true, Session: true,
		Task: func(context.Context, builtin.TaskRequest) (tool.Result, error) { return tool.Result{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	return tool.NewRegistry(set.All()...).All()
}

func toolReference(ds []tool.Declaration) string {
	var b strings.Builder
	b.WriteString("# Tools\n\nGenerated from the declarations, which are what the model reads: `make golden` rewrites this page.\n\n" +
		"| tool | kind | what it does |\n|---|---|---|\n")
	for _, d := range ds {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", d.Name, d.Name, d.Kind, d.Brief())
	}
	for _, d := range ds {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s, kind %s", d.Name, d.Title(), d.Kind)
		if len(d.Aliases) > 0 {
			fmt.Fprintf(&b, ", also called `%s`", strings.Join(d.Aliases, "`, `"))
		}
		fmt.Fprintf(&b, ".\n\n%s\n", d.Description)
		var schema struct {
			Properties map[string]struct {
				Type        string
				Description string
				Default     any
			}
			Required []string
		}
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			panic(err)
		}
		if len(schema.Properties) == 0 {
			continue
		}
		b.WriteString("\n| parameter | type | |\n|---|---|---|\n")
		for _, name := range propertyOrder(d.Parameters) {
			p := schema.Properties[name]
			text := p.Description
			if strings.Contains(" "+strings.Join(schema.Required, " ")+" ", " "+name+" ") {
				text = "Required. " + text
			}
			if p.Default != nil {
				text += fmt.Sprintf(" Default: `%v`.", p.Default)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, p.Type, strings.ReplaceAll(text, "|", "\\|"))
		}
	}
	return b.String()
}

// propertyOrder lists the parameters as declared.
func propertyOrder(schema json.RawMessage) []string {
	var outer struct{ Properties json.RawMessage }
	if err := json.Unmarshal(schema, &outer); err != nil {
		panic(err)
	}
	d := json.NewDecoder(bytes.NewReader(outer.Properties))
	d.Token()
	var names []string
	for d.More() {
		name, _ := d.Token()
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			break
		}
		names = append(names, name.(string))
	}
	return names
}

func generated(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run make golden", path, err)
	}
}
