package secretfiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/engine/secretfiles"
)

func Example() {
	root, err := os.MkdirTemp("", "example-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	f := secretfiles.New(secretfiles.Options{Roots: []string{root}})
	defer f.Close()
	show := func() {
		paths, ok := f.List(time.Minute)
		for i, path := range paths {
			paths[i] = filepath.Base(path)
		}
		fmt.Println(paths, ok)
	}
	show()
	for _, name := range []string{".env", "main.go", "server.pem"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			fmt.Println(err)
		}
	}
	show()
	// Output:
	// [] true
	// [.env server.pem] true
}
