package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// remount makes all mounts read-only except the writable paths, and protected paths below them. The thread must have
// entered namespaces, see Apart.
func (b *Box) remount(open []openPath) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := readOnlyBut(open); err != nil {
		return err
	}
	var write []string
	for _, o := range open {
		write = append(write, o.path)
	}
	return b.mountProtected(write)
}

// readOnlyBut makes every mount read-only, and mounts the writable ones on top.
func readOnlyBut(open []openPath) error {
	var trees []openPath
	defer func() { closeAll(trees) }()
	for _, o := range open {
		if o.path == "/" {
			return nil
		}
		fd, err := unix.OpenTree(o.fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|
			unix.AT_EMPTY_PATH)
		if err != nil {
			return fmt.Errorf("keep %s writable: %w", o.path, err)
		}
		trees = append(trees, openPath{o.path, fd})
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make mounts read-only: %w", err)
	}
	for i, t := range trees {
		if err := unix.MoveMount(t.fd, "", open[i].fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|
			unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
			return fmt.Errorf("keep %s writable: %w", t.path, err)
		}
	}
	return nil
}

// attach mounts a tree at a path. A link isn't followed.
func attach(fd int, path string) error {
	return unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// bind mounts a path on itself. A mount point can't be renamed, removed or replaced.
func bind(path string, readOnly bool) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|
		unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if readOnly {
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	return attach(fd, path)
}

// mountProtected makes protected paths read-only. Every directory between them and the writable one above becomes a
// mount point too: otherwise .git could be moved away with its hooks and replaced.
func (b *Box) mountProtected(write []string) error {
	pinned := map[string]bool{}
	for _, path := range b.protect {
		root := holding(path, write)
		if root == "" || path == root {
			continue // not writable anyway
		}
		for _, at := range between(root, path) {
			if pinned[at] {
				continue
			}
			if err := bind(at, false); err != nil && err != unix.ENOENT {
				return fmt.Errorf("protect %s: pin %s: %w", path, at, err)
			}
			pinned[at] = true
		}
		if pinned[path] {
			continue
		}
		// A path that no longer exists needs no protection, unless it is a placeholder.
		if err := bind(path, true); err != nil && (err != unix.ENOENT || b.holds(path)) {
			return fmt.Errorf("protect %s: %w", path, err)
		}
		pinned[path] = true
	}
	return nil
}

const (
	deviceDir = "/dev"
	terminals = "/dev/pts"
	opener    = "/dev/ptmx" // opens new terminals
	console   = "/dev/console"
)

// harmless are the devices without effects.
var harmless = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// ownDevices leaves the command the harmless devices, its controlling terminal, and its own pseudoterminals: a
// read-only mount doesn't prevent writing to a disk, and a process that opens another's terminal reads what the user
// types there. /dev/shm is its own too. Devices in Spec.Write are separate mounts by now, and stay.
func (b *Box) ownDevices(dir string) error {
	keep := map[string]int{}
	defer func() {
		for _, fd := range keep {
			unix.Close(fd)
		}
	}()
	for _, path := range append([]string{"/dev/tty"}, harmless...) {
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
			unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		keep[path] = fd
	}
	switch err := unix.MountSetattr(unix.AT_FDCWD, deviceDir, 0,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NODEV}); err {
	case nil:
		for path, fd := range keep {
			if err := attach(fd, path); err != nil {
				return fmt.Errorf("keep %s: %w", path, err)
			}
		}
	case unix.EINVAL, unix.ENOENT: // it isn't a mount: nodev would apply to the whole file system
	default:
		return fmt.Errorf("hide other devices: %w", err)
	}
	if err := b.ownTerminals(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(SharedDir, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || !b.ownShared(dir) {
		return nil
	}
	if err := unix.Mount("tmpfs", SharedDir, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV,
		"mode=1777"+b.spec.Trial.shmSize()); err != nil {
		return fmt.Errorf("hide other programs' shared memory: %w", err)
	}
	b.shared = true
	return nil
}

// ownTerminals mounts new pseudoterminals, or an empty directory if that fails. A container's console is a terminal
// from outside.
func (b *Box) ownTerminals() error {
	if err := cover("/dev/null", console); err != nil {
		return fmt.Errorf("hide the console: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(terminals, &st); err != nil || st.Type != unix.DEVPTS_SUPER_MAGIC {
		return nil // there are none
	}
	if unix.Mount("devpts", terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620") == nil {
		b.terminals = true
		if err := cover(terminals+"/ptmx", opener); err != nil {
			return fmt.Errorf("mount new terminals: %w", err)
		}
		return nil
	}
	if err := unix.Mount("tmpfs", terminals, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV|unix.MS_RDONLY,
		"mode=0555,size=4k"); err != nil {
		return fmt.Errorf("hide other terminals: %w", err)
	}
	return nil
}

// cover mounts a file over another, if that exists and isn't a link: a link to a hidden file leads to its cover.
func cover(with, path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, with, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return attach(fd, path)
}

// devices returns the devices that a command can write to, including terminals if they are the command's own.
func (b *Box) devices() []string {
	out := append([]string{}, harmless...)
	if b.shared {
		out = append(out, SharedDir)
	}
	if b.spec.Mode == ReadOnly {
		return out
	}
	if out = append(out, "/dev/tty"); b.hasTerminals() {
		out = append(out, opener, terminals)
	}
	return out
}

// hasTerminals reports whether the command has its own pseudoterminals. Bubblewrap mounts them too.
func (b *Box) hasTerminals() bool { return b.terminals || b.Wrapped() }

// readable returns everything that a command may read if no mount can hide devices: all other paths. Links are omitted,
// and their targets are in the list.
func readable() (paths []string) {
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		if path := filepath.Join("/", e.Name()); path != deviceDir && e.Type()&os.ModeSymlink == 0 {
			paths = append(paths, path)
		}
	}
	return append(append(paths, harmless...), "/dev/tty", SharedDir, "/dev/mqueue", "/dev/hugepages")
}

// Apart selects the namespaces of a process besides user, mount and IPC namespaces. It doesn't depend on the details of
// a sandbox, so that a process can be started in them before its command is known.
type Apart struct {
	Network bool // only its own loopback
	PIDs    bool // a PID namespace: the process is number 1
	Trial   bool // it mounts overlays
	Mounts  bool // only a mount namespace, besides the user namespace
	Host    bool // no user namespace either
}

// Apart returns the namespaces that the plan's sandbox needs.
func (p Plan) Apart() Apart {
	return Apart{Network: p.Loopback, PIDs: p.Layers.Has(PIDs), Trial: p.Trial, Mounts: p.Mounts, Host: p.Host}
}

// Attr returns how such a process is started: in a user namespace with identity mapping.
func (a Apart) Attr() *syscall.SysProcAttr {
	if a.Host {
		return &syscall.SysProcAttr{}
	}
	attr := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: identity("/proc/self/uid_map", os.Getuid()),
		GidMappings: identity("/proc/self/gid_map", os.Getgid()),
		AmbientCaps: capabilities(),
	}
	if a.Trial {
		attr.AmbientCaps = append(attr.AmbientCaps, trialCapabilities()...)
	}
	if a.PIDs {
		attr.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS // the second for its own /proc
	}
	groups, _ := os.ReadFile("/proc/self/setgroups")
	attr.GidMappingsEnableSetgroups = os.Getuid() == 0 && strings.TrimSpace(string(groups)) == "allow"
	return attr
}

// capabilities returns the capabilities of a process that makes sandboxes. The last one is for taking the sockets of
// processes that protect themselves.
func capabilities() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE}
}

