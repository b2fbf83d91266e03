package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// This file is the keeper's side: the same binary, executed again.

const (
	// helperArg is the first argument of a keeper, before its kind. It does nothing without a control socket.
	helperArg = "--adze-process-keeper"
	ctlFD     = 3 // to the program
	outFD     = 4 // the command's output
	shareFD   = 5 // to the session process, if there is one
	errFD     = 6 // the command's standard error; only without a session process
	// sessionArg is the only argument of a session process, which has a control socket too.
	sessionArg = "--adze-session"
)

// minTasks is how many processes and threads this program, its keepers and a small command need. With fewer, Go ends
// programs at random places, because it can't start a thread.
const minTasks = 32

// CheckLimits returns an error if this program may have too few processes to work. Root has no such limit.
func CheckLimits() error {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
	if err != nil || limit.Cur >= minTasks || os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("start: this user may have %d processes and threads, and Adze needs %d\n"+
		"Raise the limit: ulimit -u 256", limit.Cur, minTasks)
}

// Helper starts keepers. Its zero value means that there are none.
type Helper struct{ path string }

// Main must be called first in a program's main. In a keeper it never returns; in the program it returns the value for
// Options.Helper.
func Main() Helper {
	if len(os.Args) == 3 && os.Args[1] == helperArg {
		if what, err := strconv.Atoi(os.Args[2]); err == nil && isSocket(ctlFD) {
			os.Exit(keep(kind(what)))
		}
	}
	if len(os.Args) == 2 && os.Args[1] == sessionArg && isSocket(ctlFD) {
		os.Exit(beSession())
	}
	if len(os.Args) == 2 && os.Args[1] == boxArg {
		var st unix.Stat_t
		if err := unix.Fstat(boxFD, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			os.Exit(become())
		}
	}
	if len(os.Args) > 4 && os.Args[1] == sandbox.InnerArg {
		os.Exit(sandbox.Inner(os.Args[2:]))
	}
	// Not os.Executable: that path may have a newer version by now, or nothing.
	return Helper{path: "/proc/self/exe"}
}

// HelperAt starts keepers from another program, whose main calls Main: tests with the race detector use one without it.
func HelperAt(path string) Helper { return Helper{path: path} }

func isSocket(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil
}

// keeping is the state of a keeper.
type keeping struct {
	mu    sync.Mutex // one message at a time
	ctl   *os.File
	main  int           // pid of the command
	box   *sandbox.Box  // its sandbox, or nil
	left  int           // processes that the command of a trial left
	empty chan struct{} // closed when there are no more children
	once  sync.Once
	over  chan int // number of processes that couldn't be stopped
}

func keep(what kind) int {
	// The command is killed when the thread that started it ends, so this thread must live to the end.
	runtime.LockOSThread()
	closeInherited()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// All signals are caught, so that the command can't kill the keeper; they aren't ignored, because the command would
	// inherit that.
	signal.Notify(make(chan os.Signal, 1))
	os.Chdir("/") // don't keep a directory busy

	k := &keeping{ctl: os.NewFile(ctlFD, "control"), empty: make(chan struct{}), over: make(chan int, 1)}
	if what&namespaced != 0 {
		if err := what.apart().Enter(); err != nil {
			k.tell(msgFailed, append(numbers(int(errnoOf(err))), err.Error()...))
			return 1
		}
	}
	k.tell(msgReady, nil)
	if what&ofTrial != 0 {
		sandbox.Rehearse()
	}
	from := &withFiles{file: k.ctl}
	kind, body, err := receive(from)
	if err != nil || kind != msgRun {
		return 0 // not needed after all
	}
	s, box, err := decodeSpec(body)
	if err == nil && len(from.fds) == 2 {
		s.talkFDs = from.fds
	}
	k.box = box
	defer k.clean()
	if err == nil && box != nil && what&inSession != 0 {
		err = k.join()
	}
	if err == nil {
		if box != nil {
			box.OnLimit(func() { k.end(0) })
		}
		if s.proxied && what&(ownNetwork|inSession) != 0 {
			err = k.openProxy(s)
		}
	}
	if err == nil {
		k.main, err = launch(s, box)
	}
	if err != nil {
		text := ""
		if unmade := (*boxError)(nil); errors.As(err, &unmade) {
			text = unmade.why
		}
		k.tell(msgFailed, append(numbers(int(errnoOf(err))), text...))
		return 1
	}
	unix.Close(outFD)
	if what&inSession == 0 {
		unix.Close(errFD)
	}
	k.tell(msgStarted, numbers(k.main))
	go k.reap()
	go k.listen()
	select {
	case <-k.empty:
		k.tell(msgEmpty, nil)
	case n := <-k.over:
		k.tell(msgLeft, numbers(n))
	}
	return 0
}

// join shares the sockets of the session. If the session process exits, the commands that have met through it must not
// continue.
func (k *keeping) join() error {
	poll := []unix.PollFd{{Fd: shareFD}}
	if _, err := unix.Poll(poll, 0); err != nil || poll[0].Revents != 0 {
		return &boxError{why: "the session process is gone"}
	}
	conn, err := connOf(shareFD)
	if err != nil {
		return err
	}
	k.box.Share(share(conn, func() { k.end(0) }))
	return nil
}

