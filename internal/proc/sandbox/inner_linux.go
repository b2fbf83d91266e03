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
// becomes the command. After it come the descriptor of the sandbox and the
// command.
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
	return append([]string{"/proc/self/fd/" + self, InnerArg, box}, argv...), nil
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
	closeFrom := uint(fd) - 1 // the program itself, the sandbox, and what the caller left open
	unix.CloseRange(closeFrom, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	argv := args[1:]
	err = syscall.Exec(argv[0], argv, os.Environ())
	fmt.Fprintf(os.Stderr, "adze: start %s: %v\n", argv[0], err)
	return 126
}

// landlock are the rules of the sandbox.
func (b *Box) landlock(open []openPath) landlock {
	l := landlock{abi: b.plan.LandlockABI, write: open, devices: b.devices(), tcp: !b.spec.network() && !b.plan.Loopback, unixSockets: b.plan.LandlockUnix}
	if b.plan.Limits {
		l.limits = b.spec.Limits
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
