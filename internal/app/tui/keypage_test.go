package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what is generated")

// docs/keys.md is generated from the table of keys: run make golden.
func TestKeyPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Keys\n\nGenerated from the program: `make golden`. `?` on an empty prompt and `/keys` show the same in the terminal.\n\n" +
		"The setting [`ui.keys`](settings.md#keys) binds other keys to actions:\n\n" +
		"```json\n{\"ui\": {\"keys\": {\"undo\": \"f8\", \"todos\": \"alt+t f9\", \"redraw\": \"\"}}}\n```\n\n" +
		"Several keys are separated by spaces, and `\"\"` unbinds an action. [The terminal](terminal.md#other-keys) describes how keys are named, the keys that\n" +
		"answer [approvals](terminal.md#approvals) and those of [viewers](terminal.md#viewers).\n\n" +
		"| action | keys | what it does |\n|---|---|---|\n")
	for _, a := range actions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.name, keyLabels(a.keys), strings.ReplaceAll(a.about, `\`, "`\\`"))
	}
	path := filepath.Join("..", "..", "..", "docs", "keys.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("docs/keys.md is stale (%v): run make golden", err)
	}
}
