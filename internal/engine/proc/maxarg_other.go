//go:build !windows

package proc

// maxArg is the maximum length of a single argument in Linux, 128 KB with its NUL. A longer line is passed to the shell
// as a file.
const maxArg = 128<<10 - 1
