//go:build !unix

package main

import (
	"os"
	"time"
)

// maxRSS returns 0: it is unknown here.
func maxRSS(*os.ProcessState) int64 { return 0 }

// cpuTime returns 0: it is unknown here.
func cpuTime() time.Duration { return 0 }
