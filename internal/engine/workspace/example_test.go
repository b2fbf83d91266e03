package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/engine/workspace"
)

func ExampleWorkspace_Resolve() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ws, err := workspace.Open(dir)
	if err != nil {
		panic(err)
	}
	p, err := ws.Resolve(filepath.Join(ws.Project(), "sub", "..", "new.txt"))
	fmt.Println(p.Rel, p.Inside(), p.Exists, err)
	p, err = ws.Resolve("/etc/../etc")
	fmt.Println(p.Inside(), err)
	p, err = ws.Resolve("new.txt")
	fmt.Println(p.Abs == filepath.Join(ws.Project(), "new.txt"), err)
	// Output:
	// new.txt true false <nil>
	// false <nil>
	// true <nil>
}
