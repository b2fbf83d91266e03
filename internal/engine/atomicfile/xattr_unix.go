//go:build linux || darwin

package atomicfile

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes copies the extended attributes of old, including ACLs, to f, and returns the name of one that could
// not be set.
func copyAttributes(f, old *os.File) (name string, err error) {
	names, err := attributes(old)
	if err != nil {
		return "", nil // a file system without them
	}
	for _, name := range names {
		want, err := attribute(old, name)
		if err != nil {
			return name, err
		}
		if have, err := attribute(f, name); err == nil && bytes.Equal(have, want) {
			continue
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, want, 0); err != nil {
			return name, err
		}
	}
	return "", nil
}

func attributes(f *os.File) ([]string, error) {
	raw, err := grow(func(buf []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), buf) })
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == 0 }), nil
}

func attribute(f *os.File, name string) ([]byte, error) {
	return grow(func(buf []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, buf) })
}

// grow calls with a larger buffer until the result fits.
func grow(call func([]byte) (int, error)) ([]byte, error) {
	for size := 1 << 10; ; size *= 4 {
		buf := make([]byte, size)
		n, err := call(buf)
		if err == nil {
			return buf[:n], nil
		}
		if !errors.Is(err, unix.ERANGE) || size > 1<<20 {
			return nil, err
		}
	}
}
