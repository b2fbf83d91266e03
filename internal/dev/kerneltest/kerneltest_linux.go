package kerneltest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden is a blocked system call and the error it returns.
type forbidden struct {
	nr    uintptr
	errno unix.Errno
	arg   uint32 // if not 0: only if the first argument has this bit, or equals it
}

func places() map[string][]forbidden {
	noLandlock := forbidden{unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, 0}
	noSeccomp := forbidden{unix.SYS_SECCOMP, unix.EPERM, 0}
	noNamespaces := []forbidden{{unix.SYS_UNSHARE, unix.EPERM, 0}, {unix.SYS_CLONE, unix.EPERM, unix.CLONE_NEWUSER}}
	return map[string][]forbidden{
		"no Landlock":      {noLandlock},
		"a container":      noNamespaces,
		"docker":           append([]forbidden{{unix.SYS_PIDFD_GETFD, unix.EPERM, 0}}, noNamespaces...),
		"podman":           {{unix.SYS_PROCESS_VM_READV, unix.EPERM, 0}},
		"too many already": {{unix.SYS_CLONE, unix.ENOSPC, unix.CLONE_NEWUSER}},
		"no mounts":        {{unix.SYS_MOUNT, unix.EPERM, 0}},
		"old mounts":       {{unix.SYS_MOUNT_SETATTR, unix.ENOSYS, 0}},
		"no seccomp":       {noSeccomp},
		"no keeper":        {{unix.SYS_PRCTL, unix.EINVAL, unix.PR_SET_CHILD_SUBREAPER}},
		"nothing":          append([]forbidden{noLandlock, noSeccomp}, noNamespaces...),
	}
}

// Places returns the names of all simulated kernels.
func Places() []string { return slices.Sorted(maps.Keys(places())) }

// Become restricts this process like the named kernel.
func Become(place string) error {
	all, ok := places()[place]
	if !ok {
		return fmt.Errorf("restrict the kernel: unknown kernel %q", place)
	}
	return Load(program(all))
}

// Load applies a filter of system calls to this process.
func Load(code []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread() // both calls must be on one thread
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("restrict the kernel: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("restrict the kernel: load a filter: %w", errno)
	}
	return nil
}

func program(all []forbidden) []unix.SockFilter {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
	)
	var code []unix.SockFilter
	for _, f := range all {
		no := unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(f.errno)}
		code = append(code, unix.SockFilter{Code: load, K: 0})
		if f.arg == 0 {
			code = append(code, unix.SockFilter{Code: equal, Jf: 1, K: uint32(f.nr)}, no)
			continue
		}
		how := uint16(bits)
		if f.nr == unix.SYS_PRCTL {
			how = equal
		}
		code = append(code, unix.SockFilter{Code: equal, Jf: 3, K: uint32(f.nr)}, unix.SockFilter{Code: load, K: 16},
			unix.SockFilter{Code: how, Jf: 1, K: f.arg}, no)
	}
	return append(code, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
}
