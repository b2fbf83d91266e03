// Command vet does what go vet does, for other systems than this one. go vet compiles the packages that are imported,
// for each system; this reads their declarations.
//
//	go run ./internal/dev/vet linux/386 darwin/arm64 windows/amd64
//
// The analyzers are those of go vet. They know functions like fmt.Printf of this module and of the standard library,
// not those of other modules: go vet finds their wrong calls where it runs.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	found := false
	for _, platform := range os.Args[1:] {
		problems, err := vet(".", platform)
		if err != nil {
			log.Fatalf("vet for %s: %v", platform, err)
		}
		for _, p := range problems {
			log.Printf("%s: %s", platform, p)
			found = true
		}
	}
	if found {
		os.Exit(1)
	}
}

// vet returns the problems of the packages below a directory, with their places.
func vet(dir, platform string) ([]string, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q isn't a system and a processor, as in linux/386", platform)
	}
	listed, err := list(dir, system, processor)
	if err != nil {
		return nil, err
	}
	c := newChecker(processor)
	for _, p := range listed {
		if err := c.check(p); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}
