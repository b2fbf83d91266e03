// Command list prints the arguments of go test that run only soak tests: the packages whose tests import
// internal/dev/soak, and the names of the tests that use it, directly or through a function of the package.
//
//	ADZE_SOAK=0.1 go test $(go run ./internal/dev/soak/list)
//	go test $(go run ./internal/dev/soak/list -package serial)    those that use internal/dev/serial
//	go test $(go run ./internal/dev/soak/list -sequential)        packages in which nothing starts a goroutine
//	go test -race $(go run ./internal/dev/soak/list -concurrent)  all others
//
// An argument is another directory to search, such as that of another module.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	name := flag.String("package", "soak", "the package that the tests use")
	concurrent := flag.Bool("concurrent", false, "print the packages in which goroutines are started")
	sequential := flag.Bool("sequential", false, "print the other packages with tests")
	flag.Parse()
	root := os.DirFS(cmp.Or(flag.Arg(0), "."))
	if *concurrent || *sequential {
		some, others, err := split(root)
		if err != nil {
			log.Fatal(err)
		}
		if *sequential {
			some = others
		}
		fmt.Println(strings.Join(some, " "))
		return
	}
	packages, tests, err := using(*name, root)
	if err != nil {
		log.Fatal(err)
	}
	if len(tests) == 0 {
		log.Fatalf("no test uses %s: run this at the top of the repository", *name)
	}
	fmt.Printf("-run ^(%s)$ %s\n", strings.Join(tests, "|"), strings.Join(packages, " "))
}

// using finds the packages below a directory with tests that use a package, and the names of these tests.
func using(name string, root fs.FS) (packages, tests []string, err error) {
	byDir := map[string][]*ast.File{}
	err = walk(root, "_test.go", func(name string, f *ast.File) {
		dir := path.Dir(name)
		byDir[dir] = append(byDir[dir], f)
	})
	if err != nil {
		return nil, nil, err
	}
	for dir, files := range byDir {
		if names := usingIn(name, files); len(names) > 0 {
			packages, tests = append(packages, "./"+dir), append(tests, names...)
		}
	}
	slices.Sort(packages)
	slices.Sort(tests)
	return packages, slices.Compact(tests), nil
}

// isModule reports whether a directory is another module, whose packages go test can't run from here.
func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, dir+"/go.mod")
	return err == nil
}

// usingIn returns the names of the tests in the files of one directory that use a package.
func usingIn(name string, files []*ast.File) []string {
	uses := map[string]map[string]bool{} // the names that each function uses; "soak." is a package
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				names := uses[fn.Name.Name]
				if names == nil {
					names = map[string]bool{}
					uses[fn.Name.Name] = names
				}
				note(name, fn.Body, names)
			}
		}
	}
	found := map[string]bool{name + ".": true}
	for before := 0; before != len(found); {
		before = len(found)
		for fn, used := range uses {
			for s := range found {
				if used[s] {
					found[fn] = true
					break
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(name string) bool {
		return !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") || name == "TestMain"
	})
}

// note collects the names that a function's body uses, and the package as its name and a dot.
func note(name string, body ast.Node, names map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == name {
				names[name+"."] = true
			}
		case *ast.Ident:
			names[n.Name] = true
		}
		return true
	})
}
