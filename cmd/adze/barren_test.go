package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/adze-dev/adze/internal/proc/barren"
)

// inBarren is a program that runs another where the kernel lets less through: barren PLACE COMMAND...
func inBarren() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := barren.Become(os.Args[1])
	if err == nil {
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
