package proc

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts returns what a sandbox holds back or lets through, by name. Each is done by
// this test binary, executed as a command; an error means refused.
func attempts() map[string]func() error {
	in, out := os.Getenv("BOX_IN"), os.Getenv("BOX_OUT")
	sleeper, _ := strconv.Atoi(os.Getenv("BOX_SLEEPER"))
	create := func(path string) func() error {
		return func() error { return os.WriteFile(path, []byte("x"), 0o600) }
	}
	all := map[string]func() error{
		"read outside":             func() error { _, err := os.ReadFile(out + "/file"); return err },
		"write inside":             create(in + "/new"),
		"write in a deep folder":   func() error { return errors.Join(os.MkdirAll(in+"/a/b", 0o700), create(in+"/a/b/c")()) },
		"chmod inside":             func() error { return os.Chmod(in+"/file", 0o640) },
		"write to temp":            create(filepath.Join(os.TempDir(), "box-"+strconv.Itoa(os.Getpid()))),
		"write to /dev/null":       create(os.DevNull),
		"write outside":            create(out + "/new"),
		"append outside":           func() error { return appendTo(out + "/file") },
		"truncate outside":         func() error { return os.Truncate(out+"/truncate", 0) },
		"remove outside":           func() error { return os.Remove(out + "/remove") },
		"folder outside":           func() error { return os.Mkdir(out+"/folder", 0o700) },
		"chmod outside":            func() error { return os.Chmod(out+"/file", 0o644) },
		"utime outside":            func() error { return os.Chtimes(out+"/file", time.Now(), time.Now()) },
		"xattr outside":            func() error { return unix.Setxattr(out+"/file", "user.box", []byte("x"), 0) },
		"move from outside":        func() error { return os.Rename(out+"/move", in+"/moved") },
		"link escape":              create(in + "/link/through"),
		"hard-link escape":         func() error { return errors.Join(os.Link(out+"/hard", in+"/hard"), appendTo(in+"/hard")) },
		"/proc/self/root escape":   create("/proc/self/root" + out + "/root"),
		"git config":               func() error { return appendTo(in + "/.git/config") },
		"git hook":                 create(in + "/.git/hooks/pre-commit"),
		"git object":               create(in + "/.git/object"),
		"replace .git":             func() error { return os.Rename(in+"/.git", in+"/git.old") },
		"absent settings":          func() error { return os.Mkdir(in+"/.adze", 0o700) },
		"settings by rename":       func() error { return errors.Join(create(in+"/mcp")(), os.Rename(in+"/mcp", in+"/.mcp.json")) },
		"protected by link":        create(in + "/.husky/pre-push"),
		"replace a protected link": func() error { return errors.Join(os.Remove(in+"/.husky"), os.Mkdir(in+"/.husky", 0o700)) },
		"TCP to the host":          func() error { return echo("tcp", os.Getenv("BOX_TCP")) },
		"UDP to the host":          func() error { return echo("udp", os.Getenv("BOX_UDP")) },
		"loopback of its own":      ownLoopback,
		"unix socket":              func() error { return echo("unix", os.Getenv("BOX_UNIX")) },
		"abstract socket":          func() error { return echo("unix", os.Getenv("BOX_ABSTRACT")) },
		"socket pair":              func() error { return pair(unix.AF_UNIX) },
		"raw packet socket":        func() error { return socket(unix.AF_PACKET) },
		"ptrace":                   func() error { return trace(sleeper) },
		"memory of another":        func() error { return openClose(fmt.Sprintf("/proc/%d/mem", sleeper), os.O_RDWR) },
		"memory of its keeper":     func() error { return openClose(fmt.Sprintf("/proc/%d/mem", os.Getppid()), os.O_RDONLY) },
		"root of another":          create(fmt.Sprintf("/proc/%d/root%s/another", sleeper, out)),
		"root of its keeper":       func() error { return throughThreads(os.Getppid(), out) },
		"environment of another":   func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", sleeper)); return err },
		"/proc/self/mem":           func() error { return openClose("/proc/self/mem", os.O_RDWR) },
		"signal outside":           func() error { return syscall.Kill(sleeper, syscall.SIGWINCH) },
		"signal to a child":        signalChild,
		"io_uring":                 uring,
		"namespaces and mount":     mountInNamespace,
		"mount":                    mountHere,
		"kernel keys":              func() error { _, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, -3, 1, 0, 0); return err },
		"setuid":                   func() error { return otherUser(os.Getenv("BOX_SETUID")) },
		"device node":              func() error { return unix.Mknod(in+"/node", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
		"fork and exec":            func() error { return exec.Command("/bin/sh", "-c", "exit 0").Run() },
	}
	all["setuid and setgid bits"] = func() error { return setIDs(in) }
	all["setgid directory"] = func() error { return setgidDirectory(in + "/group") }
	all["setgid directory outside"] = func() error { return unix.Chmod(out, 0o2755) }
	maps.Copy(all, sideAttempts(out, sleeper))
	return all
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("x")
		f.Close()
	}
	return err
}

