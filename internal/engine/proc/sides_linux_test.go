package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sideAttempts returns attempts on things other than files and the network: abstract sockets, shared memory, other
// processes, terminals, pipes and kernel settings.
func sideAttempts(out string, sleeper int) map[string]func() error {
	key, _ := strconv.Atoi(os.Getenv("BOX_KEY"))
	pid := uintptr(sleeper)
	call := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], args)
			if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	return map[string]func() error{
		"packet socket pair":       func() error { _, err := pairOf(unix.SOCK_SEQPACKET); return err },
		"datagram to a name":       func() error { return datagram(os.Getenv("BOX_DATAGRAM"), false) },
		"datagram to an abstract":  func() error { return datagram(os.Getenv("BOX_DATAGRAM_ABSTRACT"), false) },
		"descriptor to a name":     func() error { return datagram(os.Getenv("BOX_DATAGRAM"), true) },
		"shared memory outside":    call(unix.SYS_SHMGET, uintptr(key), 0, 0),
		"semaphores outside":       call(unix.SYS_SEMGET, uintptr(key), 0, 0),
		"messages outside":         call(unix.SYS_MSGGET, uintptr(key), 0),
		"shared memory of its own": ownMemory,
		"limit of another":         func() error { return sameLimit(sleeper) },
		"limit of its own":         func() error { return sameLimit(0) },
		"priority of another":      call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, pid, 19), // lower than any
		"processors of another":    func() error { return sameProcessors(sleeper) },
		"scheduler of another": func() error {
			var p int32
			return call(unix.SYS_SCHED_SETSCHEDULER, pid, 3, uintptr(unsafe.Pointer(&p)))()
		},
		"I/O priority of another":  call(unix.SYS_IOPRIO_SET, 1, pid, 2<<13|5),
		"pages of another":         call(unix.SYS_MOVE_PAGES, pid, 0, 0, 0, 0, 0),
		"file flags outside":       func() error { return ioctlSame(out+"/file", 0x80086601, 0x40086602) },
		"file version outside":     func() error { return ioctlSame(out+"/file", 0x80087601, 0x40087602) },
		"shared file outside":      func() error { return appendTo(os.Getenv("BOX_SHARED")) },
		"shared file of its own":   func() error { return ownFile("/dev/shm/adze-box-" + newMarker()) },
		"read another's terminal":  func() error { return openClose(os.Getenv("BOX_TERMINAL"), os.O_RDONLY|unix.O_NOCTTY) },
		"write another's terminal": func() error { return openClose(os.Getenv("BOX_TERMINAL"), os.O_WRONLY|unix.O_NOCTTY) },
		"terminal of its own":      ownTerminal,
		"read a console":           func() error { return openClose(os.Getenv("BOX_CONSOLE"), os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK) },
		"read a disk":              func() error { return openClose(os.Getenv("BOX_DISK"), os.O_RDONLY) },
		"write the kernel's log":   func() error { return openClose("/dev/kmsg", os.O_WRONLY) },
		"named pipe outside":       func() error { return openClose(out+"/pipe", os.O_WRONLY|unix.O_NONBLOCK) },
		"capabilities":             func() error { return capable("/proc/self/status") },
		"capabilities after exec":  capableChild,
		"kernel settings":          func() error { return openClose("/proc/sys/kernel/core_pattern", os.O_WRONLY) },
		"kernel requests":          func() error { return openClose("/proc/sysrq-trigger", os.O_WRONLY) },
	}
}