// trialCapabilities returns the capabilities that overlayfs needs to copy files to an upper and to mark deleted ones,
// and those for a resolver and for moving directories. They only apply to the user's own files and to the namespaces of
// the process. The command has none.
func trialCapabilities() []uintptr {
	return []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_MKNOD, unix.CAP_FSETID,
		unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT}
}

// SessionAttr returns how a process is started whose network is shared: in a user and a network namespace.
func SessionAttr() *syscall.SysProcAttr {
	attr := Apart{}.Attr()
	attr.Cloneflags |= unix.CLONE_NEWNET
	return attr
}

// Within returns how that process starts another one, which becomes a child of its own parent. Both are in one user
// namespace.
func (a Apart) Within() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, AmbientCaps: capabilities()}
	if a.PIDs {
		attr.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS
	}
	return attr
}

// Enter moves the calling thread of a process that was started with Attr. The other threads keep the earlier mounts,
// except /proc, which shows the processes of the namespace to all of them.
func (a Apart) Enter() error {
	if a.PIDs {
		if os.Getpid() != 1 { // otherwise it would kill other processes
			return errors.New("enter namespaces: process numbers are those of the system")
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount a fresh /proc: %w", err)
		}
	}
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if a.Mounts {
		flags = unix.CLONE_NEWNS
	}
	if a.Network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("enter namespaces: %w", err)
	}
	if a.Mounts { // mounts that are made outside later still appear
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
	}
	if !a.Network {
		return nil
	}
	if err := LoopbackUp(); err != nil {
		return err
	}
	if a.Trial {
		addNameservers()
	}
	return nil
}

// identity maps every ID to itself: for root all IDs, so that files keep their owners; others may only map their own.
func identity(file string, own int) []syscall.SysProcIDMap {
	single := []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
	if os.Getuid() != 0 {
		return single
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return single
	}
	var all []syscall.SysProcIDMap
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return single
		}
		all = append(all, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return all
}

// LoopbackUp activates the loopback interface of a new network namespace.
func LoopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("enable loopback: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("enable loopback: %w", err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("enable loopback: %w", err)
	}
	return nil
}
