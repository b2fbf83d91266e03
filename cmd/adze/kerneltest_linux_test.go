package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
)

// Kernels of withKernel that package kerneltest doesn't have.
const (
	dockerKernel  = "docker"          // what Docker does to a container that is started without options
	dockerTracing = "docker, tracing" // with --cap-add SYS_PTRACE
	fewProcesses  = " processes"      // after a number
)

// testUser is an environment variable: the user who runs the program of withKernel.
const testUser = "ADZE_TEST_USER"

// withKernel is a program that runs another with a restricted kernel: kerneltest KERNEL COMMAND...
func withKernel() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if uid, err := strconv.ParseUint(os.Getenv(testUser), 10, 32); err == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	err := restrict(os.Args[1])
	if err == nil {
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// restrict restricts the programs that this thread starts.
func restrict(kernel string) error {
	if count, ok := strings.CutSuffix(kernel, fewProcesses); ok {
		n, err := strconv.ParseUint(count, 10, 32)
		if err != nil {
			return err
		}
		return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
	}
	switch kernel {
	case dockerKernel:
		return becomeDocker()
	case dockerTracing:
		return becomeDocker(unix.CAP_SYS_PTRACE)
	}
	return kerneltest.Become(kernel)
}
