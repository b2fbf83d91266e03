package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// refused is what no box lets through: ways around the other layers, and into
// other processes and the kernel.
func refused() []rule {
	var rules []rule
	for _, group := range []struct {
		what string
		nrs  []uintptr
	}{
		{"tracing", []uintptr{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_PERF_EVENT_OPEN}},
		{"io_uring", []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}},
		{"mounting", []uintptr{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR}},
		{saysNamespaces, []uintptr{unix.SYS_SETNS}},
		{"the kernel's keys", []uintptr{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}},
		{"changing the kernel", []uintptr{unix.SYS_BPF, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_USERFAULTFD}},
		{"changing the system", []uintptr{unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP}},
		{"opening by handle", []uintptr{unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE}},
	} {
		for _, nr := range group.nrs {
			rules = append(rules, rule{nr: nr, what: group.what})
		}
	}
	for _, nr := range refusedHere {
		rules = append(rules, rule{nr: nr, what: "changing the kernel"})
	}
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	return append(rules,
		rule{nr: unix.SYS_UNSHARE, what: saysNamespaces, test: testMask, mask: namespaces | unix.CLONE_NEWTIME},
		rule{nr: unix.SYS_CLONE, what: saysNamespaces, test: testMask, mask: namespaces},
		// Its flags lie in memory, where a filter cannot look. Who is told that
		// there is no clone3 takes clone.
		rule{nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		// Typing on behalf of the person at the terminal.
		rule{nr: unix.SYS_IOCTL, what: "typing into the terminal", test: testEqual, arg: 1, value: unix.TIOCSTI},
		rule{nr: unix.SYS_IOCTL, what: "typing into the terminal", test: testEqual, arg: 1, value: 0x541c}, // TIOCLINUX
	)
}

// fileIoctls are the types of the ioctls that file systems have: generic ones,
// ext4, XFS, Btrfs and F2FS. They set flags, versions, labels and keys, and
// move blocks, most of them by a descriptor that is open for reading only.
// fileReads are those of them that read, and those that clone from one file
// into another, which needs a descriptor that is open for writing.
var (
	fileIoctls = []uint32{'f' << 8, 'v' << 8, 'X' << 8, 0x94 << 8, 0xf5 << 8}
	fileReads  = []uint32{
		0x80086601, 0x80046601, // FS_IOC_GETFLAGS
		0x80087601, 0x80047601, 0x80086603, // FS_IOC_GETVERSION, EXT4_IOC_GETVERSION
		0xc020660b,             // FS_IOC_FIEMAP
		0x801c581f,             // FS_IOC_FSGETXATTR
		0x81009431,             // FS_IOC_GETFSLABEL
		0x40049409, 0x4020940d, // FICLONE, FICLONERANGE
	}
)

// metadata is refused where nothing may be written: Landlock does not know it.
func metadata() []rule {
	const what = "changing a file's mode, owner, times or attributes"
	var rules []rule
	for _, nr := range append([]uintptr{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
		unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,
	}, metadataHere...) {
		rules = append(rules, rule{nr: nr, what: what})
	}
	for _, kind := range fileIoctls {
		rules = append(rules, rule{nr: unix.SYS_IOCTL, what: what, test: testEqual, arg: 1, mask: 0xff00, value: kind, not: fileReads})
	}
	return rules
}

// sharedMemory is refused where there is no namespace for it: a process that guesses a
// key reads and writes what programs outside share.
func sharedMemory() (rules []rule) {
	for _, nr := range []uintptr{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	} {
		rules = append(rules, rule{nr: nr, what: "shared memory and message queues"})
	}
	return rules
}

// otherProcesses are refused where there is no namespace for process numbers:
// limits, priorities and processors of a process outside. A filter doesn't know
// which number is the caller's own, so only 0, which means the caller, passes.
func otherProcesses() (rules []rule) {
	const what = "changing another process's limits or priority"
	for arg, nrs := range [][]uintptr{
		{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES},
		{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET},
	} {
		for _, nr := range nrs {
			rules = append(rules, rule{nr: nr, what: what, test: testNoneOf, arg: arg, not: []uint32{0}})
		}
	}
	// All processes of the user: PRIO_USER and IOPRIO_WHO_USER.
	return append(rules,
		rule{nr: unix.SYS_SETPRIORITY, what: what, test: testEqual, value: unix.PRIO_USER},
		rule{nr: unix.SYS_IOPRIO_SET, what: what, test: testEqual, value: 3},
		rule{nr: unix.SYS_PROCESS_MRELEASE, what: what})
}

