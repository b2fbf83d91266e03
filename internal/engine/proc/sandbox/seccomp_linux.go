package sandbox

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// refused returns the calls that every sandbox denies: ways around the other layers, and into other processes and the
// kernel.
func refused() []rule {
	var rules []rule
	for _, group := range []struct {
		what string
		nrs  []uintptr
	}{
		{"tracing", []uintptr{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
			unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_PERF_EVENT_OPEN}},
		{"io_uring", []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}},
		{"mounting", []uintptr{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN,
			unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
			unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR}},
		{saysNamespaces, []uintptr{unix.SYS_SETNS}},
		{"the kernel's keys", []uintptr{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}},
		{"changing the kernel", []uintptr{unix.SYS_BPF, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
			unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_USERFAULTFD}},
		{"changing the system", []uintptr{unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
			unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
			unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP}},
		{"opening by handle", []uintptr{unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE}},
	} {
		for _, nr := range group.nrs {
			rules = append(rules, rule{nr: nr, what: group.what})
		}
	}
	for _, nr := range refusedHere {
		rules = append(rules, rule{nr: nr, what: "changing the kernel"})
	}
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	return append(rules,
		rule{nr: unix.SYS_UNSHARE, what: saysNamespaces, test: testMask, mask: namespaces | unix.CLONE_NEWTIME},
		rule{nr: unix.SYS_CLONE, what: saysNamespaces, test: testMask, mask: namespaces},
		// Its flags are in memory, where a filter can't read them. Programs that get ENOSYS use clone.
		rule{nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		// Inserting input into the user's terminal.
		rule{nr: unix.SYS_IOCTL, what: "typing into the terminal", test: testEqual, arg: 1, value: unix.TIOCSTI},
		rule{nr: unix.SYS_IOCTL, what: "typing into the terminal", test: testEqual, arg: 1, value: 0x541c}, // TIOCLINUX
	)
}

// fileIoctls are the types of file system ioctls: generic ones, ext4, XFS, Btrfs and F2FS. They set flags, versions,
// labels and keys, and move blocks, most of them with a descriptor that is open for reading only. fileReads are those
// of them that read, and those that clone from one file into another, which needs a descriptor that is open for
// writing.
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

// metadata is denied where nothing may be written: Landlock doesn't cover it.
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
		rules = append(rules, rule{
			nr: unix.SYS_IOCTL, what: what, test: testEqual, arg: 1, mask: 0xff00, value: kind, not: fileReads,
		})
	}
	return rules
}

// setIDs are denied where files last: setuid and setgid bits, with which a program runs as its owner for every user. A
// directory may get the setgid bit if there is a listener, which looks at what the call names: in a tree that a group
// shares, tools copy the bit. Capabilities of files need a capability that no command has.
func setIDs() []rule {
	rules := append([]rule{
		{nr: unix.SYS_OPENAT, arg: 3, with: 2, bits: creates},
		{nr: unix.SYS_MKNODAT, arg: 2},
		{nr: unix.SYS_FCHMOD, arg: 1, served: true},
		{nr: unix.SYS_FCHMODAT, arg: 2, served: true},
		{nr: unix.SYS_FCHMODAT2, arg: 2, served: true},
	}, setIDsHere...)
	for i := range rules {
		rules[i].what, rules[i].test, rules[i].mask = saysSetID, testMask, unix.S_ISUID|unix.S_ISGID
	}
	// Its mode is in memory. Programs that get ENOSYS use openat.
	return append(rules, rule{nr: unix.SYS_OPENAT2, errno: unix.ENOSYS})
}

// creates are the flags of calls that open a new file. Other calls have no mode.
const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

const saysSetID = "setting setuid or setgid bits"

// sharedMemory is denied without an IPC namespace: a process that guesses a key could read and write the shared memory
// of programs outside.
func sharedMemory() (rules []rule) {
	for _, nr := range append([]uintptr{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}, semaphoresHere...) {
		rules = append(rules, rule{nr: nr, what: "shared memory and message queues"})
	}
	return rules
}

// otherProcesses are denied without a PID namespace: limits, priorities and processors of a process outside. A filter
// doesn't know the caller's own ID, so only 0, which means the caller, passes.
func otherProcesses() (rules []rule) {
	const what = "changing another process's limits or priority"
	for arg, nrs := range [][]uintptr{
		{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
			unix.SYS_SCHED_SETATTR, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES},
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

// sockets denies all families except those that the sandbox may have. A pair of sockets that are connected to each
// other is always allowed; a pair of datagram sockets isn't: each can send to any name, including descriptors. Private
// sockets can only connect through the listener.
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
			rule{
				nr: unix.SYS_SOCKET, what: saysSockets, first: unix.AF_UNIX, test: testNoneOf, arg: 1, mask: 0xf,
				not: streams, quiet: true,
			})
	} else if !unixSockets {
		// The C library often looks for a name service and works without it.
		rules = append(rules, rule{
			nr: unix.SYS_SOCKET, what: saysSockets, test: testEqual, value: unix.AF_UNIX, quiet: true,
		})
	}
	if !unixSockets {
		rules = append(rules, rule{
			nr: unix.SYS_SOCKETPAIR, what: "datagram socket pairs", test: testNoneOf, arg: 1, mask: 0xf, not: streams,
		})
	}
	what := saysNetwork
	if network {
		what = "odd sockets"
	}
	return append(rules, rule{nr: unix.SYS_SOCKET, what: what, test: testNoneOf, not: pass})
}

