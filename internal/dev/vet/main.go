// Command vet does what go vet does, for several systems at once. go vet compiles all packages that are imported, for
// each system, and starts a process for each package: this reads their source.
//
//	go run ./internal/dev/vet linux/amd64 linux/386 darwin/arm64 windows/amd64
//	go run ./internal/dev/vet -C fleet linux/amd64    another module
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("C", ".", "the directory of the module")
	flag.Parse()
	platforms := flag.Args()
	if len(platforms) == 0 {
		log.Fatal("vet needs platforms, such as linux/386")
	}
	problems := make([][]string, len(platforms))
	var all sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0)) // each needs about 500 MB
	for i, platform := range platforms {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			found, err := vet(*dir, platform)
			if err != nil {
				found = append(found, err.Error())
			}
			problems[i] = found
		})
	}
	all.Wait()
	failed := false
	for i, platform := range platforms {
		for _, p := range problems[i] {
			log.Printf("%s: %s", platform, p)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// vet returns the problems of the packages below a directory, with their places.
func vet(dir, platform string) ([]string, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q isn't a system and a processor, as in linux/386", platform)
	}
	packages, err := list(dir, system, processor)
	if err != nil {
		return nil, err
	}
	c := newChecker(processor)
	for _, p := range packages {
		if err := c.check(p); err != nil {
			return c.found, err
		}
	}
	return c.found, nil
}
