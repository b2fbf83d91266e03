package main

import (
	"context"
	"fmt"
	"os"
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
	if err := run(context.Background(), os.Stdout, dir, nil, "", ""); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run_shell_command: success
	// write_file: denied
	// I listed the files and asked to write one.
}
