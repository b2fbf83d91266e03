package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// onLinux is the Linux part of a sandbox.
type onLinux struct {
	write []string                 // see writable
	held  map[string]*placeholders // by directory
	rules []rule
	// unprotected is why a path can't be protected.
	unprotected error
	covers      *covers // nil: none
	terminals   bool    // the command has its own pseudoterminals
	shared      bool    // and its own shared memory
	listening   Listening
	trial       *trying // of a trial
}

func (b *Box) makeHere() {
	switch {
	case b.plan.Mounts:
		b.holdDenied()
	case b.plan.Layers&(Namespaces|Bubblewrap) != 0:
		b.holdProtected()
	}
	if b.Wrapped() && len(b.spec.Covers) > 0 {
		b.covers = newCovers(Ordered(b.spec.Covers))
		b.covers.dir = coversOf(b.aside)
		if b.covers.err = unix.Mkdir(b.covers.dir, 0o700); b.covers.err == nil {
			b.covers.err = b.covers.fill(b.covers.dir)
		}
	}
}

func (b *Box) removeHere() {
	b.covers.close()
	for _, h := range b.held {
		h.release()
	}
	b.held = nil
}

// Enter puts the calling thread, and everything it starts, into the sandbox permanently, for a command in dir. If it
// fails the thread must not be used anymore. If the plan has namespaces the thread is already in them, see Apart.
func (b *Box) Enter(dir string) error {
	if !b.plan.InProcess() {
		dropAmbient()
		return nil
	}
	if b.spec.Mode == DenyRules {
		return b.enterDenying()
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
		} else if err := b.remount(open); err != nil {
			return err
		}
		if err := b.ownDevices(dir); err != nil {
			return err
		}
		if err := b.cover(); err != nil {
			return err
		}
	}
	if err := b.tellMounts(); err != nil {
		return err
	}
	if err := b.startTrial(dir); err != nil {
		return err
	}
	if err := dropCapabilities(b.keptCapabilities(dir)); err != nil {
		return err
	}
	if b.plan.Layers.Has(Landlock) {
		l, err := b.landlock(open)
		if err != nil {
			return err
		}
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

// tellMounts sends the mount namespace to the process with the sockets.
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

// Rehearse runs code that every trial needs, so that it is in memory when a command comes.
func Rehearse() {
	s := &Spec{Mode: Trial, Limits: &Limits{}, Pins: map[string]ID{"": {}}, Trial: &Trials{
		Layers: []Overlay{{Parts: []string{""}}}, Show: []string{""}, Conceal: []string{""}, Count: []string{""},
	}}
	b, err := DecodeBox(New(s, Plan{Limits: true, PrivateSockets: true}, "").Encode())
	if err != nil {
		return
	}
	b.OnLimit(func() {})
	assemble(b.spec.rules(b.plan), refusal)
	processes()
	json.Marshal(b.Report())
}

func (b *Box) openedHidden() (paths []string, more bool) { return b.covers.opened() }

// writable returns the writable paths: with links resolved unless the path is pinned, without missing paths and those
// below another.
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
	unwritable := b.spec.unwritable()
	resolved = slices.DeleteFunc(resolved, func(p string) bool { return holding(p, unwritable) != "" })
	b.write = Outermost(resolved)
	return b.write
}

// openPath is a writable path, opened once: rules and mounts use the descriptor, so that no link can come between.
type openPath struct {
	path string
	fd   int
}

// openWritable opens the writable paths. It fails if a pinned one has changed.
func (b *Box) openWritable() (open []openPath, err error) {
	for _, path := range b.writable() {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
			continue // a command can't access it either
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
			return nil, fmt.Errorf("%s was replaced since the session started, so it isn't writable. Start a new "+
				"session if that is right", path)
		}
	}
	return open, nil
}

func closeAll(open []openPath) {
	for _, o := range open {
		unix.Close(o.fd)
	}
}

// filterFile returns the filter for bubblewrap to load.
func (b *Box) filterFile() (*os.File, error) {
	return memoryFile("filter", bytesOf(assemble(b.spec.rules(b.plan), refusal)))
}

// dropAmbient drops ambient capabilities, unless the user is root. Bubblewrap doesn't start with any.
func dropAmbient() {
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
}

