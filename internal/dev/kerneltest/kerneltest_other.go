//go:build !linux

package kerneltest

import "errors"

// Places returns the names of all simulated kernels: none on this system.
func Places() []string { return nil }

// Become fails: only Linux is supported.
func Become(string) error { return errors.New("restrict the kernel: only Linux is supported") }