// sides is what those attempts reach for.
func (f *field) sides(t *testing.T) {
	t.Helper()
	for name, path := range map[string]string{"BOX_DATAGRAM": f.out + "/d", "BOX_DATAGRAM_ABSTRACT": "@adze-box-" + newMarker()} {
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		f.env = append(f.env, name+"="+path)
	}
	if err := unix.Mkfifo(f.out+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(f.out+"/pipe", os.O_RDWR, 0) // so that writing does not wait for one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	master, slave, err := terminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	f.env = append(f.env, "BOX_CONSOLE="+firstOf(os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, "/dev/ttyS*", "/dev/tty[0-9]*", "/dev/console"),
		"BOX_DISK="+firstOf(os.O_RDONLY, "/dev/vd?", "/dev/sd?", "/dev/nvme*", "/dev/loop[0-9]*"))
	shared := "/dev/shm/adze-box-" + newMarker()
	if err := os.WriteFile(shared, nil, 0o600); err != nil {
		t.Log("without /dev/shm:", err)
	}
	t.Cleanup(func() { os.Remove(shared) })
	f.env = append(f.env, "BOX_SHARED="+shared)
	key := 1<<30 | os.Getpid()
	const create, remove = unix.IPC_CREAT | unix.IPC_EXCL | 0o600, unix.IPC_RMID
	for _, c := range []struct{ get, size, flags, control, at uintptr }{
		{unix.SYS_SHMGET, 4096, create, unix.SYS_SHMCTL, 1}, {unix.SYS_SEMGET, 1, create, unix.SYS_SEMCTL, 2}, {unix.SYS_MSGGET, create, 0, unix.SYS_MSGCTL, 1},
	} {
		id, _, errno := unix.Syscall(c.get, uintptr(key), c.size, c.flags)
		if errno != 0 {
			t.Log("without shared memory:", errno)
			continue
		}
		t.Cleanup(func() {
			args := [3]uintptr{id}
			args[c.at] = remove
			unix.Syscall(c.control, args[0], args[1], args[2])
		})
	}
	f.env = append(f.env, "BOX_TERMINAL="+slave, fmt.Sprintf("BOX_KEY=%d", key))
}

// firstOf returns the first file that can be opened, or one that doesn't exist.
func firstOf(flag int, patterns ...string) string {
	for _, p := range patterns {
		paths, _ := filepath.Glob(p)
		for _, path := range paths {
			if openClose(path, flag) == nil {
				return path
			}
		}
	}
	return "/dev/missing"
}

func pairOf(kind int) (fds [2]int, err error) {
	fds, err = unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	return fds, err
}

// datagram sends to a socket by its name, from one that has a peer already.
func datagram(to string, rights bool) error {
	fds, err := pairOf(unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	var more []byte
	if rights {
		more = unix.UnixRights(0)
	}
	return unix.Sendmsg(fds[0], []byte("x"), more, &unix.SockaddrUnix{Name: to}, 0)
}

func ownFile(path string) error {
	defer os.Remove(path)
	return os.WriteFile(path, nil, 0o600)
}

func ownMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return err
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return err
}

// sameLimit sets a limit to what it is.
func sameLimit(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &now, nil)
}

func sameProcessors(pid int) error {
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		return err
	}
	return unix.SchedSetaffinity(pid, &now)
}

// ioctlSame sets what an ioctl gets, by a descriptor for reading.
func ioctlSame(path string, get, set uintptr) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var now int64
	for _, what := range []uintptr{get, set} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), what, uintptr(unsafe.Pointer(&now))); errno != 0 {
			return errno
		}
	}
	return nil
}

// terminal opens a pseudoterminal.
func terminal() (master *os.File, slave string, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", err
	}
	master = os.NewFile(uintptr(fd), "master")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	return master, "/dev/pts/" + strconv.Itoa(n), err
}

func ownTerminal() error {
	master, path, err := terminal()
	if err != nil {
		return err
	}
	defer master.Close()
	slave, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer slave.Close()
	if _, err := slave.WriteString("x"); err != nil {
		return err
	}
	_, err = master.Read(make([]byte, 1))
	return err
}

// capable succeeds if a process has a capability, or may get one.
func capable(status string) error {
	text, err := os.ReadFile(status)
	if err != nil {
		return err
	}
	return anyCapability(string(text))
}

func anyCapability(status string) error {
	for _, set := range []string{"CapEff:", "CapPrm:", "CapInh:", "CapAmb:"} {
		_, rest, _ := strings.Cut(status, set)
		if f := strings.Fields(rest); len(f) > 0 && strings.Trim(f[0], "0") != "" {
			return nil
		}
	}
	return errors.New("there is none")
}

func capableChild() error {
	text, err := exec.Command("/bin/cat", "/proc/self/status").Output()
	if err != nil {
		return err
	}
	return anyCapability(string(text))
}
