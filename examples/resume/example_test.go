package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze"
)

func TestMain(m *testing.M) {
	adze.Main()
	if dir := os.Getenv("EXAMPLE_CRASHES_IN"); dir != "" {
		fmt.Println(work(dir, before))
		return
	}
	os.Exit(m.Run())
}

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	crash := exec.Command(os.Args[0])
	crash.Env = append(os.Environ(), "EXAMPLE_CRASHES_IN="+dir)
	out, err := crash.CombinedOutput()
	fmt.Printf("%s%v\n", out, err)
	fmt.Println(work(dir, after))
	steps, err := os.ReadFile(filepath.Join(dir, "workspace/steps.txt"))
	fmt.Printf("%s%v\n", steps, err)
	// Output:
	// exit status 3
	// The first step is done, so I don't repeat it.
	// <nil>
	// one
	// <nil>
}
