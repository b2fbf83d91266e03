package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
)

type corpus struct{ name, dir string }

// generate writes a reproducible tree of many small files in several languages, with ignore files and an ignored
// directory.
func generate(n int) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	r := rand.New(rand.NewSource(1))
	words := strings.Fields("return func const value error index result count string buffer config server client " +
		"handler request response todo Fixme parse token node tree path file read write open close")
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		return dir, remove, err
	}
	ignores := "node_modules/\n*.log\n/dist\nbuild/\n*.tmp\n.cache\n**/coverage/*.html\n"
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignores), 0o644); err != nil {
		return dir, remove, err
	}
	exts := []string{".go", ".ts", ".py", ".md", ".json", ".go", ".log"}
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("pkg%02d", i%40), fmt.Sprintf("mod%02d", i/40%25),
			[]string{"", "internal", "build", "test"}[i/1000%4])
		if i < 1000*4 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return dir, remove, err
			}
		}
		var b strings.Builder
		for range 10 + r.Intn(60) {
			fmt.Fprintf(&b, "\t%s %s_%d := %s(%s)\n", words[r.Intn(len(words))], words[r.Intn(len(words))],
				r.Intn(9999), words[r.Intn(len(words))], words[r.Intn(len(words))])
		}
		if i%5000 == 77 {
			b.WriteString("IdleConnTimeout here\n")
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%05d%s", i, exts[i%len(exts)])), []byte(b.String()),
			0o644); err != nil {
			return dir, remove, err
		}
	}
	return dir, remove, nil
}
