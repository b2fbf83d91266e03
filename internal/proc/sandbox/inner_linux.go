package sandbox

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// InnerArg is the first argument of a process of this program that runs inside
// bubblewrap: it restricts itself with Landlock, which bubblewrap doesn't, and
// becomes the command. After it come the descriptor of the sandbox, that of a
// socket which takes the filter's listener or "-", and the command.
const InnerArg = "--adze-sandbox-inner"

// innerArgv puts that process in front of a command.
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

// awaitListener serves the filter that the inner process loads. The file is for
// that process.
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

// sendListener loads the filter and gives its listener, and the mount
// namespace, to who serves it.
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

// Inner is that process. It returns only if it fails, with an exit code.
func Inner(args []string) int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "adze: create the sandbox: %v\n", err)
		return 126
	}
	runtime.LockOSThread() // it is this thread that is restricted and becomes the command
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
	if err := b.landlock(open).restrict(); err != nil {
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
	closeFrom := uint(fd) - 1 // the program itself, the sandbox, and what the caller left open
	unix.CloseRange(closeFrom, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	argv := args[2:]
	err = syscall.Exec(argv[0], argv, os.Environ())
	fmt.Fprintf(os.Stderr, "adze: start %s: %v\n", argv[0], err)
	return 126
}

// landlock are the rules of the sandbox.
func (b *Box) landlock(open []openPath) landlock {
	l := landlock{abi: b.plan.LandlockABI, write: open, devices: b.devices(), tcp: !b.spec.network() && !b.plan.Loopback, unixSockets: b.plan.LandlockUnix}
	if b.plan.Limits {
		l.limits, l.executes = b.spec.Limits, b.spec.Mode == Trial
	}
	l.noDevices = !b.plan.Layers.Has(Namespaces) && !b.Wrapped() // no mount hides them
	return l
}

// memoryFile is a file without a name.
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
