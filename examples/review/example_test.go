package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

const diff = `--- a/add.go
+++ b/add.go
@@ -1,3 +1,3 @@
-func add(a, b int) int { return a + b }
+func add(a, b int) int { return a - b }
`

// The model also tries to empty the file, which it has no tool for.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "add.go")
	if err := os.WriteFile(path, []byte("package add\n\nfunc add(a, b int) int { return a - b }\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{recording, `{"text":"No findings."}` + "\n" + `{"end":"stop"}`} {
		m, err := replay.Read(strings.NewReader(text), "example", replay.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(run(context.Background(), strings.NewReader(diff), os.Stdout, dir, adze.UseModel(m)))
	}
	left, err := os.ReadFile(path)
	fmt.Println(len(left), err)
	// Output:
	// add.go:3: returns a - b, not the sum.
	// there are findings
	// No findings.
	// <nil>
	// 53 <nil>
}
