//go:build unix

package builtin

import "syscall"

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o666) }
