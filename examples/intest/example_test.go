package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(os.WriteFile(filepath.Join(dir, "a.md"), []byte("# Title\n"), 0o600))
	fmt.Println(describe(context.Background(), dir, "a.md", recording))
	// Output:
	// <nil>
	// It has a title. <nil>
}

// A script that the conversation doesn't follow is an error.
func TestScripts(t *testing.T) {
	for _, script := range []string{recording[:strings.Index(recording, "\n{\"text\"")], "{\"text\":\"x\"}\n{\"end\":\"stop\"}\n" + recording} {
		if answer, err := describe(t.Context(), t.TempDir(), "a.md", script); err == nil {
			t.Errorf("answered %q", answer)
		}
	}
}
