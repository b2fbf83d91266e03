package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterDenying enters a sandbox of mode DenyRules. Everything that isn't denied stays as it is: devices, shared memory,
// sockets and processes. Other processes are visible, but not their root directories and open files, which lead to the
// denied paths: a process in another user namespace may not look at them, nor may one that Landlock restricts.
func (b *Box) enterDenying() error {
	if !b.plan.Host {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	if err := pin(b.protect, b.movable); err != nil {
		return err
	}
	for _, path := range b.protect {
		if err := bind(path, true); err != nil && !passes(err) {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	if err := b.cover(); err != nil {
		return err
	}
	if b.plan.Layers.Has(Landlock) {
		if err := restrictProcesses(b.plan.LandlockABI); err != nil {
			return err
		}
	}
	if _, err := loadFilter(assemble(b.spec.rules(b.plan), refusal), 0); err != nil {
		return fmt.Errorf("load the seccomp filter: %w", err)
	}
	keep := uint64(0)
	if os.Getuid() == 0 {
		keep = ^uint64(undoing)
	}
	return dropCapabilities(keep)
}

// passes reports whether an error on a path means that the command can't reach it either.
func passes(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES
}

// undoing are the capabilities with which root could undo the mounts, or read denied files another way: from other
// processes, from the memory of the kernel, or from a disk.
const undoing = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_SYS_MODULE | 1<<unix.CAP_SYS_RAWIO |
	1<<unix.CAP_MKNOD |
	1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON | 1<<unix.CAP_SYS_BOOT | 1<<unix.CAP_CHECKPOINT_RESTORE

// restrictProcesses keeps this thread, and everything it starts, from looking into processes that aren't restricted.
// The only other effect is that no block devices can be created.
func restrictProcesses(abi int) error {
	fd, err := createRuleset(&rulesetAttr{fs: unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_REFER}, abi)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := allowBelow(fd, "/", unix.LANDLOCK_ACCESS_FS_REFER); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("apply the Landlock rules: %w", errno)
	}
	return nil
}

// referABI is the version of Landlock that can allow moves between directories.
const referABI = 2

// pin makes mount points of the directories between paths and those that from returns: a mount point can't be moved
// away, with what is in it, to where no deny rule applies.
func pin(paths []string, from func(path string) string) error {
	pinned := map[string]bool{}
	for _, path := range paths {
		for _, dir := range between(from(path), path) {
			if pinned[dir] {
				continue
			}
			if err := bind(dir, false); err != nil && !passes(err) {
				return fmt.Errorf("pin %s: %w", dir, err)
			}
			pinned[dir] = true
		}
	}
	return nil
}

// movable returns the directory above a path in which a command can move directories. Without a sandbox that is the
// workspace, the home directory, or a directory in /.
func (b *Box) movable(path string) string {
	if b.spec.Mode != DenyRules {
		return holding(path, b.writable())
	}
	if root := holding(path, b.spec.Roots); root != "" {
		return root
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + first
}

// oneByOne returns the paths to cover in place of unreadable ones. Root can read every directory, and git would take
// files in an empty one for deleted, so the files are covered one by one unless there are many.
func oneByOne(unreadable []string) []string {
	if os.Getuid() != 0 {
		return unreadable
	}
	const limit = 1000
	var out []string
	for _, path := range unreadable {
		var files []string
		err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
			if len(files) > limit {
				return filepath.SkipAll
			}
			if err == nil && !e.IsDir() {
				files = append(files, file)
			}
			return err
		})
		if err != nil || len(files) > limit {
			files = []string{path}
		}
		out = append(out, files...)
	}
	return out
}

// holdDenied finds the protected paths that exist, and creates placeholders for the others.
func (b *Box) holdDenied() {
	for _, path := range b.spec.unwritable() {
		if _, err := os.Lstat(path); err == nil && !marked(path) || b.hold(path) {
			b.protect = append(b.protect, path)
		}
	}
}

// hosts returns the support after it was tried whether root can make mounts without a user namespace, in which it would
// lose abilities.
func (s Support) hosts() Support {
	if os.Getuid() == 0 && s.LandlockABI >= referABI {
		s.Host = hostWorks()
	}
	return s
}

var hostWorks = sync.OnceValue(func() bool {
	missing := "/proc/self/does-not-exist"
	attr := &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	_, err := syscall.ForkExec(missing, []string{missing}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: attr})
	return errors.Is(err, syscall.ENOENT) && unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{}) != unix.ENOSYS
})
