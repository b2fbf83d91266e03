package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe determines, once per process, what works here. It takes a millisecond and leaves nothing behind.
func Probe() Support { return probed() }

var probed = sync.OnceValue(func() (s Support) {
	s.LandlockABI, s.LandlockUnix, s.LandlockWhy = probeLandlock()
	s.Seccomp, s.Notify, s.SeccompWhy = probeSeccomp()
	s.SocketsWhy = probeSockets(s.Notify)
	s.Sockets = s.SocketsWhy == ""
	if s.PIDsWhy = probeNamespaces(Apart{PIDs: true}); s.PIDsWhy != "" {
		s.NamespacesWhy = probeNamespaces(Apart{})
	}
	s.PIDs, s.Namespaces = s.PIDsWhy == "", s.NamespacesWhy == ""
	s.Bubblewrap, s.BubblewrapWhy = findBubblewrap()
	return s
})

func probeLandlock() (abi int, unixSockets bool, why string) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
	case unix.ENOSYS:
		return 0, false, "this kernel doesn't support Landlock (requires Linux 5.13)"
	case unix.EOPNOTSUPP:
		return 0, false, "Landlock is turned off in this kernel (lsm= at boot)"
	default:
		return 0, false, fmt.Sprintf("Landlock doesn't work: %v", errno)
	}
	fd, err := createRuleset(&rulesetAttr{fs: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX}, int(n))
	if err == nil {
		unix.Close(fd)
	}
	return int(n), err == nil, ""
}

func probeSeccomp() (works, notify bool, why string) {
	if auditArch == 0 {
		return false, false, "no seccomp filter for " + runtime.GOARCH
	}
	available := func(action uint32) error {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0,
			uintptr(unsafe.Pointer(&action)))
		if errno != 0 {
			return errno
		}
		return nil
	}
	if err := available(unix.SECCOMP_RET_ERRNO); err != nil {
		return false, false, fmt.Sprintf("seccomp filters don't work: %v", err)
	}
	return true, available(unix.SECCOMP_RET_USER_NOTIF) == nil, ""
}

// probeSockets checks whether a listener can take a caller's descriptor, and isn't called twice because of a signal.
func probeSockets(notify bool) (why string) {
	_, _, noFlag := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|
		unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0)
	_, err := unix.PidfdGetfd(-1, -1, 0)
	if err == unix.EPERM {
		return "pidfd_getfd is not allowed (container policy; Docker allows it with --cap-add SYS_PTRACE)"
	}
	if !notify || noFlag != unix.EFAULT || err != unix.EBADF {
		return "this kernel can't let another process connect (requires Linux 5.19)"
	}
	return ""
}

// probeNamespaces starts a process that enters the namespaces, changes its mounts and then fails to execute a missing
// file: any other failure came before.
func probeNamespaces(a Apart) (why string) {
	attr := a.Attr()
	attr.Unshareflags = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET
	missing := "/proc/self/does-not-exist"
	_, err := syscall.ForkExec(missing, []string{missing}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: attr})
	switch {
	case errors.Is(err, syscall.ENOENT):
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return "the limit of user namespaces is reached (user.max_user_namespaces)"
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return "user namespaces are not allowed (container policy, or kernel.apparmor_restrict_unprivileged_userns)"
	default:
		return fmt.Sprintf("user namespaces don't work: %v", err)
	}
	if err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{}); err == unix.ENOSYS {
		return "this kernel can't make mounts read-only recursively (requires Linux 5.12)"
	}
	return ""
}

// Identify returns a path's own identity, without following links.
func Identify(path string) (ID, bool) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return ID{}, false
	}
	return ID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, true
}
