package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// onLinux is what a box is made of here.
type onLinux struct {
	write []string                 // see writable
	held  map[string]*placeholders // by directory
	rules []rule
	// unprotected says why a protected path can't be.
	unprotected error
	covers      *covers // of hidden files
	terminals   bool    // the command has pseudoterminals of its own
	shared      bool    // and memory that programs share by name
	listening   Listening
	trial       *trying // of a trial
	trialDir    int     // Trials.Dir, opened before a layer may cover it
}

func (b *Box) makeHere() {
	if b.plan.Layers&(Namespaces|Bubblewrap) != 0 {
		b.holdProtected()
	}
	if b.plan.Limits && b.temp != "" && b.Wrapped() {
		b.covers = newCovers(coversOf(b.temp), b.spec.Limits.Hide)
	}
}

func (b *Box) removeHere() {
	b.covers.close()
	for _, h := range b.held {
		h.release()
	}
	b.held = nil
}

// Enter puts the calling thread, and all that it starts from now on, into the
// box for good, for a command in dir. If it fails the thread is good for nothing
// any more. Where the plan has namespaces the thread is in them already, see
// Apart.
func (b *Box) Enter(dir string) error {
	if !b.plan.InProcess() {
		dropAmbient()
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if b.unprotected != nil {
		return b.unprotected
	}
	open, err := b.openWritable()
	if err != nil {
		return err
	}
	defer closeAll(open)
	if b.plan.Layers.Has(Namespaces) {
		if b.spec.Mode == Trial {
			if open, err = b.overlays(); err != nil {
				return err
			}
			defer closeAll(open)
			defer unix.Close(b.trialDir)
		} else if err := b.remount(open); err != nil {
			return err
		}
		if err := b.ownDevices(dir); err != nil {
			return err
		}
	}
	if err := b.tellMounts(); err != nil {
		return err
	}
	if b.plan.Limits {
		if err := b.hide(); err != nil {
			return err
		}
	}
	if err := b.startTrial(dir); err != nil {
		return err
	}
	if err := dropCapabilities(b.keptCapabilities(dir)); err != nil {
		return err
	}
	if b.plan.Layers.Has(Landlock) {
		l := b.landlock(open)
		if b.trial != nil {
			l.keep = &b.trial.ruleset
		}
		if err := l.restrict(); err != nil {
			return err
		}
	}
	if b.plan.Layers.Has(Seccomp) {
		listener, err := b.loadFilter()
		if err != nil {
			return err
		}
		if listener >= 0 {
			if b.listening == nil {
				b.listening = NewSockets()
			}
			go b.listen(listener)
		}
	}
	return nil
}

// hide puts covers over the hidden files.
func (b *Box) hide() (err error) {
	if len(b.spec.Limits.Hide) == 0 {
		return nil
	}
	at := b.trialDir
	if b.spec.Mode != Trial {
		if b.temp == "" {
			return errors.New("hide files: no temp directory")
		}
		if at, err = unix.Open(b.temp, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("hide files: open %s: %w", b.temp, err)
		}
		defer unix.Close(at)
	}
	covers, err := coverInMemory(at, b.spec.Limits.Hide)
	if err != nil {
		return fmt.Errorf("hide files: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.covers = covers
	return nil
}

// tellMounts sends the mount namespace to the process that has the sockets.
func (b *Box) tellMounts() error {
	if b.listening == nil {
		return nil
	}
	fd, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the mount namespace: %w", err)
	}
	b.listening.In(fd)
	return unix.Close(fd)
}

func (b *Box) openedHidden() (paths []string, more bool) { return b.covers.opened() }

// writable is what may be written: links resolved unless the path is pinned,
// what does not exist and what lies below another left out.
func (b *Box) writable() []string {
	if b.write != nil {
		return b.write
	}
	paths := b.spec.writable()
	if b.temp != "" {
		paths = append(paths, b.temp)
	}
	var resolved []string
	for _, p := range paths {
		if _, pinned := b.spec.Pins[p]; pinned {
			resolved = append(resolved, p)
		} else if real, err := filepath.EvalSymlinks(p); err == nil {
			resolved = append(resolved, real)
		}
	}
	b.write = outermost(resolved)
	return b.write
}

// openPath is a writable path, opened once: rules and mounts are made from the
// descriptor, so that no link can come between.
type openPath struct {
	path string
	fd   int
}

// openWritable opens the writable paths. It fails if a pinned one is not what it
// was.
func (b *Box) openWritable() (open []openPath, err error) {
	for _, path := range b.writable() {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
			continue // a command can't reach it either
		}
		if err != nil {
			closeAll(open)
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		open = append(open, openPath{path, fd})
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			closeAll(open)
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		if pin, ok := b.spec.Pins[path]; ok && pin != (ID{Dev: st.Dev, Ino: st.Ino}) {
			closeAll(open)
			return nil, fmt.Errorf("%s was replaced since the session started, so it isn't writable. Start a new session if that is right", path)
		}
	}
	return open, nil
}

func closeAll(open []openPath) {
	for _, o := range open {
		unix.Close(o.fd)
	}
}

// filterFile is the filter for bubblewrap to load.
func (b *Box) filterFile() (*os.File, error) {
	return memoryFile("filter", bytesOf(assemble(b.spec.rules(b.plan), refusal)))
}

// dropAmbient leaves what this thread executes without capabilities, unless it is
// root's. Bubblewrap doesn't start with any.
func dropAmbient() {
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
}

// dropCapabilities leaves the thread, and what it starts, with none but keep.
// Inside a user namespace the kernel gives back to root what is not dropped
// here.
func dropCapabilities(keep uint64) error {
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0, 0); errno == unix.EINVAL {
			break // there are no more; who may not has nothing to drop
		}
	}
	dropAmbient()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	for i := range data {
		part := uint32(keep >> (32 * i))
		data[i].Effective &= part
		data[i].Permitted &= part
		data[i].Inheritable = 0
	}
	if err := unix.Capset(&head, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// keptCapabilities are those of a command in a directory. There are none, for
// root either, unless root works in a directory of another user, as in a
// container that mounts the user's project: without them root could not even
// enter a home directory of mode 700. They bypass file modes only; mounts and
// Landlock still apply.
func (b *Box) keptCapabilities(dir string) uint64 {
	if os.Getuid() != 0 || !slices.ContainsFunc(append([]string{dir}, b.spec.Roots...), foreign) {
		return 0
	}
	if b.spec.Mode == ReadOnly {
		return 1 << unix.CAP_DAC_READ_SEARCH
	}
	return 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN
}

// foreign reports whether a directory, or one above it, is not root's.
func foreign(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil && st.Uid != 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
