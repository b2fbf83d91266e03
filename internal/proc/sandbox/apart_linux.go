package sandbox

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apart is which namespaces a process is in besides a user and a mount
// namespace and one for IPC. It does not depend on what a box lets through, so
// that a process can be started and moved there before its command is known.
type Apart struct {
	Network bool // nothing but its own loopback
	PIDs    bool // process numbers of its own: the process is number 1
	Trial   bool // it mounts overlays
}

// Apart is what the plan's box needs.
func (p Plan) Apart() Apart {
	return Apart{Network: p.Loopback, PIDs: p.Layers.Has(PIDs), Trial: p.Trial}
}

// Attr is how such a process is started: in a user namespace in which everyone
// is who they are.
func (a Apart) Attr() *syscall.SysProcAttr {
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

// capabilities are those of a process that makes sandboxes. The last is to take
// the sockets of processes that protect themselves.
func capabilities() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE}
}

// trialCapabilities are those that overlayfs needs to copy files to an upper
// and to mark deleted ones, and those for a resolver and for moving directories.
// All of them only apply to the user's own files and to the namespaces of the
// process. The command has none.
func trialCapabilities() []uintptr {
	return []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_MKNOD, unix.CAP_FSETID, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT}
}

// SessionAttr is how a process is started whose network others share: in a user
// and a network namespace.
func SessionAttr() *syscall.SysProcAttr {
	attr := Apart{}.Attr()
	attr.Cloneflags |= unix.CLONE_NEWNET
	return attr
}

// Within is how that process starts another one, which is a child of its own
// parent. Both are in one user namespace.
func (a Apart) Within() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, AmbientCaps: capabilities()}
	if a.PIDs {
		attr.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS
	}
	return attr
}

// Enter moves the calling thread of a process that was started with Attr. The
// other threads see the mounts of before, but for /proc: that shows the
// process numbers that there are for all of them.
func (a Apart) Enter() error {
	if a.PIDs {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount a fresh /proc: %w", err)
		}
	}
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if a.Network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("enter namespaces: %w", err)
	}
	if a.Network {
		return LoopbackUp()
	}
	return nil
}

// identity maps every number to itself: for root all that there are, so that
// files of all users stay theirs; for others only their own is allowed.
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

// LoopbackUp switches on the one interface of a new network namespace.
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
