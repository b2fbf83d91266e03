// Package kerneltest restricts system calls in tests, to simulate a nested container or an old kernel.
//
//	if err := kerneltest.Become("a container"); err != nil {
//		t.Skip(err)
//	}
//
// The restriction applies to this process and to every process it starts, and can't be undone, so a test uses a
// separate process. It is not a security boundary.
package kerneltest