// sockets refuses all families but those that the box may have. A pair of
// sockets that know only each other is always free. Those of a pair of
// datagram sockets don't: each can send to any name, descriptors too. Private
// sockets are those that connect only where the listener does it for them.
func sockets(network bool, p Plan) []rule {
	unixSockets := p.UnixSockets
	var pass []uint32
	if network {
		pass = append(pass, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	if unixSockets || p.PrivateSockets {
		pass = append(pass, unix.AF_UNIX)
	}
	rules := []rule{{nr: unix.SYS_SOCKETPAIR, what: "odd sockets", test: testNoneOf, not: []uint32{unix.AF_UNIX}}}
	streams := []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}
	if p.PrivateSockets {
		rules = append(rules, rule{nr: unix.SYS_CONNECT, served: true}, rule{nr: unix.SYS_LISTEN, served: true},
			rule{nr: unix.SYS_SOCKET, what: saysSockets, first: unix.AF_UNIX, test: testNoneOf, arg: 1, mask: 0xf, not: streams, quiet: true})
	} else if !unixSockets {
		// The C library looks for a name service at every turn and does
		// without if it finds none.
		rules = append(rules, rule{nr: unix.SYS_SOCKET, what: saysSockets, test: testEqual, value: unix.AF_UNIX, quiet: true})
	}
	if !unixSockets {
		rules = append(rules, rule{nr: unix.SYS_SOCKETPAIR, what: "datagram socket pairs", test: testNoneOf, arg: 1, mask: 0xf, not: streams})
	}
	what := saysNetwork
	if network {
		what = "odd sockets"
	}
	return append(rules, rule{nr: unix.SYS_SOCKET, what: what, test: testNoneOf, not: pass})
}

// rules are those of a box.
func (s *Spec) rules(p Plan) []rule {
	rules := append(refused(), sockets(s.network() || p.Loopback, p)...)
	if s.Mode == ReadOnly {
		rules = append(rules, metadata()...)
	}
	if s.Mode == Trial && p.PrivateSockets { // there is a listener
		for _, nr := range renames() {
			rules = append(rules, rule{nr: nr, served: true})
		}
	}
	if p.Layers&(Namespaces|Bubblewrap) == 0 {
		rules = append(rules, sharedMemory()...)
	}
	if p.Layers&(PIDs|Bubblewrap) == 0 {
		rules = append(rules, otherProcesses()...)
	}
	return rules
}

// loadFilter loads the rules of the sandbox. listener is a descriptor that tells
// of refusals, or -1 if the kernel has none to give.
func (b *Box) loadFilter() (listener int, err error) {
	b.rules = b.spec.rules(b.plan)
	if b.plan.Layers.Has(Notify) {
		flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		if b.plan.PrivateSockets {
			flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
		}
		fd, err := loadFilter(assemble(b.rules, func(r rule) uint32 {
			if r.errno != 0 || r.quiet {
				return refusal(r)
			}
			return unix.SECCOMP_RET_USER_NOTIF
		}), flags)
		if err == nil {
			return fd, nil
		}
		// Somebody above listens already, and there can be only one.
	}
	b.plan.PrivateSockets = false
	b.rules = b.spec.rules(b.plan)
	if _, err := loadFilter(assemble(b.rules, refusal), 0); err != nil {
		return -1, fmt.Errorf("load the seccomp filter: %w", err)
	}
	return -1, nil
}

// refusal answers a call with its error.
func refusal(r rule) uint32 {
	errno := r.errno
	if errno == 0 {
		errno = unix.EPERM
	}
	return unix.SECCOMP_RET_ERRNO | uint32(errno)
}
