package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const terminals = "/dev/pts"

// ownTerminals gives the command pseudoterminals of its own, in place of those
// of other programs: whoever opens another's reads what the user types there.
// /dev/ptmx follows, since the kernel looks for the terminals beside it. Where
// they can't be mounted an empty directory takes their place.
func (b *Box) ownTerminals() error {
	var st unix.Statfs_t
	if err := unix.Statfs(terminals, &st); err != nil || st.Type != unix.DEVPTS_SUPER_MAGIC {
		return nil // there are none
	}
	err := unix.Mount("devpts", terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	if err == nil {
		b.terminals = true
		return nil
	}
	if err := unix.Mount("tmpfs", terminals, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV|unix.MS_RDONLY, "mode=0555,size=4k"); err != nil {
		return fmt.Errorf("hide other terminals: %w", err)
	}
	return nil
}

// devices are those that a command can write to: they lead nowhere. Terminals
// are writable if they are the command's own.
func (b *Box) devices() []string {
	out := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	if b.Wrapped() {
		out = append(out, "/dev/shm") // bubblewrap's, which nobody else sees
	}
	if b.spec.Mode == ReadOnly {
		return out
	}
	if out = append(out, "/dev/tty"); b.hasTerminals() {
		out = append(out, "/dev/ptmx", terminals)
	}
	return out
}

// hasTerminals reports whether the command has pseudoterminals of its own.
// Bubblewrap mounts them too.
func (b *Box) hasTerminals() bool { return b.terminals || b.Wrapped() }

// besides are all files and directories that a directory is not below, except
// for links. Directories above it are not among them.
func besides(dir string) (paths []string) {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		above := filepath.Dir(dir)
		entries, _ := os.ReadDir(above)
		for _, e := range entries {
			if path := filepath.Join(above, e.Name()); path != dir && e.Type()&os.ModeSymlink == 0 {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
