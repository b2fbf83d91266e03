package main

import (
	"os"
	"syscall"
)

// peakMemory is the most resident memory, in bytes, that a process and those it waited for ever had.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
