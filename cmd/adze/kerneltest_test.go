package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
)

// dockerKernel restricts a program like Docker's default container does.
const dockerKernel = "docker"

// withKernel is a program that runs another with a restricted kernel: kerneltest KERNEL COMMAND...
func withKernel() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	become := func() error { return kerneltest.Become(os.Args[1]) }
	if os.Args[1] == dockerKernel {
		become = becomeDocker
	}
	err := become()
	if err == nil {
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
