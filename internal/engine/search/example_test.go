package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/engine/search"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc Open() error { return nil }\n"), 0o644)

	p, err := search.Compile(search.Query{Pattern: `func \w+\(`})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := search.Grep(context.Background(), search.GrepRequest{Scope: search.Scope{Paths: []string{dir}}, Pattern: p})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Matches, "match in", res.MatchedFiles, "file")
	for _, f := range res.Files {
		for _, l := range f.Lines {
			fmt.Printf("%s:%d:%s\n", filepath.Base(f.Path), l.Number, l.Text)
		}
	}
	// Output:
	// 1 match in 1 file
	// a.go:3:func Open() error { return nil }
}