// dropCapabilities leaves the thread, and everything it starts, only the capabilities in keep. Inside a user namespace
// the kernel restores those of root that are not dropped here.
func dropCapabilities(keep uint64) error {
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0, 0); errno == unix.EINVAL {
			break // there are no more; a process without permission has nothing to drop
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

// keptCapabilities returns the capabilities of a command in a directory. There are none, not even for root, unless root
// works in a directory of another user, as in a container that mounts the user's project: otherwise root couldn't even
// enter a home directory of mode 700. They only bypass file modes; mounts and Landlock still apply.
func (b *Box) keptCapabilities(dir string) uint64 {
	if os.Getuid() != 0 || !slices.ContainsFunc(append([]string{dir}, b.spec.Roots...), foreign) {
		return 0
	}
	if b.spec.Mode == ReadOnly {
		return 1 << unix.CAP_DAC_READ_SEARCH
	}
	return 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN
}

// foreign reports whether a directory, or one above it, isn't owned by root.
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

// InnerArg is the first argument of a process of this program that runs inside bubblewrap: it restricts itself with
// Landlock, which bubblewrap doesn't do, and becomes the command. It is followed by the descriptor of the sandbox, that
// of a socket for the filter's listener or "-", and the command.
const InnerArg = "--adze-sandbox-inner"

// innerArgv prepends that process to a command.
func (b *Box) innerArgv(argv []string, add func(*os.File, error) (string, error)) ([]string, error) {
	self, err := add(os.Open("/proc/self/exe"))
	if err != nil {
		return nil, err
	}
	box, err := add(memoryFile("sandbox", b.Encode()))
	if err != nil {
		return nil, err
	}
	listener := "-"
	if b.plan.PrivateSockets {
		if listener, err = add(b.awaitListener()); err != nil {
			return nil, err
		}
	}
	return append([]string{"/proc/self/fd/" + self, InnerArg, box, listener}, argv...), nil
}

// awaitListener serves the filter that the inner process loads. The file is for that process.
func (b *Box) awaitListener() (*os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket pair: %w", err)
	}
	b.rules = b.spec.rules(b.plan)
	if b.listening == nil {
		b.listening = NewSockets()
	}
	go func() {
		defer unix.Close(fds[0])
		control := make([]byte, unix.CmsgSpace(2*4))
		_, n, _, _, err := unix.Recvmsg(fds[0], make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			return // it has ended
		}
		messages, _ := unix.ParseSocketControlMessage(control[:n])
		for _, m := range messages {
			if got, err := unix.ParseUnixRights(&m); err == nil && len(got) == 2 {
				b.listening.In(got[1])
				unix.Close(got[1])
				b.listen(got[0])
			}
		}
	}()
	return os.NewFile(uintptr(fds[1]), "listener"), nil
}

// sendListener loads the filter and sends its listener, and the mount namespace, to the process that serves it.
func (b *Box) sendListener(socket int) error {
	mounts, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the mount namespace: %w", err)
	}
	listener, err := b.loadFilter()
	if err != nil || listener < 0 {
		return err
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener, mounts), nil, 0); err != nil {
		return fmt.Errorf("hand over the seccomp filter: %w", err)
	}
	return nil
}

// Inner is that process. It only returns if it fails, with an exit code.
func Inner(args []string) int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "adze: create the sandbox: %v\n", err)
		return 126
	}
	runtime.LockOSThread() // this thread is restricted and becomes the command
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return fail(err)
	}
	code, err := io.ReadAll(os.NewFile(uintptr(fd), "sandbox"))
	if err != nil {
		return fail(err)
	}
	b, err := DecodeBox(code)
	if err != nil {
		return fail(err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fail(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fail(err)
	}
	b.write, b.shared = b.bound(dir), b.ownShared(dir)
	open, err := b.openWritable()
	if err != nil {
		return fail(err)
	}
	rules, err := b.landlock(open)
	if err == nil {
		err = rules.restrict()
	}
	if err != nil {
		return fail(err)
	}
	if b.plan.PrivateSockets {
		socket, err := strconv.Atoi(args[1])
		if err == nil {
			err = b.sendListener(socket)
		}
		if err != nil {
			return fail(err)
		}
	}
	closeFrom := uint(fd) - 1 // the program itself, the sandbox, and open files of the caller
	unix.CloseRange(closeFrom, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	argv := args[2:]
	err = syscall.Exec(argv[0], argv, os.Environ())
	fmt.Fprintf(os.Stderr, "adze: start %s: %v\n", argv[0], err)
	return 126
}

// landlock returns the rules of the sandbox.
func (b *Box) landlock(open []openPath) (l landlock, err error) {
	l = landlock{
		abi: b.plan.LandlockABI, write: open, devices: b.devices(), tcp: !b.spec.network() && !b.plan.Loopback,
		unixSockets: b.plan.LandlockUnix,
	}
	if b.plan.Limits {
		l.limits, l.executes = b.spec.Limits, b.spec.Mode == Trial
	}
	l.noDevices = !b.plan.Layers.Has(Namespaces) && !b.Wrapped() // no mount hides them
	if b.plan.Observes && b.plan.Limits {
		l.executes = true
		l.limits, l.list, err = b.spec.Limits.without(b.spec.Covers)
	}
	return l, err
}

// memoryFile returns an anonymous file.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return f, nil
}
