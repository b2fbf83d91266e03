//go:build unix && !linux

package nofollow

import "golang.org/x/sys/unix"

const nonblock = unix.O_NONBLOCK