func openClose(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// throughThreads writes by what any thread of a process takes for the root:
// some of a keeper's are in no box.
func throughThreads(pid int, out string) error {
	roots, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/root", pid))
	if err != nil || len(roots) == 0 {
		return errors.New("no threads are seen")
	}
	for _, r := range roots {
		if err = os.WriteFile(r+out+"/keeper", nil, 0o600); err == nil {
			return nil
		}
	}
	return err
}

// echo sends a byte and reads it back.
func echo(network, addr string) error {
	c, err := net.DialTimeout(network, addr, time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

func ownLoopback() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go echoAll(l)
	return echo("tcp", l.Addr().String())
}

func echoAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 1)
		if _, err := c.Read(b); err == nil {
			c.Write(b)
		}
		c.Close()
	}
}

func socket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func pair(family int) error {
	fds, err := unix.Socketpair(family, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
	return err
}

func trace(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	unix.PtraceInterrupt(pid)
	var ws unix.WaitStatus
	unix.Wait4(pid, &ws, unix.WALL, nil)
	return unix.PtraceDetach(pid)
}

func signalChild() error {
	c := exec.Command("/bin/sleep", "60")
	if err := c.Start(); err != nil {
		return err
	}
	err := c.Process.Signal(syscall.SIGTERM)
	if err != nil {
		c.Process.Kill()
	}
	c.Wait()
	return err
}

func uring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// mountInNamespace changes mounts in its own namespaces. The program does
// not exist: that it was looked for means that all before has worked.
func mountInNamespace() error {
	own := []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	_, err := syscall.ForkExec("/missing", []string{"/missing"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, Unshareflags: unix.CLONE_NEWNS, UidMappings: own,
	}})
	if err == syscall.ENOENT {
		return nil
	}
	return err
}

// mountHere changes the mounts of a thread that then ends.
func mountHere() error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			failed <- err
			return
		}
		failed <- unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}()
	return <-failed
}

// otherUser starts a program that has another owner and the set-user-id bit.
func otherUser(path string) error {
	c := exec.Command(path)
	c.Env = []string{"BOX_ATTEMPT=user", "GORACE=atexit_sleep_ms=0"}
	text, err := c.Output()
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(text)) == strconv.Itoa(os.Geteuid()) {
		return errors.New("the program is who started it")
	}
	return nil
}

// fillMemoryFile has a file of 200 MB in memory, which isn't mapped, until it is stopped.
func fillMemoryFile() int {
	fd, err := unix.MemfdCreate("x", 0)
	for range 200 {
		if err == nil {
			_, err = unix.Write(fd, make([]byte, 1<<20))
		}
	}
	fmt.Println(err)
	select {}
}

// swapDescriptors changes the mode of a descriptor, which is now of the one file and now of the other.
func swapDescriptors(own, other string) int {
	const at = 200
	var files [2]int
	for i, path := range []string{own, other} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		files[i] = fd
	}
	unix.Dup3(files[0], at, unix.O_CLOEXEC)
	go func() {
		for i := 0; ; i++ {
			unix.Dup3(files[i%2], at, unix.O_CLOEXEC)
		}
	}()
	for i := range uint32(1000) {
		unix.Fchmod(at, 0o600|i%8)
	}
	return 0
}

// attempt makes all attempts and prints what came of them.
func attempt() int {
	if os.Getenv("BOX_ATTEMPT") == "ioctls" {
		return ioctls()
	}
	if os.Getenv("BOX_ATTEMPT") == "user" {
		fmt.Println(os.Geteuid())
		return 0
	}
	if os.Getenv("BOX_ATTEMPT") == "memory" {
		return fillMemoryFile()
	}
	if os.Getenv("BOX_ATTEMPT") == "swap" {
		return swapDescriptors(os.Args[1], os.Args[2])
	}
	if os.Getenv("BOX_ATTEMPT") == "reach" {
		return attemptReaches()
	}
	if os.Getenv("BOX_ATTEMPT") == "play" {
		return play()
	}
	all := attempts()
	only := os.Getenv("BOX_ONLY")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if only != "" && name != only {
			continue
		}
		if err := all[name](); err != nil {
			fmt.Printf("%s\t-\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Printf("%s\t+\n", name)
		}
	}
	return 0
}