// launch starts the command on this thread, which belongs to the keeper until the end. This thread enters the sandbox;
// the keeper's others stay outside.
func launch(s *spec, box *sandbox.Box) (pid int, err error) {
	files := []uintptr{0, outFD, outFD}
	if s.split {
		files[2] = errFD
	}
	if s.talkFDs != nil {
		defer closeFDs(s.talkFDs)
		files[0], files[1] = uintptr(s.talkFDs[0]), uintptr(s.talkFDs[1])
	}
	if s.input != "" {
		fd, err := contentFile(s.input)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		files[0] = uintptr(fd)
	}
	argv, env := s.argv, s.env
	brand(0, markerOf(env))
	if s.script != "" {
		fd, err := contentFile(s.script)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		files = append(files, uintptr(fd))
		argv = append(argv, "/dev/fd/3")
	}
	if box != nil {
		// The command must not read the memory of the process that sandboxes it.
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		box.Make()
		var more []*os.File
		if argv, more, err = box.Argv(argv, s.dir, len(files), true); err != nil {
			return 0, &boxError{why: err.Error()}
		}
		for _, f := range more {
			defer f.Close()
			files = append(files, f.Fd())
		}
		if err = box.Enter(s.dir); err != nil {
			return 0, &boxError{why: err.Error()}
		}
		env = box.Environ(env)
	}
	return syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: s.dir, Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// clean removes the sandbox's files, on a thread that is outside.
func (k *keeping) clean() {
	if k.box == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.box.Remove()
	}()
	<-done
}

// contentFile returns a file with a command that is too long for an argument, or its input, that only the command can
// access.
func contentFile(content string) (fd int, err error) {
	if fd, err = unix.MemfdCreate("command", unix.MFD_CLOEXEC); err != nil {
		return -1, err
	}
	f := os.NewFile(uintptr(fd), "command")
	defer f.Close()
	if _, err = io.WriteString(f, content); err != nil {
		return -1, err
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return -1, err
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 10)
}

// reap waits for every child, including orphans of the command.
func (k *keeping) reap() {
	defer close(k.empty)
	var trial *syscall.WaitStatus // how a tried command ended
	over, rest := make(chan struct{}), make(chan int, 1)
	for {
		var ws syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &ws, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			if close(over); trial != nil && k.box.Observes() {
				k.left = <-rest
			}
			if trial != nil {
				k.tellExit(*trial, 0)
			}
			return
		case pid == k.main && k.box != nil && k.box.IsTrial():
			// Processes that a trial leaves running would change more, so they are stopped first.
			k.box.Ended()
			k.left = k.leftovers()
			unix.Kill(-1, unix.SIGKILL)
			trial = &ws
		case pid == k.main && k.box != nil && k.box.Observes():
			trial = &ws
			go func() { rest <- k.stopRest(over) }()
		case pid == k.main:
			k.tellExit(ws, k.count())
		}
	}
}

// lastTime is how long the processes of an observed command may go on after it: those of a process substitution end a
// moment later.
const lastTime = time.Second

// stopRest stops the processes that the command left, and returns how many there were. What they write later would not
// be reported.
func (k *keeping) stopRest(over <-chan struct{}) int {
	select {
	case <-over:
		return 0
	case <-time.After(lastTime):
	}
	left := len(descendants(os.Getpid()))
	k.end(0)
	return left
}

// tellExit reports how the command ended.
func (k *keeping) tellExit(ws syscall.WaitStatus, left int) {
	body := numbers(int(ws), left)
	if k.box != nil {
		r := k.box.Report()
		r.Left = k.left
		report, _ := json.Marshal(r)
		body = append(body, report...)
	}
	k.tell(msgExited, body)
}

// leftGrace is how long processes may go on that a trial's command left, such as those of a process substitution.
const leftGrace = 100 * time.Millisecond

// leftovers returns how many processes a trial's command left that don't end by themselves in a moment.
func (k *keeping) leftovers() int {
	for until := time.Now().Add(leftGrace); ; time.Sleep(5 * time.Millisecond) {
		if n := k.count(); n == 0 || time.Now().After(until) {
			return n
		}
	}
}

// count returns the number of processes besides the command, which has ended.
func (k *keeping) count() int {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return 0
		}
		if err == nil && pid == 0 {
			return len(slices.DeleteFunc(descendants(os.Getpid()), k.wraps))
		}
	}
}

// wraps reports whether a process is a wrapper of the command, which only waits for others.
func (k *keeping) wraps(t target) bool {
	if k.box == nil || !k.box.Wrapped() {
		return false
	}
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(t.pid) + "/comm")
	return strings.TrimSpace(string(name)) == "bwrap"
}

// listen stops everything on request, and when the program has exited.
func (k *keeping) listen() {
	for {
		kind, body, err := receive(k.ctl)
		switch {
		case err != nil:
			k.end(100 * time.Millisecond)
			return
		case kind == msgStop:
			k.end(time.Duration(number(body, 0)) * time.Millisecond)
		}
	}
}

func (k *keeping) end(grace time.Duration) {
	k.once.Do(func() {
		go func() {
			all := func() []target { return descendants(os.Getpid()) }
			if k.box != nil && k.box.Wrapped() {
				// If a wrapper exited first, the command would be killed before it could handle the signal.
				behind := func() []target {
					return slices.DeleteFunc(all(), func(t target) bool { return t.pid == k.main })
				}
				if askAll(behind, k.empty, grace) {
					return
				}
				grace = 0
			}
			if os.Getpid() == 1 && (grace > 0 && askAll(all, k.empty, grace) || endWorld(k.empty)) {
				return
			}
			for !k.isEmpty() { // it is about to start, or a list missed a process that was just forked
				if n := endAll(all, k.empty, grace); n > 0 {
					k.over <- n
					return
				}
				grace = 0
			}
		}()
	})
}

// isEmpty reports whether there are no more children.
func (k *keeping) isEmpty() bool {
	select {
	case <-k.empty:
		return true
	default:
		return false
	}
}

func (k *keeping) tell(kind byte, body []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	send(k.ctl, kind, body) // if the program has exited, listen notices
}

func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return syscall.EINVAL
}
