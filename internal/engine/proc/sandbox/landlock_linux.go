package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rulesetAttr is the kernel's struct, which grew with the ABI.
type rulesetAttr struct{ fs, net, scoped uint64 }

func (a *rulesetAttr) size(abi int) uintptr {
	switch {
	case abi < tcpABI:
		return 8
	case abi < scopeABI:
		return 16
	}
	return 24
}

// fileWrites are the write rights on files, dirWrites those only on directories.
const (
	fileWrites = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	dirWrites = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	deviceNodes = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// known removes rights that an ABI version doesn't know.
func known(rights uint64, abi int) uint64 {
	if abi < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < truncateABI {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < ioctlABI {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// reads are the rights that a limited sandbox handles besides writes.
const reads = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

// landlock is the restriction of a thread.
type landlock struct {
	abi         int
	write       []openPath
	devices     []string
	limits      *Limits  // nil: everything can be read and executed
	list        []string // directories whose names can be listed
	executes    bool     // writable paths can be executed too
	noDevices   bool     // no device can be read, if there are no limits
	tcp         bool     // no TCP
	unixSockets bool     // no Unix sockets, except below write
	keep        *int     // if not nil, receives a descriptor of the rules
}

// restrict restricts this thread, and everything it starts, permanently. Missing paths are skipped.
func (l landlock) restrict() error {
	attr := &rulesetAttr{fs: known(fileWrites|dirWrites, l.abi)}
	if l.unixSockets {
		attr.fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	granted := attr.fs &^ deviceNodes
	if l.limits != nil {
		attr.fs |= reads | unix.LANDLOCK_ACCESS_FS_EXECUTE
		granted |= reads
		if l.executes {
			granted |= unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
	} else if l.noDevices {
		attr.fs |= unix.LANDLOCK_ACCESS_FS_READ_FILE
		granted |= unix.LANDLOCK_ACCESS_FS_READ_FILE
	}
	if l.tcp && l.abi >= tcpABI {
		attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if l.abi >= scopeABI {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, err := createRuleset(attr, l.abi)
	if err != nil {
		return err
	}
	if l.keep != nil {
		*l.keep = fd
	} else {
		defer unix.Close(fd)
	}
	for _, w := range l.write {
		if err := allowOpen(fd, w.fd, w.path, granted); err != nil {
			return err
		}
	}
	if err := allowAll(fd, l.devices, granted); err != nil {
		return err
	}
	if l.limits == nil && l.noDevices {
		if err := allowAll(fd, readable(), unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
			return err
		}
	}
	if l.limits != nil {
		if err := allowAll(fd, l.list, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
			return err
		}
		if err := allowAll(fd, l.limits.Read, reads); err != nil {
			return err
		}
		if err := allowAll(fd, l.limits.Execute, reads|unix.LANDLOCK_ACCESS_FS_EXECUTE); err != nil {
			return err
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("apply the Landlock rules: %w", errno)
	}
	return nil
}

// allowAll allows rights on paths. Missing or inaccessible ones are skipped: the command can't access them either.
func allowAll(ruleset int, paths []string, rights uint64) error {
	for _, path := range paths {
		if err := allowBelow(ruleset, path, rights); err != nil && !errors.Is(err, os.ErrNotExist) &&
			!errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
	return nil
}

func createRuleset(attr *rulesetAttr, abi int) (fd int, err error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), attr.size(abi), 0)
	if errno != 0 {
		return -1, fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	return int(n), nil
}

// allowBelow allows rights on a file, or on a directory and everything below it.
func allowBelow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("allow access to %s: %w", path, err)
	}
	defer unix.Close(fd)
	return allowOpen(ruleset, fd, path, rights)
}

// allowOpen is allowBelow for an open path.
func allowOpen(ruleset, fd int, path string, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("allow access to %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileWrites | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	// The kernel's struct is packed: 12 bytes.
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return fmt.Errorf("allow access to %s: %w", path, errno)
	}
	return nil
}