// denying are the calls of refused that mode DenyRules denies: those that could undo mounts or get around them. Tracing
// and the rest only reach processes and files that the command may use.
var denying = []string{"mounting", saysNamespaces, "opening by handle", ""}

// rules returns the rules of a sandbox.
func (s *Spec) rules(p Plan) []rule {
	if s.Mode == DenyRules {
		return slices.DeleteFunc(refused(), func(r rule) bool {
			return !slices.Contains(denying, r.what) || r.nr == unix.SYS_CHROOT || r.nr == unix.SYS_FANOTIFY_INIT
		})
	}
	rules := append(refused(), sockets(s.network() || p.Loopback, p)...)
	switch {
	case p.Observes:
		rules = append(rules, observed()...)
	case s.Mode == ReadOnly:
		rules = append(rules, metadata()...)
	}
	if s.Mode == Workspace || s.Mode == WorkspaceNetwork {
		rules = append(rules, setIDs()...)
	}
	if s.Mode == Trial {
		// It would take disk space faster than the limit can be checked. Programs write instead. Punching holes passes.
		const punchHole = 2
		rules = append(rules, rule{
			nr: unix.SYS_FALLOCATE, test: testEqual, arg: 1, mask: punchHole, value: 0, errno: unix.EOPNOTSUPP,
		})
	}
	if s.Mode == Trial && p.PrivateSockets { // there is a listener
		for _, nr := range slices.Concat(renames(), []uintptr{unix.SYS_LINKAT}, linksHere) {
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

// loadFilter loads the rules of the sandbox. listener is a descriptor that reports denied calls, or -1 if the kernel
// has none.
func (b *Box) loadFilter() (listener int, err error) {
	b.rules = b.spec.rules(b.plan)
	if b.plan.Layers.Has(Notify) {
		flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		if b.plan.PrivateSockets || b.plan.Observes {
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
		if b.plan.Observes {
			return -1, fmt.Errorf("observe denied writes: load the seccomp filter: %w", err)
		}
		// A process above has a listener already, and there can be only one.
	}
	b.plan.PrivateSockets = false
	b.rules = b.spec.rules(b.plan)
	if _, err := loadFilter(assemble(b.rules, refusal), 0); err != nil {
		return -1, fmt.Errorf("load the seccomp filter: %w", err)
	}
	return -1, nil
}

// refusal returns the filter's result for a denied call.
func refusal(r rule) uint32 {
	errno := r.errno
	if errno == 0 {
		errno = unix.EPERM
	}
	return unix.SECCOMP_RET_ERRNO | uint32(errno)
}

// rule is when a system call is denied, with a description.
type rule struct {
	nr   uintptr
	what string
	// first, if not 0, is the first argument of the denied calls. Then test is required, on another argument.
	first uint32
	// bits, if not 0, are those of the argument with: only calls that have one of them are denied. Then test is
	// required.
	bits uint32
	with int
	// If test is not testNone, only calls whose argument arg meets it are denied. Arguments are compared as 32 bits:
	// all of these are ints.
	test  test
	arg   int
	mask  uint32 // bits of the argument that count; 0 means all
	value uint32
	not   []uint32 // values that pass: masked for testNoneOf, whole for testEqual
	errno unix.Errno
	// served calls are not denied if there is a listener: it makes them.
	served bool
	// quiet denials are not reported: programs try and do without.
	quiet bool
}

type test int

const (
	testNone   test = iota
	testEqual       // argument & mask == value, except for those in not
	testMask        // argument & mask != 0
	testNoneOf      // argument & mask is none of not
)

// Offsets into struct seccomp_data. The low half of an argument comes first: all supported processors are
// little-endian.
const (
	offNR   = 0
	offArch = 4
	offArgs = 16
)

// partSize is how many rules the kernel compares one after the other. When a filter is loaded, the kernel runs it for
// each call that exists, which takes most of the time.
const partSize = 12

// assemble makes a filter: denied calls get the answer (or their own errno), all others pass. Calls through another
// architecture's table, such as of 32-bit programs, are denied: the numbers have other meanings.
func assemble(rules []rule, answer func(rule) uint32) []unix.SockFilter {
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	foreign := uint32(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))

	prog := []unix.SockFilter{load(offArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(foreign), load(offNR)}
	if x32Bit != 0 {
		prog = append(prog, jump(unix.BPF_JGE, x32Bit, 0, 1), ret(foreign))
	}
	denial := func(r rule) []unix.SockFilter {
		no := ret(answer(r))
		var body []unix.SockFilter // ends with a denial, or falls through with another value loaded
		argument := load(uint32(offArgs + 8*r.arg))
		var masked []unix.SockFilter
		if r.mask != 0 {
			masked = []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: r.mask}}
		}
		pass := func(further int) { // values in not skip the denial, and further instructions before it
			for i, v := range r.not {
				body = append(body, jump(unix.BPF_JEQ, v, uint8(len(r.not)-i+further), 0))
			}
		}
		switch r.test {
		case testNone:
			body = []unix.SockFilter{no}
		case testEqual:
			body = []unix.SockFilter{argument}
			pass(len(masked) + 1)
			body = append(append(body, masked...), jump(unix.BPF_JEQ, r.value, 0, 1), no, load(offNR))
		case testMask:
			body = []unix.SockFilter{argument, jump(unix.BPF_JSET, r.mask, 0, 1), no, load(offNR)}
		case testNoneOf:
			body = append([]unix.SockFilter{argument}, masked...)
			pass(0)
			body = append(body, no, load(offNR))
		}
		if r.first != 0 {
			body = append([]unix.SockFilter{load(offArgs), jump(unix.BPF_JEQ, r.first, 0, uint8(len(body)-1))}, body...)
		}
		if r.bits != 0 {
			body = append([]unix.SockFilter{load(uint32(offArgs + 8*r.with)),
				jump(unix.BPF_JSET, r.bits, 0, uint8(len(body)-1))}, body...)
		}
		return append([]unix.SockFilter{jump(unix.BPF_JEQ, uint32(r.nr), 0, uint8(len(body)))}, body...)
	}
	rules = slices.Clone(rules)
	sorted.By(rules, func(a, b rule) int { return cmp.Compare(a.nr, b.nr) })
	for n := 0; len(rules) > 0; rules = rules[n:] {
		var part []unix.SockFilter
		for n = 0; n < len(rules) && (n < partSize || rules[n].nr == rules[n-1].nr); n++ {
			part = append(part, denial(rules[n])...)
		}
		if n < len(rules) { // later calls skip the part
			part = append(part, ret(unix.SECCOMP_RET_ALLOW))
			prog = append(prog, jump(unix.BPF_JGE, uint32(rules[n].nr), 0, 1),
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(part))})
		}
		prog = append(prog, part...)
	}
	return append(prog, ret(unix.SECCOMP_RET_ALLOW))
}

