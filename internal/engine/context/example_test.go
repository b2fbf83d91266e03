package contextfiles_test

import (
	"fmt"
	"os"
	"path/filepath"

	contextfiles "github.com/adze-dev/adze/internal/engine/context"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"AGENTS.md": "Run make check.\nStyle: @style.md\n", "style.md": "Tabs."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	c := contextfiles.Load(contextfiles.Options{Dir: dir})
	for _, f := range c.Files {
		fmt.Printf("%s (%s) %q\n", f.Name, f.Scope, f.ImportedBy)
	}
	// Output:
	// AGENTS.md (project) ""
	// style.md (project) "AGENTS.md"
}

func ExampleAddFact() {
	text, added := contextfiles.AddFact("# Rules\n\n## Added Memories\n- Tabs.\n", "Tests run with make check.")
	fmt.Printf("%v\n%s", added, text)
	// Output:
	// true
	// # Rules
	//
	// ## Added Memories
	// - Tabs.
	// - Tests run with make check.
}
