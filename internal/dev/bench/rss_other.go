//go:build !unix

package main

import "os"

// maxRSS returns 0: it is unknown here.
func maxRSS(*os.ProcessState) int64 { return 0 }