// bytesOf returns a filter in bubblewrap's format.
func bytesOf(prog []unix.SockFilter) []byte {
	var b []byte
	for _, i := range prog {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// loadFilter applies a filter to this thread, and to everything it starts, permanently. With
// SECCOMP_FILTER_FLAG_NEW_LISTENER it returns a descriptor.
func loadFilter(prog []unix.SockFilter, flags uintptr) (fd int, err error) {
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// notification is struct seccomp_notif, and verdict seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type verdict struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// listen denies the calls that the filter stops, and records which. They are denied whatever their arguments are by
// then, so changing those meanwhile gains nothing. It makes the served ones for the caller. It ends with the process.
func (b *Box) listen(fd int) {
	busy := make(chan struct{}, maxServed)
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT: // ENOENT: the caller was killed meanwhile
			continue
		default:
			return // closed: the kernel returns ENOSYS from now on
		}
		r := b.ruleFor(&n)
		if !r.served {
			b.tell(r.what)
			answer(fd, &verdict{id: n.id, errno: -int32(unix.EPERM)})
			continue
		}
		if b.plan.Observes {
			busy <- struct{}{} // none is lost
			go func() {
				defer func() { <-busy }()
				served{&n, b, fd}.observe()
			}()
			continue
		}
		select {
		case busy <- struct{}{}:
			go func() {
				defer func() { <-busy }()
				served{&n, b, fd}.serve()
			}()
		default:
			answer(fd, &verdict{id: n.id, errno: -int32(unix.EAGAIN)})
		}
	}
}

func answer(listener int, v *verdict) {
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(v)))
}

func (b *Box) tell(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if what != "" && !slices.Contains(b.told, what) {
		b.told = append(b.told, what)
	}
}

// ruleFor finds the rule that stopped a call.
func (b *Box) ruleFor(n *notification) rule {
	for _, r := range b.rules {
		if r.nr == uintptr(n.nr) && r.stops(n.args) {
			return r
		}
	}
	return rule{}
}

// stops reports whether the filter stops a call with these arguments.
func (r rule) stops(args [6]uint64) bool {
	if r.first != 0 && r.first != uint32(args[0]) || r.bits != 0 && r.bits&uint32(args[r.with]) == 0 {
		return false
	}
	argument := uint32(args[r.arg])
	masked := argument
	if r.mask != 0 {
		masked &= r.mask
	}
	switch r.test {
	case testEqual:
		return masked == r.value && !slices.Contains(r.not, argument)
	case testMask:
		return masked != 0
	case testNoneOf:
		return !slices.Contains(r.not, masked)
	}
	return true
}
